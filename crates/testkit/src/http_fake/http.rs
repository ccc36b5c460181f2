#![expect(clippy::disallowed_types, reason = "real sockets run in real time")]

use std::io::{BufRead, Write};
use std::net::TcpStream;
use std::time::Instant;

use super::Recorded;

/// Reads one request, `None` at the end of the connection.
pub(super) fn read_request(reader: &mut impl BufRead, connection: u64) -> Option<Recorded> {
    let line = read_line(reader)?;
    let mut words = line.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let line = read_line(reader)?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':')?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let mut body = vec![0; length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let body = serde_json::from_slice(&body).unwrap_or_default();
    Some(Recorded { at: Instant::now(), method, target, headers, body, connection })
}

fn read_line(reader: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    reader.by_ref().read_line(&mut line).ok().filter(|count| *count > 0)?;
    Some(line.trim_end().to_owned())
}

/// Writes the head of a response, chunked unless its length is known.
pub(super) fn write_head(
    mut stream: &TcpStream,
    status: u16,
    headers: &[(&'static str, String)],
    kind: &str,
    length: Option<usize>,
) -> std::io::Result<()> {
    let mut head = format!("HTTP/1.1 {status} Scripted\r\n");
    if !kind.is_empty() {
        head.push_str(&format!("Content-Type: {kind}\r\n"));
    }
    match length {
        Some(length) => head.push_str(&format!("Content-Length: {length}\r\n")),
        None => head.push_str("Transfer-Encoding: chunked\r\n"),
    }
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes())
}

/// Writes a whole response, after which the connection can be used again.
pub(super) fn write_whole(
    mut stream: &TcpStream,
    status: u16,
    headers: &[(&'static str, String)],
    kind: &str,
    body: &[u8],
) -> std::io::Result<bool> {
    write_head(stream, status, headers, kind, Some(body.len()))?;
    stream.write_all(body)?;
    Ok(true)
}

/// Writes a piece of a chunked body; an empty one ends it.
pub(super) fn write_chunk(mut stream: &TcpStream, bytes: &[u8]) -> std::io::Result<()> {
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend_from_slice(bytes);
    chunk.extend_from_slice(b"\r\n");
    stream.write_all(&chunk)
}
