//! Requests that do not share a pipe: each goes to the server on its own, and its answer comes back by its number.

use manifold_protocol::{Method, Outgoing, Raw};
use tokio::sync::oneshot;

/// Carries requests to the server, each on its own.
pub(crate) trait Poster: Send + Sync {
    /// Starts carrying; must not wait, and must not ask the connection before it returns.
    fn post(&self, post: Post);
}

/// A request on its own way to the server.
pub(crate) struct Post {
    pub(crate) call: u64,
    pub(crate) method: Method,
    pub(crate) params: Raw,
    pub(crate) body: Outgoing,
    /// Resolves once the call is answered or nobody waits for it any more.
    pub(crate) left: oneshot::Receiver<()>,
}

impl Post {
    /// Returns whether the body is a message that names its method, and not the arguments alone.
    pub(super) fn is_message(&self) -> bool {
        self.body.pieces().next().is_some_and(|piece| piece.starts_with(br#"{"jsonrpc":"#))
    }
}
