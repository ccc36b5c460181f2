//! Each request and its answer: by session at `/mcp`, over the old transport, or with the trouble that was asked for.

use std::io::{BufReader, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::http::{read_request, write_chunk, write_head, write_whole};
use super::tools::Line;
use super::{Recorded, Shared, Style, Trouble, lock};
use crate::modern::{Era, Speech};

impl Shared {
    pub(super) fn accept(self: &Arc<Self>, stream: TcpStream) {
        let _ = stream.set_nonblocking(false);
        let _ = stream.set_nodelay(true);
        let Ok(handle) = stream.try_clone() else { return };
        let number = self.next();
        lock(&self.connections).insert(number, handle);
        let shared = Arc::clone(self);
        thread::spawn(move || {
            if let Ok(reading) = stream.try_clone() {
                let mut reader = BufReader::new(reading);
                while let Some(request) = read_request(&mut reader, number) {
                    lock(&shared.record).push(request.clone());
                    // A client that is gone is no concern of ours.
                    if !matches!(shared.serve(&request, &stream), Ok(true)) {
                        break;
                    }
                }
            }
            lock(&shared.connections).remove(&number);
            let _ = stream.shutdown(Shutdown::Both);
        });
    }

    pub(super) fn next(&self) -> u64 {
        self.count.fetch_add(1, Ordering::SeqCst) + 1
    }

    fn trouble_for(&self, request: &Recorded) -> Option<Trouble> {
        let mut planned = lock(&self.planned);
        let place = planned.iter().position(|one| {
            one.on == "*" || one.on == request.method || request.body["method"] == one.on.as_str()
        })?;
        let one = planned.get_mut(place)?;
        let trouble = one.trouble.clone();
        if let Some(times) = &mut one.times {
            *times -= 1;
            if *times == 0 {
                planned.remove(place);
            }
        }
        Some(trouble)
    }

    /// Answers a request. Returns whether the connection can be used again.
    fn serve(self: &Arc<Self>, request: &Recorded, stream: &TcpStream) -> std::io::Result<bool> {
        let trouble = self.trouble_for(request);
        match &trouble {
            Some(Trouble::Status { status, headers, body }) => {
                return write_whole(stream, *status, headers, "text/plain", body.as_bytes());
            }
            Some(Trouble::RpcError { code, message }) => {
                let error = json!({"jsonrpc": "2.0", "id": request.body["id"], "error": {"code": code, "message": message}});
                return write_whole(stream, 400, &[], "application/json", error.to_string().as_bytes());
            }
            Some(Trouble::Accepted) => return write_whole(stream, 202, &[], "", b""),
            Some(Trouble::HalfOpen) => {
                wait_for_end(stream);
                return Ok(false);
            }
            Some(Trouble::Raw(text)) => {
                let mut out = stream;
                out.write_all(text.as_bytes())?;
                wait_for_end(stream);
                return Ok(false);
            }
            Some(Trouble::Close) => return Ok(false),
            Some(Trouble::Delay(pause)) => thread::sleep(*pause),
            _ => {}
        }
        match (request.method.as_str(), request.path()) {
            ("POST", "/messages") => self.old_post(request, stream),
            ("GET", "/sse") => self.old_stream(stream),
            ("POST", "/mcp" | "/moved") if self.is_modern(request) => {
                self.modern_post(request, stream, trouble)
            }
            ("GET" | "DELETE", "/mcp" | "/moved") if self.era == Era::Modern => {
                write_whole(stream, 405, &[], "text/plain", b"no such method")
            }
            ("POST", "/mcp" | "/moved") => self.post(request, stream, trouble),
            ("GET", "/mcp" | "/moved") => self.listen(request, stream),
            ("DELETE", "/mcp" | "/moved") => {
                lock(&self.sessions).remove(request.header("mcp-session-id").unwrap_or_default());
                write_whole(stream, 200, &[], "", b"")
            }
            (_, "/sse" | "/mcp" | "/messages") => {
                write_whole(stream, 405, &[], "text/plain", b"no such method")
            }
            _ => write_whole(stream, 404, &[], "text/plain", b"no such path"),
        }
    }

    fn post(
        &self,
        request: &Recorded,
        stream: &TcpStream,
        trouble: Option<Trouble>,
    ) -> std::io::Result<bool> {
        let body = &request.body;
        let mut headers = Vec::new();
        let mut session = request.header("mcp-session-id").unwrap_or_default().to_owned();
        if body["method"] == "initialize" {
            if !self.stateless.load(Ordering::SeqCst) {
                session = format!("session-{}", self.next());
                lock(&self.sessions).insert(session.clone());
                headers.push(("Mcp-Session-Id", session.clone()));
            }
        } else if !self.stateless.load(Ordering::SeqCst) && !lock(&self.sessions).contains(&session) {
            // A server demands a session first, and then one that it knows.
            let status = if session.is_empty() { 400 } else { 404 };
            return write_whole(stream, status, &[], "text/plain", b"no such session");
        }
        if body["method"].is_null() || body["id"].is_null() {
            self.take_in(body);
            return write_whole(stream, 202, &headers, "", b"");
        }
        let style = match trouble {
            Some(Trouble::Cut { .. } | Trouble::EndlessEvent { .. }) => Style::Events,
            _ => *lock(&self.style),
        };
        match style {
            Style::Json => {
                let to_stream = |message: &Value| self.push(&session, message);
                let mut answer = self.run(body, &Line::to(Speech::Legacy, &to_stream));
                let kind = match trouble {
                    Some(Trouble::WrongType(kind)) => kind,
                    _ => "application/json",
                };
                if let Some(Trouble::WrongId) = trouble {
                    answer["id"] = json!(4711);
                }
                let text = answer.to_string();
                match trouble {
                    Some(Trouble::SlowBody { pause }) => {
                        let mut out = stream;
                        write_head(out, 200, &headers, kind, Some(text.len()))?;
                        for piece in text.as_bytes().chunks(text.len().div_ceil(5)) {
                            out.write_all(piece)?;
                            thread::sleep(pause);
                        }
                        Ok(true)
                    }
                    _ => write_whole(stream, 200, &headers, kind, text.as_bytes()),
                }
            }
            Style::Events => {
                write_head(stream, 200, &headers, "text/event-stream", None)?;
                self.answer_in_events(body, stream, trouble)
            }
        }
    }

    fn answer_in_events(
        &self,
        body: &Value,
        stream: &TcpStream,
        trouble: Option<Trouble>,
    ) -> std::io::Result<bool> {
        match trouble {
            Some(Trouble::EndlessEvent { bytes }) => {
                write_chunk(stream, b"data: ")?;
                let piece = vec![b'x'; 1 << 16];
                for _ in 0..bytes >> 16 {
                    write_chunk(stream, &piece)?;
                }
                // It never ends; only the client can end it.
                wait_for_end(stream);
                return Ok(false);
            }
            Some(Trouble::Cut { id, clean }) => {
                let name = format!("event-{}", self.next());
                let head =
                    if id { format!("retry: 20\nid: {name}\n") } else { ": nothing to go by\n".to_owned() };
                write_chunk(stream, format!("{head}data:\n\n").as_bytes())?;
                if clean {
                    write_chunk(stream, b"")?;
                }
                // The connection goes; the work goes on.
                let _ = stream.shutdown(Shutdown::Both);
                let answer = self.run(body, &Line::to(Speech::Legacy, &|_| {}));
                if id {
                    lock(&self.kept).insert(name, answer);
                }
                return Ok(false);
            }
            _ => {}
        }
        let to_caller = |message: &Value| {
            let _ = write_chunk(stream, event(message, None).as_bytes());
        };
        let mut answer = self.run(body, &Line::to(Speech::Legacy, &to_caller));
        if let Some(Trouble::WrongId) = trouble {
            answer["id"] = json!(4711);
        }
        write_chunk(stream, event(&answer, None).as_bytes())?;
        write_chunk(stream, b"")?;
        Ok(true)
    }

    /// Serves the stream of GET: what belongs to no request, or the rest of a stream that was cut.
    fn listen(&self, request: &Recorded, stream: &TcpStream) -> std::io::Result<bool> {
        if let Some(id) = request.header("last-event-id")
            && id.starts_with("event-")
        {
            let id = id.to_owned();
            let mut answer = None;
            crate::until(Duration::from_secs(5), || {
                answer = lock(&self.kept).remove(&id);
                answer.is_some()
            });
            let Some(answer) = answer else { return write_whole(stream, 404, &[], "", b"") };
            write_head(stream, 200, &[], "text/event-stream", None)?;
            write_chunk(stream, event(&answer, Some("event-last")).as_bytes())?;
            write_chunk(stream, b"")?;
            return Ok(true);
        }
        if self.no_listening.load(Ordering::SeqCst) {
            return write_whole(stream, 405, &[], "text/plain", b"no such stream");
        }
        let session = request.header("mcp-session-id").unwrap_or_default().to_owned();
        if !self.stateless.load(Ordering::SeqCst) && !lock(&self.sessions).contains(&session) {
            return write_whole(stream, 404, &[], "text/plain", b"no such session");
        }
        write_head(stream, 200, &[], "text/event-stream", None)?;
        self.stream_to(stream, session, None)
    }

    fn old_stream(&self, stream: &TcpStream) -> std::io::Result<bool> {
        let session = format!("old-{}", self.next());
        lock(&self.sessions).insert(session.clone());
        write_head(stream, 200, &[], "text/event-stream", None)?;
        let first = format!("event: endpoint\ndata: /messages?sessionId={session}\n\n");
        self.stream_to(stream, session, Some(first))
    }

    fn stream_to(&self, stream: &TcpStream, session: String, first: Option<String>) -> std::io::Result<bool> {
        let (sender, events) = channel();
        lock(&self.streams).insert(session, sender);
        write_chunk(stream, first.unwrap_or_else(|| ": here\n\n".to_owned()).as_bytes())?;
        loop {
            match events.recv_timeout(Duration::from_millis(100)) {
                Ok(text) => write_chunk(stream, text.as_bytes())?,
                Err(RecvTimeoutError::Timeout) => write_chunk(stream, b": still here\n\n")?,
                Err(RecvTimeoutError::Disconnected) => return write_chunk(stream, b"").map(|()| true),
            }
        }
    }

    fn old_post(self: &Arc<Self>, request: &Recorded, stream: &TcpStream) -> std::io::Result<bool> {
        let session = request.query("sessionId").unwrap_or_default().to_owned();
        if !lock(&self.sessions).contains(&session) {
            return write_whole(stream, 404, &[], "text/plain", b"no such session");
        }
        if request.body["method"].is_null() || request.body["id"].is_null() {
            self.take_in(&request.body);
        } else {
            // The connection takes the next message while this one is carried out.
            let (shared, body) = (Arc::clone(self), request.body.clone());
            thread::spawn(move || {
                let to_stream = |message: &Value| shared.push(&session, message);
                let answer = shared.run(&body, &Line::to(Speech::Legacy, &to_stream));
                shared.push(&session, &answer);
            });
        }
        write_whole(stream, 202, &[], "text/plain", b"Accepted")
    }

    /// Takes a notification, or an answer to a question.
    pub(super) fn take_in(&self, body: &Value) {
        if body["method"] == "notifications/cancelled" {
            lock(&self.cancelled).insert(body["params"]["requestId"].to_string());
        }
        if body["method"].is_null()
            && let Some(question) = body["id"].as_u64()
            && let Some(waiting) = lock(&self.questions).remove(&question)
        {
            // Whoever asked may have been cancelled.
            let _ = waiting.send(body.clone());
        }
    }

    fn push(&self, session: &str, message: &Value) {
        // A stream is opened soon after the handshake; what is said before waits for it.
        crate::until(Duration::from_secs(5), || lock(&self.streams).contains_key(session));
        if let Some(stream) = lock(&self.streams).get(session) {
            let _ = stream.send(event(message, None));
        }
    }
}

pub(super) fn event(message: &Value, id: Option<&str>) -> String {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    format!("event: message\n{id}data: {message}\n\n")
}

/// Blocks until the other side has closed the connection.
fn wait_for_end(stream: &TcpStream) {
    let mut byte = [0];
    while matches!(std::io::Read::read(&mut &*stream, &mut byte), Ok(1..)) {}
}
