//! The addresses this crate deals with: `http` and `https` with a host, kept byte for byte.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use thiserror::Error;

/// The longest address that is taken from anybody.
const MAX_BYTES: usize = 8 << 10;

/// An absolute `http` or `https` address. Its text is the one it was read from: nothing is added, nothing folded.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Url {
    text: String,
    scheme: Scheme,
    /// In lower case; an IPv6 address has no brackets.
    host: String,
    port: Option<u16>,
    /// Where the path begins; it ends where the query or fragment does.
    path_at: usize,
    path_end: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scheme {
    Http,
    Https,
}

/// Why a text is no address of ours. It does not repeat the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum BadUrl {
    #[error("an address is neither http nor https")]
    Scheme,
    #[error("an address has a character that no address has")]
    Character,
    #[error("an address names a user")]
    UserInfo,
    #[error("an address has no proper host")]
    Host,
    #[error("an address has no proper port")]
    Port,
    #[error("an address is too long")]
    TooLong,
}

impl Url {
    /// Reads an address.
    pub fn parse(text: &str) -> Result<Self, BadUrl> {
        if text.len() > MAX_BYTES {
            return Err(BadUrl::TooLong);
        }
        // Parsers disagree about backslashes, spaces and controls: what is judged must be what is asked.
        let is_plain = |byte: u8| {
            byte.is_ascii_graphic()
                && !matches!(byte, b'\\' | b'<' | b'>' | b'"' | b'`' | b'{' | b'}' | b'|' | b'^')
        };
        if !text.bytes().all(is_plain) {
            return Err(BadUrl::Character);
        }
        let (scheme, start) = scheme_of(text)?;
        let rest = text.get(start..).unwrap_or_default();
        let length = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, _) = rest.split_at(length);
        if authority.contains('@') {
            return Err(BadUrl::UserInfo);
        }
        let (host, port) = split_authority(authority)?;
        let path_at = start + length;
        let tail = text.get(path_at..).unwrap_or_default();
        let path_end = path_at + tail.find(['?', '#']).unwrap_or(tail.len());
        Ok(Self { text: text.to_owned(), scheme, host, port, path_at, path_end })
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Returns the host in lower case, without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the host as an address, if it is one.
    pub fn ip(&self) -> Option<IpAddr> {
        self.host.parse().ok()
    }

    /// Returns the port that is connected to.
    pub fn port(&self) -> u16 {
        self.port.unwrap_or(match self.scheme {
            Scheme::Http => 80,
            Scheme::Https => 443,
        })
    }

    /// Returns the path as written; it may be empty.
    pub fn path(&self) -> &str {
        self.text.get(self.path_at..self.path_end).unwrap_or_default()
    }

    /// Returns the query, if there is one.
    pub fn query(&self) -> Option<&str> {
        let tail = self.text.get(self.path_end..)?.strip_prefix('?')?;
        Some(tail.split_once('#').map_or(tail, |(query, _)| query))
    }

    pub fn has_fragment(&self) -> bool {
        self.text.contains('#')
    }

    /// Returns what is sent in the request line.
    pub fn target(&self) -> String {
        let path = if self.path().is_empty() { "/" } else { self.path() };
        self.query().map_or_else(|| path.to_owned(), |query| format!("{path}?{query}"))
    }

    /// Returns `host` or `host:port`, as a `Host` header has it.
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        self.port.map_or_else(|| host.clone(), |port| format!("{host}:{port}"))
    }

    /// Returns scheme, host and port in lower case, without a slash.
    pub fn origin(&self) -> String {
        let scheme = match self.scheme {
            Scheme::Http => "http",
            Scheme::Https => "https",
        };
        format!("{scheme}://{}", self.authority())
    }

    pub fn is_same_origin(&self, other: &Self) -> bool {
        self.scheme == other.scheme && self.host == other.host && self.port() == other.port()
    }

    /// Tells whether this names the machine itself.
    pub fn is_loopback(&self) -> bool {
        self.host == "localhost"
            || self.host.ends_with(".localhost")
            || self.ip().is_some_and(|ip| ip.is_loopback())
    }

    /// Returns the form by which a server is known: scheme and host in lower case, no fragment, no bare slash at the
    /// end. The path and query keep their bytes.
    pub fn canonical(&self) -> String {
        let path = if self.path() == "/" && self.query().is_none() { "" } else { self.path() };
        let query = self.query().map_or_else(String::new, |query| format!("?{query}"));
        format!("{}{path}{query}", self.origin())
    }

    /// Returns the same address with more parameters in its query.
    pub fn with_query(&self, parameters: &str) -> String {
        let base = self.text.split_once('#').map_or(self.text.as_str(), |(base, _)| base);
        match self.query() {
            None => format!("{base}?{parameters}"),
            Some("") => format!("{base}{parameters}"),
            Some(_) => format!("{base}&{parameters}"),
        }
    }
}

fn scheme_of(text: &str) -> Result<(Scheme, usize), BadUrl> {
    let starts =
        |prefix: &str| text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
    if starts("https://") {
        Ok((Scheme::Https, 8))
    } else if starts("http://") {
        Ok((Scheme::Http, 7))
    } else {
        Err(BadUrl::Scheme)
    }
}

fn split_authority(authority: &str) -> Result<(String, Option<u16>), BadUrl> {
    let (host, port) = if let Some(rest) = authority.strip_prefix('[') {
        let (inside, after) = rest.split_once(']').ok_or(BadUrl::Host)?;
        let ip: Ipv6Addr = inside.parse().map_err(|_| BadUrl::Host)?;
        let port = if after.is_empty() { None } else { Some(after.strip_prefix(':').ok_or(BadUrl::Port)?) };
        (ip.to_string(), port)
    } else {
        let (host, port) =
            authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port)));
        (name(host)?, port)
    };
    let number = |digits: &str| {
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse::<u16>().ok().filter(|port| is_number && *port != 0).ok_or(BadUrl::Port)
    };
    Ok((host, port.map(number).transpose()?))
}

/// A name, or an IPv4 address in its one plain form: `0x7f.1` and `2130706433` are addresses to some resolvers.
fn name(host: &str) -> Result<String, BadUrl> {
    let host = host.to_ascii_lowercase();
    let bare = host.strip_suffix('.').unwrap_or(&host);
    let is_label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    if bare.len() > 253 || !bare.split('.').all(is_label) {
        return Err(BadUrl::Host);
    }
    let last = bare.rsplit('.').next().unwrap_or_default();
    let is_numeric = last.bytes().all(|byte| byte.is_ascii_digit())
        || last.strip_prefix("0x").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_hexdigit()));
    if is_numeric && (bare != host || host.parse::<Ipv4Addr>().is_err()) {
        return Err(BadUrl::Host);
    }
    Ok(bare.to_owned())
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A query may hold what is secret; the path is enough to know an address by.
impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin(), self.path())
    }
}

#[cfg(test)]
mod tests;
