//! What can go wrong with a request.

use std::time::Duration;

/// One thing that goes wrong with a request.
#[derive(Clone, Debug)]
pub enum Trouble {
    /// This status, these headers and this body instead of an answer.
    Status { status: u16, headers: Vec<(&'static str, String)>, body: String },
    /// Status 400 with a JSON-RPC error under the request's own id.
    RpcError { code: i64, message: &'static str },
    /// Status 202 as if it were a notification.
    Accepted,
    /// The request is read and never answered; the connection stays open.
    HalfOpen,
    /// These bytes instead of an answer; the connection stays open.
    Raw(String),
    /// The request is read and the connection closed.
    Close,
    /// A stream that ends before the answer, cleanly or in the middle of a chunk. With an id, the answer can be had
    /// with `Last-Event-ID`.
    Cut { id: bool, clean: bool },
    /// The answer comes in pieces with pauses.
    SlowBody { pause: Duration },
    /// An event that does not end, of at most this many bytes.
    EndlessEvent { bytes: usize },
    /// The right answer under this content type.
    WrongType(&'static str),
    /// An answer under another id.
    WrongId,
    /// Wait, then serve as usual.
    Delay(Duration),
}

impl Trouble {
    pub fn status(status: u16) -> Self {
        Self::Status { status, headers: Vec::new(), body: String::new() }
    }

    pub fn retry_after(status: u16, seconds: u64) -> Self {
        Self::Status {
            status,
            headers: vec![("Retry-After", seconds.to_string())],
            body: "not now".to_owned(),
        }
    }

    pub fn redirect(status: u16, location: impl Into<String>) -> Self {
        Self::Status { status, headers: vec![("Location", location.into())], body: String::new() }
    }
}
