//! An MCP server that does next to nothing, so that what stands before it is what is measured. On stdio, or with
//! `--http PORT` at any path of that port. Its tools: `echo` says `text` again, `blob` says `size` bytes, `sleep` takes `ms`.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bytes::{Buf, BytesMut};
use clap::Parser;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

#[derive(Parser)]
struct Options {
    /// How many tools it lists, the three that work among them.
    #[arg(long, default_value_t = 20)]
    tools: usize,
    #[arg(long)]
    http: Option<u16>,
    /// Any text, to be known by among processes.
    #[arg(long)]
    mark: Option<String>,
}

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: Option<&'a str>,
    #[serde(borrow, default)]
    params: Params<'a>,
}

#[derive(Deserialize, Default)]
struct Params<'a> {
    name: Option<&'a str>,
    #[serde(borrow, default)]
    arguments: Arguments<'a>,
}

#[derive(Deserialize, Default)]
struct Arguments<'a> {
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    size: Option<usize>,
    ms: Option<u64>,
}

struct Server {
    listing: String,
}

const WELCOME: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"fast","version":"1"}}"#;

impl Server {
    fn new(tools: usize) -> Self {
        let tool = |at: usize| {
            let name = ["echo", "blob", "sleep"].get(at).map_or(format!("t{at}"), |name| (*name).to_owned());
            let description = "Does what it is told. ".repeat(38);
            format!(r#"{{"name":"{name}","description":"{description}","inputSchema":{{"type":"object"}}}}"#)
        };
        let tools: Vec<String> = (0..tools).map(tool).collect();
        Self { listing: format!(r#"{{"tools":[{}]}}"#, tools.join(",")) }
    }

    /// Adds the answer to `out`, if there is one to be given, and returns how long it should take.
    fn answer(&self, message: &[u8], out: &mut Vec<u8>) -> Duration {
        let Ok(Request { id: Some(id), method: Some(method), params }) = serde_json::from_slice(message)
        else {
            return Duration::ZERO;
        };
        out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
        out.extend_from_slice(id.get().as_bytes());
        match method {
            "initialize" => put(out, &[",\"result\":", WELCOME, "}"]),
            "ping" => put(out, &[",\"result\":{}}"]),
            "tools/list" => put(out, &[",\"result\":", &self.listing, "}"]),
            "tools/call" => {
                let Params { name, arguments: Arguments { text, size, ms } } = params;
                put(out, &[",\"result\":{\"content\":[{\"type\":\"text\",\"text\":"]);
                match (name, size) {
                    (Some("blob"), Some(size)) => {
                        put(out, &["\""]);
                        out.resize(out.len() + size, b'x');
                        put(out, &["\""]);
                    }
                    _ => put(out, &[text.map_or("\"\"", RawValue::get)]),
                }
                put(out, &["}]}}"]);
                return Duration::from_millis(ms.unwrap_or(0));
            }
            _ => put(out, &[",\"error\":{\"code\":-32601,\"message\":\"no such method\"}}"]),
        }
        Duration::ZERO
    }

    /// Answers all that is there with one write.
    fn serve_stdio(&self) -> io::Result<()> {
        let mut input = io::stdin().lock();
        let (mut held, mut out) = (BytesMut::new(), Vec::new());
        let mut room = vec![0; 256 << 10];
        loop {
            let count = input.read(&mut room)?;
            if count == 0 {
                return Ok(());
            }
            held.extend_from_slice(&room[..count]);
            while let Some(end) = memchr::memchr(b'\n', &held) {
                let line = held.split_to(end + 1);
                let begin = out.len();
                let takes = self.answer(&line, &mut out);
                if out.len() > begin {
                    out.push(b'\n');
                }
                if !takes.is_zero() {
                    let late = out.split_off(begin);
                    thread::spawn(move || {
                        thread::sleep(takes);
                        io::stdout().write_all(&late).and_then(|()| io::stdout().flush())
                    });
                }
            }
            let mut output = io::stdout().lock();
            output.write_all(&out)?;
            output.flush()?;
            out.clear();
        }
    }

    async fn serve_http(self: Arc<Self>, port: u16) -> io::Result<()> {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        let mut connections = JoinSet::new();
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            connections.spawn(Arc::clone(&self).converse(stream));
        }
    }

    async fn converse(self: Arc<Self>, mut stream: TcpStream) -> io::Result<()> {
        let mut held = BytesMut::with_capacity(64 << 10);
        loop {
            let head = loop {
                if let Some(end) = memchr::memmem::find(&held, b"\r\n\r\n") {
                    break held.split_to(end + 4);
                }
                if stream.read_buf(&mut held).await? == 0 {
                    return Ok(());
                }
            };
            let length = content_length(&head);
            while held.len() < length {
                if stream.read_buf(&mut held).await? == 0 {
                    return Ok(());
                }
            }
            let mut body = Vec::new();
            let takes = self.answer(&held[..length], &mut body);
            held.advance(length);
            if !takes.is_zero() {
                tokio::time::sleep(takes).await;
            }
            let status = match (head.starts_with(b"POST"), body.is_empty()) {
                (false, _) => "405 Method Not Allowed",
                (true, true) => "202 Accepted",
                (true, false) => "200 OK",
            };
            let head = format!(
                "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
                body.len()
            );
            let mut pieces = Buf::chain(head.as_bytes(), &body[..]);
            stream.write_all_buf(&mut pieces).await?;
        }
    }
}

fn put(out: &mut Vec<u8>, pieces: &[&str]) {
    pieces.iter().for_each(|piece| out.extend_from_slice(piece.as_bytes()));
}

fn content_length(head: &[u8]) -> usize {
    let mut fields =
        head.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok()?.split_once(':'));
    let length = fields.find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    length.and_then(|(_, length)| length.trim().parse().ok()).unwrap_or(0)
}

fn main() -> io::Result<()> {
    let options = Options::parse();
    let server = Server::new(options.tools);
    match options.http {
        None => server.serve_stdio(),
        Some(port) => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(Arc::new(server).serve_http(port))
        }
    }
}
