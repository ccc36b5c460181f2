//! Fetching for the registry, by the HTTP client that remote servers are reached with.

use std::io::{self, Write};

use manifold_registry::{Fetch, FetchError, Get, Redirects};
use manifold_upstreams::{Fetched, GetError, http_get};
use tokio::runtime::{Builder, Runtime};

/// The network, as blocking calls.
pub(super) struct Web(Runtime);

impl Web {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self(Builder::new_current_thread().enable_all().build()?))
    }
}

impl Fetch for Web {
    fn get(&self, get: Get<'_>, into: &mut dyn Write) -> Result<(), FetchError> {
        let Get { url, max_bytes, redirects } = get;
        let fetched = Fetched { url, max_bytes, may_leave_origin: redirects == Redirects::Https };
        self.0.block_on(http_get(fetched, into)).map_err(|error| match error {
            GetError::Status(status) => FetchError::Status(status),
            GetError::TooLarge(bytes) => FetchError::TooLarge(bytes),
            GetError::Redirected => FetchError::Redirected,
            GetError::Write(error) => FetchError::Write(error),
            GetError::Unreached(why) => FetchError::Unreached(why),
            GetError::TimedOut => FetchError::Unreached("it took too long".to_owned()),
        })
    }
}
