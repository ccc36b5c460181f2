//! Names and versions, which become parts of addresses, paths and command lines.

use crate::flaw::{Flaw, Shown};

const MAX_NAME_BYTES: usize = 200;
const MAX_VERSION_BYTES: usize = 255;

/// Accepts the name of a server: reverse DNS, a slash, a name (schema 2025-12-11, `ServerDetail.name`).
pub fn check_name(name: &str) -> Result<(), Flaw> {
    let is_part = |part: &str, others: &[u8]| {
        let is_allowed = |byte: &u8| byte.is_ascii_alphanumeric() || others.contains(byte);
        !part.is_empty() && part.as_bytes().iter().all(is_allowed) && !part.starts_with(['-', '.'])
    };
    let is_name = name.len() <= MAX_NAME_BYTES
        && name.split_once('/').is_some_and(|(space, name)| is_part(space, b".-") && is_part(name, b"._-"));
    if is_name { Ok(()) } else { Err(Flaw::ServerName(Shown::new(name))) }
}

/// Accepts one version, and no range or moving name.
pub fn check_version(version: &str) -> Result<(), Flaw> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._+-!".contains(&byte);
    let is_version = (1..=MAX_VERSION_BYTES).contains(&version.len())
        && version.bytes().all(is_allowed)
        && version.as_bytes()[0].is_ascii_alphanumeric()
        && !version.eq_ignore_ascii_case("latest")
        && !version.split('.').any(|part| part.eq_ignore_ascii_case("x"));
    if is_version { Ok(()) } else { Err(Flaw::Version(Shown::new(version))) }
}

/// Returns an id for our config: what the server is called, without the words that all of them have.
pub(crate) fn suggested_id(name: &str) -> String {
    let name = name.rsplit('/').next().unwrap_or(name);
    let safe = |char: char| if char.is_ascii_alphanumeric() { char.to_ascii_lowercase() } else { '-' };
    let id: String = name.chars().map(safe).collect();
    let parts: Vec<&str> = id.split('-').filter(|part| !part.is_empty()).collect();
    let telling: Vec<&str> =
        parts.iter().copied().filter(|part| !matches!(*part, "mcp" | "server")).collect();
    let mut id = if telling.is_empty() { parts.join("-") } else { telling.join("-") };
    id.truncate(40);
    match id.trim_end_matches('-') {
        "" => "server".to_owned(),
        id => id.to_owned(),
    }
}

pub(crate) fn is_variable_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    let first = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    name.len() <= 128 && first && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_a_namespace_and_a_name() {
        for name in ["io.github.user/weather", "com.example/my_server.v2", "a/b"] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        for name in
            ["weather", "a/b/c", "../etc/passwd", "a/..", "a/", "/b", "a b/c", "a/b\u{1b}[2J", "-a/b", "a/-b"]
        {
            assert!(check_name(name).is_err(), "{name}");
        }
        assert!(check_name(&format!("a/{}", "b".repeat(199))).is_err());
    }

    #[test]
    fn versions_are_single_ones() {
        for version in ["1.0.2", "v1.2.3", "2.1.0-alpha", "1!2.0+local", "2025.11.25", "1.0.0-x86"] {
            assert_eq!(check_version(version), Ok(()), "{version}");
        }
        let ranges =
            ["^1.2.3", "~1.2", ">=1.0", "1.x", "1.*", "*", "latest", "1 || 2", "1.0 - 2.0", "1,2", "==1", ""];
        for version in ranges.into_iter().chain(["-1", "--foo", "1\n2", "1/../2", "1;rm"]) {
            assert!(check_version(version).is_err(), "{version}");
        }
    }

    #[test]
    fn an_id_leaves_out_what_all_names_have() {
        assert_eq!(suggested_id("io.github.user/weather-mcp-server"), "weather");
        assert_eq!(suggested_id("com.example/MCP"), "mcp");
        assert_eq!(suggested_id("a/---"), "server");
        assert_eq!(suggested_id("a/File_System.v2"), "file-system-v2");
    }
}
