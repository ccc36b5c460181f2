use std::io::ErrorKind;
use std::net::TcpStream;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use serde_json::{Value, json};

use super::http::{write_chunk, write_head, write_whole};
use super::serve::event;
use super::tools::Line;
use super::{Recorded, Shared, Style, Trouble, lock};
use crate::http_client::decode;
use crate::modern::{self, Era, Listener, REVISION, Speech};

impl Shared {
    /// Tells whether a request is served in the way of 2026-07-28, be it only to be refused.
    pub(super) fn is_modern(&self, request: &Recorded) -> bool {
        let method = request.body["method"].as_str().unwrap_or_default();
        match self.era {
            Era::Modern => true,
            _ => self.era.speech(method, &request.body["params"]) != Ok(Speech::Legacy),
        }
    }

    pub(super) fn modern_post(
        &self,
        request: &Recorded,
        stream: &TcpStream,
        trouble: Option<Trouble>,
    ) -> std::io::Result<bool> {
        let body = &request.body;
        if body["method"].is_null() || body["id"].is_null() {
            return write_whole(stream, 202, &[], "", b"");
        }
        let refuse = |status: u16, error: Value| {
            let message = json!({"jsonrpc": "2.0", "id": body["id"], "error": error});
            write_whole(stream, status, &[], "application/json", message.to_string().as_bytes())
        };
        let (method, params) = (body["method"].as_str().unwrap_or_default(), &body["params"]);
        if let Err(error) = self.era.speech(method, params) {
            return refuse(400, error);
        }
        if let Err(why) = self.check_headers(request) {
            return refuse(400, modern::error(-32020, &why));
        }
        if !modern::knows(method) {
            return refuse(404, modern::error(-32601, &format!("no {method} here")));
        }
        if method == "subscriptions/listen" {
            return self.serve_listener(Listener::new(body["id"].clone(), params), stream);
        }
        self.modern_answer(body, stream, trouble)
    }

    fn modern_answer(
        &self,
        body: &Value,
        stream: &TcpStream,
        trouble: Option<Trouble>,
    ) -> std::io::Result<bool> {
        let is_gone = || is_closed(stream);
        let style = match trouble {
            Some(Trouble::Cut { .. } | Trouble::EndlessEvent { .. }) => Style::Events,
            _ => *lock(&self.style),
        };
        match style {
            Style::Json => {
                // Plain JSON has no room for what is said on the way.
                let answer =
                    self.run(body, &Line { speech: Speech::Modern, tell: &|_| {}, is_gone: &is_gone });
                write_whole(stream, 200, &[], "application/json", answer.to_string().as_bytes())
            }
            Style::Events => {
                write_head(stream, 200, &[], "text/event-stream", None)?;
                if let Some(Trouble::Cut { .. }) = trouble {
                    return Ok(false);
                }
                let tell = |message: &Value| {
                    let _ = write_chunk(stream, event(message, None).as_bytes());
                };
                let answer = self.run(body, &Line { speech: Speech::Modern, tell: &tell, is_gone: &is_gone });
                write_chunk(stream, event(&answer, None).as_bytes())?;
                write_chunk(stream, b"")?;
                Ok(true)
            }
        }
    }

    fn serve_listener(&self, listener: Listener, stream: &TcpStream) -> std::io::Result<bool> {
        let (sender, events) = channel();
        let number = self.next();
        write_head(stream, 200, &[], "text/event-stream", None)?;
        write_chunk(stream, event(&listener.acknowledgement(), None).as_bytes())?;
        lock(&self.listeners).insert(number, (listener, sender));
        let ended = loop {
            let written = match events.recv_timeout(Duration::from_millis(50)) {
                Ok(text) => write_chunk(stream, text.as_bytes()),
                Err(RecvTimeoutError::Timeout) if is_closed(stream) => break Ok(false),
                Err(RecvTimeoutError::Timeout) => write_chunk(stream, b": still here\n\n"),
                Err(RecvTimeoutError::Disconnected) => break write_chunk(stream, b"").map(|()| true),
            };
            if let Err(error) = written {
                break Err(error);
            }
        };
        lock(&self.listeners).remove(&number);
        ended
    }

    pub(super) fn tell_listeners(&self, method: &str, params: &Value) {
        for (listener, stream) in lock(&self.listeners).values() {
            if let Some(notification) = listener.notification(method, params) {
                let _ = stream.send(event(&notification, None));
            }
        }
    }

    /// Checks that the headers say what the body says.
    fn check_headers(&self, request: &Recorded) -> Result<(), String> {
        let (method, params) = (&request.body["method"], &request.body["params"]);
        let name = match method.as_str().unwrap_or_default() {
            "tools/call" | "prompts/get" => &params["name"],
            "resources/read" => &params["uri"],
            _ => &Value::Null,
        };
        agree(request, "mcp-protocol-version", &json!(REVISION))?;
        agree(request, "mcp-method", method)?;
        if !name.is_null() {
            agree(request, "mcp-name", name)?;
        }
        if method != "tools/call" {
            return Ok(());
        }
        let tools = lock(&self.tools);
        let tool = tools.iter().find(|tool| tool["name"] == params["name"]).unwrap_or(&Value::Null);
        let properties = tool["inputSchema"]["properties"].as_object();
        for (key, property) in properties.into_iter().flatten() {
            if let Some(header) = property["x-mcp-header"].as_str() {
                let header = format!("mcp-param-{}", header.to_ascii_lowercase());
                agree(request, &header, &params["arguments"][key])?;
            }
        }
        Ok(())
    }
}

/// Checks one header; `null` means that there must be none.
fn agree(request: &Recorded, header: &str, value: &Value) -> Result<(), String> {
    let said = request.header(header).map(|said| decode(said).ok_or(format!("{header} cannot be read")));
    let wanted = match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    let said = said.transpose()?;
    if said == wanted { Ok(()) } else { Err(format!("{header}: {said:?}, and the body says {wanted:?}")) }
}

/// Tells whether the other end has closed the connection.
fn is_closed(stream: &TcpStream) -> bool {
    let _ = stream.set_nonblocking(true);
    let closed = match stream.peek(&mut [0]) {
        Ok(count) => count == 0,
        Err(error) => error.kind() != ErrorKind::WouldBlock,
    };
    let _ = stream.set_nonblocking(false);
    closed
}
