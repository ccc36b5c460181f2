//! What a path means for who comes in. Whoever answers reads it by the same function: one that decoded more than the
//! other would let a token in where it is not meant.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// Cuts a path into what is between its slashes. It is cut before it is decoded: an escaped slash is part of a name.
pub(super) fn segments(path: &str) -> Vec<Cow<'_, str>> {
    decoded(path.trim_matches('/'))
}

fn decoded(path: &str) -> Vec<Cow<'_, str>> {
    path.split('/').map(|segment| percent_decode_str(segment).decode_utf8_lossy()).collect()
}

/// One of our addresses, as far as it matters for who comes in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Endpoint {
    /// `/mcp` or `/sse`, of a namespace or of the one that is selected.
    Described { namespace: Option<String> },
    /// Another way to the same.
    Plain { namespace: String },
    /// What is said of all namespaces.
    Status,
    /// What else belongs to no namespace.
    Other,
    /// Nothing is there, and no token is meant for it.
    Nowhere,
}

impl Endpoint {
    pub(super) fn of(path: &str) -> Self {
        let segments = segments(path);
        let segments: Vec<&str> = segments.iter().map(AsRef::as_ref).collect();
        match segments.as_slice() {
            ["mcp" | "sse"] => Self::Described { namespace: None },
            ["mcp" | "sse", namespace] => Self::Described { namespace: Some((*namespace).to_owned()) },
            ["api", "status"] => Self::Status,
            ["messages" | "health" | "livez" | "readyz" | ""] => Self::Other,
            ["api", namespace, "mcp"] | ["litemcp", namespace] | ["litemcp", namespace, _] => {
                Self::Plain { namespace: (*namespace).to_owned() }
            }
            _ => Self::Nowhere,
        }
    }

    /// Returns the path of the address that a token for a path is asked for: clients are told where it comes from. `None`
    /// where there is no such address.
    pub(super) fn described(path: &str) -> Option<&str> {
        let path = path.trim_end_matches('/');
        match Self::of(path) {
            Self::Described { .. } => Some(path),
            // Of a tool it is that of all tools there.
            Self::Plain { .. } => Some(match segments(path).as_slice() {
                [_, _, tool] if tool != "mcp" || !is_api(path) => path.rsplit_once('/')?.0,
                _ => path,
            }),
            Self::Status | Self::Other | Self::Nowhere => None,
        }
    }

    pub(super) fn namespace(&self) -> Option<&str> {
        match self {
            Self::Described { namespace } => namespace.as_deref(),
            Self::Plain { namespace } => Some(namespace),
            Self::Status | Self::Other | Self::Nowhere => None,
        }
    }

    /// Returns whether the path of an audience names this address. All ways to one namespace are one; our own root says
    /// nothing.
    pub(super) fn is_named_by(&self, audience: &str) -> bool {
        let Some(named) = named_by(audience) else { return false };
        match self {
            Self::Described { namespace } => *namespace == named,
            Self::Plain { namespace } => named.as_ref() == Some(namespace),
            Self::Status | Self::Other => true,
            Self::Nowhere => false,
        }
    }
}

/// Returns the namespace that the path of an audience names, which may be the one that is selected; `None` where it names
/// no address of ours.
pub(super) fn named_by(audience: &str) -> Option<Option<String>> {
    // What follows the host without a slash makes another host of it.
    let segments = decoded(audience.strip_prefix('/')?);
    let segments: Vec<&str> = segments.iter().map(AsRef::as_ref).collect();
    match segments.as_slice() {
        ["mcp" | "sse" | "litemcp" | "api"] => Some(None),
        ["mcp" | "sse" | "litemcp" | "api", namespace] | ["api", namespace, "mcp"] => {
            Some(Some((*namespace).to_owned()))
        }
        _ => None,
    }
}

fn is_api(path: &str) -> bool {
    segments(path).first().is_some_and(|first| first == "api")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_to_a_namespace_is_described() {
        for (path, expected) in [
            ("/mcp", Some("/mcp")),
            ("/mcp/work/", Some("/mcp/work")),
            ("/%6dcp/work", Some("/%6dcp/work")),
            ("/sse/work", Some("/sse/work")),
            ("/api/work/mcp", Some("/api/work/mcp")),
            ("/api/status/mcp", Some("/api/status/mcp")),
            ("/litemcp/work", Some("/litemcp/work")),
            ("/litemcp/work/tool", Some("/litemcp/work")),
            ("/litemcp/work/mcp", Some("/litemcp/work")),
            ("/api/status", None),
            ("/messages", None),
            ("/other", None),
        ] {
            assert_eq!(Endpoint::described(path), expected, "{path}");
        }
    }

    #[test]
    fn an_audience_is_one_of_our_addresses_and_no_other() {
        let check = |audience: &str, path: &str| Endpoint::of(path).is_named_by(audience);
        for (audience, path) in [
            ("/mcp", "/mcp"),
            ("/mcp", "/mcp/"),
            ("/mcp", "/sse"),
            ("/mcp/work", "/mcp/work"),
            ("/sse/work", "/mcp/work"),
            ("/mcp/work", "/api/work/mcp"),
            ("/mcp/work", "/litemcp/work/tool"),
            ("/mcp/work", "/messages"),
            ("/mcp/work", "/api/status"),
            ("/mcp/work", "/%6dcp/w%6Frk"),
            ("/mcp/status", "/api/status/mcp"),
            ("/mcp/m%C3%BCller", "/litemcp/m%c3%bcller"),
            ("/mcp/a%2Fb", "/mcp/a%2fb"),
        ] {
            assert!(check(audience, path), "{audience} at {path}");
        }
        for (audience, path) in [
            ("", "/mcp"),
            ("/", "/mcp"),
            ("/mcp/", "/mcp"),
            ("/mcp/work/", "/mcp/work"),
            ("/mcp", "/mcp/work"),
            ("/mcp/work", "/mcp"),
            ("/mcp/work", "/mcp/home"),
            ("/mcp", "/api/work/mcp"),
            ("/mcp/work/more", "/mcp/work"),
            ("/mcpx", "/mcp"),
            (".evil/mcp", "/mcp"),
            (":1/mcp", "/mcp"),
            ("//mcp", "/mcp"),
            // Escaped, it is the same place.
            ("/mcp/home", "/%6dcp/work"),
            ("/mcp/home", "/%6Dcp/%77ork"),
            ("/mcp/home", "/s%73e/work"),
            ("/mcp/home", "/%61pi/work/mcp"),
            ("/mcp/home", "/api/work/%6dcp"),
            ("/mcp/home", "/lite%6dcp/work"),
            ("/mcp/home", "/lite%6dcp/work/tool"),
            ("/mcp/home", "//%6dcp/work//"),
            // A namespace may have any name.
            ("/mcp/home", "/api/status/mcp"),
            ("/mcp/home", "/litemcp/status"),
            // Nothing is there.
            ("/mcp/home", "/mcp/home/more"),
            ("/mcp/home", "/api/home"),
            ("/mcp/home", "/other"),
            ("/mcp/home", "/messages/more"),
            ("/mcp/a/b", "/mcp/a%2Fb"),
        ] {
            assert!(!check(audience, path), "{audience} at {path}");
        }
    }
}
