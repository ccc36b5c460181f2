//! The client of `load`: one HTTP/1.1 connection, one request at a time.

use std::io::{self, ErrorKind};

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Where requests go: `http://HOST:PORT/PATH`.
#[derive(Debug, Clone)]
pub struct Address {
    host: String,
    path: String,
}

impl Address {
    pub fn parse(url: &str) -> Result<Self, String> {
        let rest = url.strip_prefix("http://").ok_or("only http:// is spoken")?;
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        Ok(Self { host: host.to_owned(), path: format!("/{path}") })
    }
}

pub struct Connection {
    stream: TcpStream,
    address: Address,
    held: BytesMut,
}

/// What came back, whichever way it came.
pub struct Response {
    pub session: Option<String>,
    pub body: Bytes,
}

impl Connection {
    pub async fn open(address: &Address) -> io::Result<Self> {
        let stream = TcpStream::connect(&address.host).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, address: address.clone(), held: BytesMut::with_capacity(64 << 10) })
    }

    pub async fn post(&mut self, session: Option<&str>, body: &str) -> io::Result<Response> {
        let Address { host, path } = &self.address;
        let session = session.map(|id| format!("Mcp-Session-Id: {id}\r\n")).unwrap_or_default();
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nAccept: application/json, \
             text/event-stream\r\n{session}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.stream.write_all(request.as_bytes()).await?;
        self.response().await
    }

    async fn response(&mut self) -> io::Result<Response> {
        let head = self.until(b"\r\n\r\n").await?;
        let head = String::from_utf8_lossy(&head).into_owned();
        if !head.starts_with("HTTP/1.1 20") {
            return Err(io::Error::other(head));
        }
        let field = |wanted: &str| {
            let mut fields = head.lines().filter_map(|line| line.split_once(':'));
            Some(fields.find(|(name, _)| name.eq_ignore_ascii_case(wanted))?.1.trim().to_owned())
        };
        let body = match field("content-length").and_then(|length| length.parse().ok()) {
            Some(length) => self.exactly(length).await?,
            None if field("transfer-encoding").is_some() => self.chunks().await?,
            None => Bytes::new(),
        };
        let is_stream = field("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"));
        Ok(Response {
            session: field("mcp-session-id"),
            body: if is_stream { last_event(&body) } else { body },
        })
    }

    async fn chunks(&mut self) -> io::Result<Bytes> {
        let mut whole = BytesMut::new();
        loop {
            let size = self.until(b"\r\n").await?;
            let size =
                std::str::from_utf8(&size).ok().and_then(|size| usize::from_str_radix(size.trim(), 16).ok());
            let size = size.ok_or(ErrorKind::InvalidData)?;
            let chunk = self.exactly(size + 2).await?;
            if size == 0 {
                return Ok(whole.freeze());
            }
            whole.extend_from_slice(&chunk[..size]);
        }
    }

    async fn until(&mut self, end: &[u8]) -> io::Result<Bytes> {
        loop {
            if let Some(at) = memchr::memmem::find(&self.held, end) {
                return Ok(self.held.split_to(at + end.len()).freeze());
            }
            self.more().await?;
        }
    }

    async fn exactly(&mut self, length: usize) -> io::Result<Bytes> {
        self.held.reserve(length.saturating_sub(self.held.len()));
        while self.held.len() < length {
            self.more().await?;
        }
        Ok(self.held.split_to(length).freeze())
    }

    async fn more(&mut self) -> io::Result<()> {
        match self.stream.read_buf(&mut self.held).await? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

/// Returns the data of the last event that has any: the answer, after whatever came before it.
fn last_event(stream: &Bytes) -> Bytes {
    let mut lines = stream.split(|byte| *byte == b'\n').filter_map(|line| line.strip_prefix(b"data:"));
    let mut data = stream.slice_ref(lines.rfind(|data| data.len() > 1).unwrap_or_default());
    while data.first() == Some(&b' ') {
        data.advance(1);
    }
    data
}
