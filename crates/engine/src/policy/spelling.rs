//! One spelling for URIs that many servers read alike (RFC 3986, 6.2.2): escapes decoded, scheme and host in lower case,
//! no dot segments. Only for comparing: what is sent keeps its bytes.

/// Returns the plain spelling of a URI, or of a template for some.
pub(super) fn plain(uri: &str) -> String {
    let (head, rest) = match uri.split_once(':') {
        Some((scheme, rest)) if is_scheme(scheme) => (format!("{}:", scheme.to_ascii_lowercase()), rest),
        _ => (String::new(), uri),
    };
    let path_end = rest.find(['?', '#']).unwrap_or(rest.len());
    let (path, tail) = rest.split_at(path_end);
    let (host, path) = match path.strip_prefix("//") {
        Some(after) => {
            let (host, path) = after.split_at(after.find('/').unwrap_or(after.len()));
            (format!("//{}", decoded(host).to_lowercase()), path)
        }
        None => (String::new(), path),
    };
    // Decoded first: `%2e%2e%2f` goes up like `../` where a server decodes first.
    let path = without_dots(&decoded(path).replace('\\', "/"));
    format!("{head}{host}{path}{}", decoded(tail))
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let escaped = match rest {
            [b'%', high, low, ..] => hex(*high).zip(hex(*low)).map(|(high, low)| high << 4 | low),
            _ => None,
        };
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &rest[3..] } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex(digit: u8) -> Option<u8> {
    (digit as char).to_digit(16).and_then(|value| u8::try_from(value).ok())
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
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_uri_are_one() {
        for (uri, expected) in [
            ("file:///a/b", "file:///a/b"),
            ("FILE:///a/b", "file:///a/b"),
            ("file:///a/./b", "file:///a/b"),
            ("file:///x/../a/b", "file:///a/b"),
            ("file:///../../a/b", "file:///a/b"),
            ("file:///%61/b", "file:///a/b"),
            ("file:///x/%2e%2E/a%2fb", "file:///a/b"),
            ("file:///x/..%5ca\\b", "file:///a/b"),
            ("http://HOST/a?B=%43#D", "http://host/a?B=C#D"),
            ("note:Some%20Thing", "note:Some Thing"),
            ("file:///a/..", "file:///"),
            ("file:///a/.", "file:///a/"),
            ("db://{table}/{+rows}", "db://{table}/{+rows}"),
            ("no scheme: at all", "no scheme: at all"),
            ("x://100%", "x://100%"),
            ("x:..", "x:"),
            ("", ""),
        ] {
            assert_eq!(plain(uri), expected, "{uri}");
        }
    }
}
