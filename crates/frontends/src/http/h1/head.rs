//! A request's head, and what was decided of it.

use hyper::{Method, Version};
use manifold_http1::{Malformed, RequestHead};

use super::respond::Manner;
use crate::http::admission::Admitted;

/// A longer head is not kept while its connection rests.
const KEPT_BYTES: usize = 2 << 10;

/// The head of a request.
pub(super) struct Head {
    pub(super) request: RequestHead,
    /// Who was let in with it, which stands for a while if it comes again.
    pub(super) admitted: Option<Admitted>,
}

impl Head {
    pub(super) fn new(request: RequestHead) -> Self {
        Self { request, admitted: None }
    }

    /// Returns whether it may be met again, and costs little until then.
    pub(super) fn is_worth_keeping(&self) -> bool {
        self.admitted.is_some() && self.request.kept_bytes().is_some_and(|bytes| bytes <= KEPT_BYTES)
    }

    pub(super) fn manner(&self) -> Manner {
        let parts = &self.request.parts;
        Manner {
            is_last: !self.request.keeps_alive,
            has_body: parts.method != Method::HEAD,
            has_chunks: parts.version == Version::HTTP_11,
        }
    }
}

/// Says what is wrong with a request.
pub(super) fn message(what: Malformed) -> &'static str {
    match what {
        Malformed::Head | Malformed::Preface | Malformed::Switched | Malformed::Interim => {
            "the request could not be read"
        }
        Malformed::TooLarge => "the request's headers are too large",
        Malformed::Length => "the request's length could not be read",
        Malformed::Coding => "a body may be chunked, but not coded in another way",
        Malformed::Chunk => "the body could not be read",
    }
}
