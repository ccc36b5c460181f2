//! A client of the control API: one request over a socket, answered in JSON or by server-sent events. It waits where it
//! stands and needs no runtime, so that a command that asks one thing starts and ends at once.

mod path;
mod response;
mod sse;

use std::io::{self, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use manifold_admin::{
    AskerEnvironment, CommandError, ENVIRONMENT_HEADER, ErrorBody, ErrorCode, Method, STALE_HEADER,
    STALE_IS_TRIED_AGAIN, UNDO_BY_ASKER, UNDO_HEADER, VERB_HEADER,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use path::{query, segment};
use response::Response;
pub use sse::{EventStream, SseEvent};

#[cfg(test)]
mod tests;

/// Nothing a gateway says at once is longer.
const MAX_ANSWER_BYTES: usize = 64 << 20;

/// A stream is never silent for longer: a line comes every fifteen seconds.
const STREAM_PATIENCE: Duration = Duration::from_secs(60);

/// The longest header that takes a gateway's buffers up to no more than half.
const MAX_ENVIRONMENT_BYTES: usize = 32 << 10;

/// A connection for one request.
pub struct Client {
    socket: UnixStream,
    patience: Duration,
    face: Option<&'static str>,
    verb: Option<&'static str>,
    if_match: Option<String>,
    environment: Option<String>,
    keeps_record: bool,
    tries_again: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("the gateway cannot be reached: {0}")]
    Unreachable(#[from] io::Error),
    #[error("the gateway does not answer")]
    Silent,
    #[error("what answers there is no Manifold gateway")]
    NoDaemon,
    /// What was to be sent cannot be written.
    #[error("the request cannot be written: {0}")]
    Unwritable(String),
    /// The gateway's own words.
    #[error("{error}")]
    Refused { status: u16, error: CommandError },
}

/// Ends a connection from elsewhere, which cancels what was asked over it.
#[derive(Debug, Clone)]
pub struct Stopper {
    socket: Arc<UnixStream>,
}

impl Client {
    /// Takes over a socket that is connected; no part of an answer is waited for longer than this.
    pub fn new(socket: UnixStream, patience: Duration) -> io::Result<Self> {
        socket.set_read_timeout(Some(patience))?;
        socket.set_write_timeout(Some(patience))?;
        Ok(Self {
            socket,
            patience,
            face: None,
            verb: None,
            if_match: None,
            environment: None,
            keeps_record: false,
            tries_again: false,
        })
    }

    /// Says what asks, such as `cli`: the audit names it.
    #[must_use]
    pub fn face(self, face: &'static str) -> Self {
        Self { face: Some(face), ..self }
    }

    /// Says which command asks, where several use one route: the audit names it.
    #[must_use]
    pub fn verb(self, verb: &'static str) -> Self {
        Self { verb: Some(verb), ..self }
    }

    /// Says which revision of the config a change was made for: of another one it is refused.
    #[must_use]
    pub fn if_match(self, revision: &str) -> Self {
        Self { if_match: Some(revision.to_owned()), ..self }
    }

    /// Says that the asker keeps the record itself by which a change of the config is undone.
    #[must_use]
    pub fn keeps_record(self) -> Self {
        Self { keeps_record: true, ..self }
    }

    /// Says that the asker makes the change anew where the config is another by now.
    #[must_use]
    pub fn tries_again(self) -> Self {
        Self { tries_again: true, ..self }
    }

    /// Says with which variables and in which folder servers are to be asked for their lists. What is longer than a request may
    /// be is left out.
    #[must_use]
    pub fn environment(self, environment: &AskerEnvironment) -> Self {
        let written = serde_json::to_string(environment).ok().map(|text| segment(&text));
        Self { environment: written.filter(|text| text.len() <= MAX_ENVIRONMENT_BYTES), ..self }
    }

    /// Returns what ends this connection while an answer is waited for.
    pub fn stopper(&self) -> io::Result<Stopper> {
        Ok(Stopper { socket: Arc::new(self.socket.try_clone()?) })
    }

    /// Asks for something.
    pub fn get<T: DeserializeOwned>(self, path: &str) -> Result<T, ClientError> {
        self.send(Method::Get, path, None::<&()>)
    }

    /// Has something done. Answered when it is.
    pub fn post<T: DeserializeOwned>(self, path: &str) -> Result<T, ClientError> {
        self.send(Method::Post, path, None::<&()>)
    }

    /// Makes a request, with a body or without.
    pub fn send<T: DeserializeOwned>(
        self,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<T, ClientError> {
        let answer = self.send_raw(method, path, body)?;
        serde_json::from_slice(&answer).map_err(|_| ClientError::NoDaemon)
    }

    /// Makes a request and returns the body of the answer as it came.
    pub fn send_raw(
        self,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<Vec<u8>, ClientError> {
        self.request(method, path, body, "application/json")?.all()
    }

    /// Makes a request that is answered by events.
    pub fn events(
        self,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<EventStream, ClientError> {
        let (stopper, patience) = (self.stopper()?, self.patience.max(STREAM_PATIENCE));
        self.socket.set_read_timeout(Some(patience))?;
        let response = self.request(method, path, body, "text/event-stream")?;
        match response.is_event_stream {
            true => Ok(EventStream::new(response, stopper)),
            false => Err(ClientError::NoDaemon),
        }
    }

    /// Writes the request and reads the head of the answer, and all of it where that is a refusal.
    fn request(
        mut self,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
        accept: &str,
    ) -> Result<Response, ClientError> {
        let body = body.map(serde_json::to_vec).transpose();
        let body = body.map_err(|error| ClientError::Unwritable(error.to_string()))?;
        let written = self.socket.write_all(&self.written(method, path, body.as_deref(), accept)?);
        // Who refuses a request need not read all of it, and says why all the same.
        let response = match (Response::read(self.socket), written) {
            (Err(ClientError::Unreachable(_)), Err(error)) => return Err(error.into()),
            (response, _) => response?,
        };
        match response.status {
            200..300 => Ok(response),
            status => Err(ClientError::Refused { status, error: refusal(status, &response.all()?) }),
        }
    }

    fn written(
        &self,
        method: Method,
        path: &str,
        body: Option<&[u8]>,
        accept: &str,
    ) -> Result<Vec<u8>, ClientError> {
        let revision = self.if_match.as_deref().unwrap_or_default();
        if !path.bytes().all(|byte| byte.is_ascii_graphic()) || revision.contains(['\r', '\n']) {
            return Err(ClientError::Unwritable(format!("{path:?} is no path")));
        }
        let mut head = format!(
            "{} {path} HTTP/1.1\r\nHost: manifold\r\nConnection: close\r\nAccept: {accept}\r\nContent-Length: {}\r\n",
            method.as_str(),
            body.map_or(0, <[u8]>::len),
        );
        let face = self.face.map(|face| ("Manifold-Face", face));
        let verb = self.verb.map(|verb| (VERB_HEADER, verb));
        let typed = body.map(|_| ("Content-Type", "application/json"));
        let if_match = self.if_match.as_deref().map(|revision| ("If-Match", revision));
        let environment = self.environment.as_deref().map(|written| (ENVIRONMENT_HEADER, written));
        let undo = self.keeps_record.then_some((UNDO_HEADER, UNDO_BY_ASKER));
        let again = self.tries_again.then_some((STALE_HEADER, STALE_IS_TRIED_AGAIN));
        for (name, value) in [face, verb, typed, if_match, environment, undo, again].into_iter().flatten() {
            head.extend([name, ": ", value, "\r\n"]);
        }
        head.push_str("\r\n");
        let mut request = head.into_bytes();
        request.extend_from_slice(body.unwrap_or_default());
        Ok(request)
    }
}

impl Stopper {
    /// Ends the connection: whoever reads it reads its end.
    pub fn shutdown(&self) {
        // Failing means that it has ended already.
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
    }
}

/// Returns what a refusal says: `{"error": {"code": "…", "message": "…"}}`.
fn refusal(status: u16, body: &[u8]) -> CommandError {
    match serde_json::from_slice::<ErrorBody>(body) {
        Ok(body) if !body.error.message.is_empty() => body.error,
        _ => CommandError::new(ErrorCode::Other, format!("the gateway refused it with status {status}")),
    }
}
