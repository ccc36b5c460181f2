//! One spelling for URIs that many servers read alike (RFC 3986, 6.2.2, and the URL standard of browsers and Node): escapes
//! decoded, scheme and host in lower case, no dot segments. Only for comparing: what is sent keeps its bytes.

/// Escapes within escapes are undone this often; nobody means more.
const MAX_ROUNDS: usize = 8;

/// Returns the plain spelling of a URI, or of a template for some.
pub(super) fn plain(uri: &str) -> String {
    let uri = without_breaks(uri.trim_matches(|c: char| c <= ' '));
    let (scheme, rest) = split_scheme(&uri);
    let scheme = scheme.to_ascii_lowercase();
    let path_end = rest.find(['?', '#']).unwrap_or(rest.len());
    let (path, tail) = rest.split_at(path_end);
    // Decoded first: `%2e%2e%2f` goes up like `../` where a server decodes first.
    let path = without_breaks(&settled(path)).replace('\\', "/");
    let (host, path) = split_host(&scheme, &path);
    format!("{scheme}{host}{}{}", without_dots(&path), without_breaks(&settled(tail)))
}

/// Returns whether readers may differ about what a URI names: some drop line breaks or end at a NUL, take a backslash for a
/// slash, or decode once more than others before they follow dot segments.
pub(super) fn is_ambiguous(uri: &str) -> bool {
    if uri.trim() != uri || has_broken_escape(uri) {
        return true;
    }
    let mut text = uri.to_owned();
    for _ in 0..MAX_ROUNDS {
        let bytes = decoded(&text);
        if has_overlong(&bytes) {
            return true;
        }
        if bytes == text.as_bytes() {
            let is_odd = |c: char| c == '\\' || c.is_control();
            return text.contains(is_odd) || has_dot_segment(split_scheme(&text).1);
        }
        text = String::from_utf8_lossy(&bytes).into_owned();
    }
    true
}

/// Splits after the colon of the scheme, if there is one.
fn split_scheme(uri: &str) -> (&str, &str) {
    match uri.find(':') {
        Some(colon) if is_scheme(&uri[..colon]) => uri.split_at(colon + 1),
        _ => ("", uri),
    }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

/// Splits what follows a scheme into its host, slashes included, and a path. Where the URL standard knows the scheme, all
/// its spellings of one host come out the same.
fn split_host(scheme: &str, text: &str) -> (String, String) {
    let split = |text: &str| {
        let (host, path) = text.split_at(text.find('/').unwrap_or(text.len()));
        (host.to_lowercase(), path.to_owned())
    };
    let port = match scheme {
        "file:" => {
            return split_file(text.strip_prefix("//").map_or((String::new(), text.to_owned()), split));
        }
        "http:" | "ws:" => ":80",
        "https:" | "wss:" => ":443",
        "ftp:" => ":21",
        _ => {
            return match text.strip_prefix("//").map(split) {
                Some((host, path)) => (format!("//{host}"), path),
                None => (String::new(), text.to_owned()),
            };
        }
    };
    let (host, path) = split(text.trim_start_matches('/'));
    // A template says no more than its own text.
    if host.contains('{') {
        return (format!("//{host}"), path);
    }
    let host = host.rsplit_once('@').map_or(host.as_str(), |(_, host)| host);
    let host = host.strip_suffix(port).unwrap_or(host).trim_end_matches('.');
    (format!("//{host}"), if path.is_empty() { "/".to_owned() } else { path })
}

/// A file is one of this machine's whether or not it says so, and slashes in a row are one to every file system.
fn split_file((host, path): (String, String)) -> (String, String) {
    let host = if host == "localhost" { String::new() } else { host };
    let mut names = path.split('/').filter(|name| !name.is_empty()).peekable();
    let mut kept = String::new();
    while let Some(name) = names.next() {
        kept.push('/');
        kept.push_str(name);
        if names.peek().is_none() && path.ends_with('/') {
            kept.push('/');
        }
    }
    if kept.is_empty() && !path.is_empty() {
        kept.push('/');
    }
    (format!("//{host}"), kept)
}

/// Takes out what the URL standard drops wherever it stands.
fn without_breaks(text: &str) -> String {
    text.chars().filter(|c| !matches!(c, '\t' | '\n' | '\r')).collect()
}

/// Decodes until there is nothing left to decode.
fn settled(text: &str) -> String {
    let mut text = text.to_owned();
    for _ in 0..MAX_ROUNDS {
        let bytes = decoded(&text);
        if bytes == text.as_bytes() {
            break;
        }
        text = String::from_utf8_lossy(&bytes).into_owned();
    }
    text
}

fn decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let escaped = escape_at(rest);
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &rest[3..] } else { tail };
    }
    bytes
}

fn escape_at(text: &[u8]) -> Option<u8> {
    let [b'%', high, low, ..] = text else { return None };
    hex(*high).zip(hex(*low)).map(|(high, low)| high << 4 | low)
}

fn hex(digit: u8) -> Option<u8> {
    (digit as char).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

fn has_broken_escape(uri: &str) -> bool {
    let bytes = uri.as_bytes();
    (0..bytes.len()).any(|at| bytes[at] == b'%' && escape_at(&bytes[at..]).is_none())
}

/// Returns whether bytes spell a character in more bytes than it takes, as `%c0%ae` does a dot.
fn has_overlong(bytes: &[u8]) -> bool {
    bytes.windows(2).any(|pair| matches!(pair, [0xc0 | 0xc1, _] | [0xe0, 0x80..=0x9f] | [0xf0, 0x80..=0x8f]))
}

/// Returns whether a step up or to the same place stands anywhere, with parameters (`..;x`) or spaces around it, too.
fn has_dot_segment(text: &str) -> bool {
    let name = |segment: &'_ str| segment.split(';').next().unwrap_or_default().trim().to_owned();
    let mut names = text.split(['/', '\\', '?', '#', '=', '&']).map(name);
    names.any(|name| !name.is_empty() && name.bytes().all(|byte| byte == b'.'))
}

fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').peekable();
    while let Some(segment) = segments.next() {
        match segment {
            "." | ".." => {
                // The first is what stands before the first slash.
                if segment == ".." && kept.len() > 1 {
                    kept.pop();
                }
                if segments.peek().is_none() {
                    kept.push("");
                }
            }
            _ => kept.push(segment),
        }
    }
    kept.join("/")
}

#[cfg(test)]
mod tests;
