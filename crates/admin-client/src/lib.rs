//! A client of the control API: one request over the daemon's control socket, answered in JSON.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use serde::de::DeserializeOwned;

#[cfg(test)]
mod tests;

/// Nothing a daemon says of itself is longer.
const MAX_ANSWER_BYTES: u64 = 64 << 20;

/// A connection for one request.
#[derive(Debug)]
pub struct Client {
    socket: UnixStream,
}

#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("the daemon cannot be reached: {0}")]
    Unreachable(#[from] io::Error),
    #[error("the daemon does not answer")]
    Silent,
    #[error("what answers there is no Manifold daemon")]
    NoDaemon,
    /// The daemon's own words.
    #[error("{message}")]
    Refused { status: u16, message: String },
}

impl Client {
    /// Takes over a socket that is connected; no answer is waited for longer than this.
    pub fn new(socket: UnixStream, patience: Duration) -> io::Result<Self> {
        socket.set_read_timeout(Some(patience))?;
        socket.set_write_timeout(Some(patience))?;
        Ok(Self { socket })
    }

    /// Asks for something.
    pub fn get<T: DeserializeOwned>(self, path: &str) -> Result<T, ClientError> {
        self.request("GET", path)
    }

    /// Has something done. Answered when it is.
    pub fn post<T: DeserializeOwned>(self, path: &str) -> Result<T, ClientError> {
        self.request("POST", path)
    }

    fn request<T: DeserializeOwned>(mut self, method: &str, path: &str) -> Result<T, ClientError> {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: manifold\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        );
        self.socket.write_all(request.as_bytes())?;
        let mut answer = Vec::new();
        (&self.socket).take(MAX_ANSWER_BYTES).read_to_end(&mut answer).map_err(|error| {
            match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => ClientError::Silent,
                _ => error.into(),
            }
        })?;
        let (status, body) = split(&answer).ok_or(ClientError::NoDaemon)?;
        if !(200..300).contains(&status) {
            return Err(ClientError::Refused { status, message: message(body) });
        }
        serde_json::from_slice(body).map_err(|_| ClientError::NoDaemon)
    }
}

/// Returns the status and the body of an answer.
fn split(answer: &[u8]) -> Option<(u16, &[u8])> {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = std::str::from_utf8(answer.get(..end)?).ok()?;
    let status = head.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    Some((status, answer.get(end + 4..)?))
}

/// Returns what a refusal says: `{"error": {"message": "…"}}`.
fn message(body: &[u8]) -> String {
    let parsed: Option<serde_json::Value> = serde_json::from_slice(body).ok();
    let message = parsed.as_ref().and_then(|body| body.get("error")?.get("message")?.as_str());
    message.unwrap_or("the daemon refused").to_owned()
}
