//! As much HTTP as the fake and its visitors need.

use std::collections::HashMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    query: String,
    headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

/// What came of a visit.
#[derive(Debug)]
pub struct Visited {
    pub status: u16,
    pub location: Option<String>,
    pub text: String,
}

/// Visits an address on this machine, as a browser does; redirects are not followed.
pub fn visit(url: &str) -> io::Result<Visited> {
    let rest = url.strip_prefix("http://").unwrap_or(url);
    let (host, target) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let mut stream = TcpStream::connect(host)?;
    let target = if target.is_empty() { "/" } else { target };
    write!(stream, "GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")?;
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let (mut location, mut length) = (None, None);
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').unwrap_or((&line, ""));
        match name.to_ascii_lowercase().as_str() {
            "location" => location = Some(value.trim().to_owned()),
            "content-length" => length = value.trim().parse::<usize>().ok(),
            _ => {}
        }
    }
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body)?;
    Ok(Visited { status, location, text: String::from_utf8_lossy(&body).into_owned() })
}

impl Request {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(at, _)| at == name).map(|(_, value)| value.as_str())
    }

    /// Returns all of it as one text, as it came and decoded.
    pub(super) fn text(&self) -> String {
        let body = String::from_utf8_lossy(&self.body);
        let basic = self.header("authorization").and_then(|value| value.strip_prefix("Basic "));
        let basic = basic.and_then(|value| STANDARD.decode(value).ok()).unwrap_or_default();
        let decoded = (decoded(&self.query), decoded(&body), String::from_utf8_lossy(&basic).into_owned());
        format!("{} {} {} {:?} {body} {decoded:?}", self.method, self.path, self.query, self.headers)
    }

    pub(super) fn query(&self) -> HashMap<String, String> {
        pairs(&self.query)
    }

    pub(super) fn form(&self) -> HashMap<String, String> {
        pairs(&String::from_utf8_lossy(&self.body))
    }
}

impl Answer {
    pub(super) fn json(value: &Value) -> Self {
        let headers = vec![("Content-Type".to_owned(), "application/json".to_owned())];
        Self { status: 200, headers, body: value.to_string().into_bytes() }
    }

    pub(super) fn status(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Vec::new() }
    }
}

/// Reads a request; none where the peer has gone.
pub(super) fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, target) = (words.next()?, words.next()?);
    let mut headers = Vec::new();
    loop {
        line.clear();
        if reader.read_line(&mut line).ok()? == 0 || line.trim().is_empty() {
            break;
        }
        let (name, value) = line.split_once(':')?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let mut body = vec![0; length.and_then(|(_, length)| length.parse().ok()).unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    Some(Request { method, path: path.to_owned(), query: query.to_owned(), headers, body })
}

pub(super) fn write(stream: &mut TcpStream, answer: &Answer) -> io::Result<()> {
    let mut head = format!("HTTP/1.1 {} X\r\nContent-Length: {}\r\n", answer.status, answer.body.len());
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes())?;
    stream.write_all(&answer.body)
}

fn pairs(text: &str) -> HashMap<String, String> {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (decoded(name), decoded(value))).collect()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let digits = [rest.next().unwrap_or(b'0'), rest.next().unwrap_or(b'0')];
                let digits = std::str::from_utf8(&digits).unwrap_or("00");
                bytes.push(u8::from_str_radix(digits, 16).unwrap_or(b'?'));
            }
            byte => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Writes a text as it stands in a query.
pub(super) fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let each = text.bytes().map(|byte| match plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    });
    each.collect()
}
