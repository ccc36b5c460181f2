//! What proves to a remote server who asks: looked up for every request, and told when it was refused.

use std::sync::Arc;

use hyper::header::HeaderValue;
use manifold_engine::BoxFuture;
use manifold_http1::Fields;
use manifold_oauth::Bearer;
use manifold_protocol::Fault;

/// The `Authorization` of requests to one server. A token may be replaced while calls are under way, and each request
/// is sent with what stands then.
pub(crate) trait Credentials: Send + Sync {
    /// Returns what to send now. Called for every request, so it never waits; `None`: it has to be obtained.
    fn current(&self) -> Option<Proof>;

    /// Gets what to send, where that takes a while; fails with what the caller hears.
    fn obtain(&self) -> BoxFuture<Result<Proof, Fault>>;

    /// Tells that a request which was sent without anything was answered.
    fn let_in(&self) {}

    /// Tells that a request was refused, and decides what becomes of it.
    fn refused(&self, refusal: Refusal) -> BoxFuture<After>;
}

/// What a request is sent with.
#[derive(Clone, Default)]
pub(crate) struct Proof {
    /// The header, if there is one.
    pub(crate) fields: Option<Arc<Fields>>,
    /// The token in it, where it is one of a sign-in.
    pub(crate) bearer: Option<Arc<Bearer>>,
}

/// A request that was refused for what it was sent with.
pub(crate) struct Refusal {
    pub(crate) sent: Proof,
    /// It was sent for the second time; there is no third.
    pub(crate) is_second: bool,
    pub(crate) status: u16,
    /// How the server says to sign in: each `WWW-Authenticate`.
    pub(crate) challenges: Vec<String>,
}

/// What becomes of a refused request.
pub(crate) enum After {
    /// It is sent once more, with this.
    Resend(Proof),
    /// It fails, and this is why.
    Failed(Fault),
    /// The refusal is told as it came.
    Pass,
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
    fn current(&self) -> Option<Proof> {
        Some(Proof { fields: self.0.clone(), bearer: None })
    }

    fn obtain(&self) -> BoxFuture<Result<Proof, Fault>> {
        Box::pin(std::future::ready(Ok(Proof { fields: self.0.clone(), bearer: None })))
    }

    fn refused(&self, _refusal: Refusal) -> BoxFuture<After> {
        Box::pin(std::future::ready(After::Pass))
    }
}
