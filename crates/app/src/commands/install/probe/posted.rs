//! A client's connection to us by our URL.
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "no runtime runs here")]

use std::io::{self, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::{Duration, Instant};

use manifold_config::Environment;
use serde_json::{Value, json};

use super::piped::PATIENCE;

/// How long it may take until somebody answers the door.
const AT_THE_DOOR: Duration = Duration::from_secs(2);
/// No answer is longer.
const MAX_BYTES: usize = 64 << 20;

pub(super) struct Posted {
    /// Host and port, and the path behind them.
    authority: String,
    path: String,
    headers: Vec<(String, String)>,
    session: Option<String>,
    last: u64,
}

impl Posted {
    /// Reads the address; the variables in headers are those of this command.
    pub(super) fn open(
        url: &str,
        headers: &[(String, String)],
        environment: &Environment,
    ) -> Result<Self, String> {
        let rest = url.strip_prefix("http://").ok_or("what is behind TLS is not looked at")?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let token = environment.vars.get("MANIFOLD_TOKEN").map(String::as_str).unwrap_or_default();
        let filled = |value: &String| value.replace("${MANIFOLD_TOKEN}", token);
        Ok(Self {
            authority: authority.to_owned(),
            path: format!("/{path}"),
            headers: headers.iter().map(|(name, value)| (name.clone(), filled(value))).collect(),
            session: None,
            last: 0,
        })
    }

    pub(super) fn ask(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        self.last += 1;
        let id = self.last;
        let body =
            self.post(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string())?;
        // One message, or events of which each has one.
        let messages = body.lines().map(|line| line.strip_prefix("data:").unwrap_or(line));
        let mut messages = messages.filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let message = messages.find(|message| message["id"] == id).ok_or("its answer is none")?;
        match message.get("error") {
            Some(error) => {
                Err(format!("`{method}` failed: {}", error["message"].as_str().unwrap_or_default()))
            }
            None => Ok(message["result"].clone()),
        }
    }

    pub(super) fn tell(&mut self, method: &str) -> Result<(), String> {
        self.post(&json!({"jsonrpc": "2.0", "method": method}).to_string()).map(drop)
    }

    /// Sends a message on a connection of its own, and returns what comes back.
    fn post(&mut self, message: &str) -> Result<String, String> {
        let lost = |error: io::Error| format!("{}: {error}", self.authority);
        let mut socket = connect(&self.authority).map_err(|error| {
            format!("nobody answers at {} ({error}); start `manifold http`", self.authority)
        })?;
        let session = self.session.iter().map(|session| ("Mcp-Session-Id".to_owned(), session.clone()));
        let headers: String = self
            .headers
            .iter()
            .cloned()
            .chain(session)
            .map(|(name, value)| format!("{name}: {value}\r\n"))
            .collect();
        let head = format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nAccept: application/json, \
             text/event-stream\r\nContent-Length: {}\r\n{headers}Connection: close\r\n\r\n",
            self.path,
            self.authority,
            message.len()
        );
        socket.write_all(format!("{head}{message}").as_bytes()).map_err(lost)?;
        let bytes = read_all(&mut socket).map_err(lost)?;
        let text = String::from_utf8_lossy(&bytes);
        let (head, body) = text.split_once("\r\n\r\n").ok_or("its answer is no HTTP")?;
        let status = head.split(' ').nth(1).unwrap_or_default();
        match status {
            "401" => return Err("it wants a token: set MANIFOLD_TOKEN".to_owned()),
            status if !status.starts_with('2') => {
                return Err(format!("it answers with HTTP status {status}"));
            }
            _ => {}
        }
        self.session = self.session.take().or_else(|| header(head, "mcp-session-id"));
        let is_chunked = header(head, "transfer-encoding").is_some_and(|how| how.contains("chunked"));
        Ok(if is_chunked { unchunked(body) } else { body.to_owned() })
    }
}

/// Reads to the end, within the time and the size that an answer may take as a whole.
fn read_all(socket: &mut TcpStream) -> io::Result<Vec<u8>> {
    let until = Instant::now() + PATIENCE;
    let (mut bytes, mut part) = (Vec::new(), [0; 8192]);
    while bytes.len() < MAX_BYTES {
        let left = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero());
        socket.set_read_timeout(Some(left.ok_or(io::ErrorKind::TimedOut)?))?;
        match socket.read(&mut part)? {
            0 => break,
            count => bytes.extend_from_slice(&part[..count]),
        }
    }
    Ok(bytes)
}

fn connect(authority: &str) -> io::Result<TcpStream> {
    let mut last = io::Error::other("no such host");
    for address in authority.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, AT_THE_DOOR) {
            Ok(socket) => return Ok(socket),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn header(head: &str, wanted: &str) -> Option<String> {
    let mut fields = head.lines().filter_map(|line| line.split_once(':'));
    fields.find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value.trim().to_owned())
}

/// Takes the sizes out that stand between the pieces of a body.
fn unchunked(body: &str) -> String {
    let mut whole = String::new();
    let mut rest = body;
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size.split(';').next().unwrap_or_default().trim(), 16).unwrap_or(0);
        let Some(piece) = after.get(..size).filter(|piece| !piece.is_empty()) else { break };
        whole.push_str(piece);
        rest = after[size..].trim_start_matches("\r\n");
    }
    whole
}
