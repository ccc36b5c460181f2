//! What proves to a remote server who asks: looked up for every request, and told when it was refused.

use std::sync::Arc;

use hyper::header::HeaderValue;
use manifold_engine::BoxFuture;
use manifold_http1::Fields;

/// The `Authorization` of requests to one server. A token may be replaced while calls are under way, and each request
/// is sent with what stands then.
pub(crate) trait Credentials: Send + Sync {
    /// Returns the header to send now, if there is one. Called for every request, so it never waits.
    fn current(&self) -> Option<Arc<Fields>>;

    /// Tells that a request was refused for what it was sent with, and how the server says to sign in. Resolves to
    /// whether there is something else to send by now.
    fn refused(&self, sent: Option<Arc<Fields>>, challenge: Option<String>) -> BoxFuture<bool>;
}

/// The header of the config file, or none: it is what it is.
#[derive(Default)]
pub(crate) struct Fixed(Option<Arc<Fields>>);

impl Fixed {
    pub(crate) fn set(&mut self, value: &HeaderValue) {
        self.0 = Some(Arc::new(Fields::default().with("authorization", value)));
    }
}

impl Credentials for Fixed {
    fn current(&self) -> Option<Arc<Fields>> {
        self.0.clone()
    }

    fn refused(&self, _sent: Option<Arc<Fields>>, _challenge: Option<String>) -> BoxFuture<bool> {
        Box::pin(std::future::ready(false))
    }
}
