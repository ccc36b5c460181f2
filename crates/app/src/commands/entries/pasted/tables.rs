//! Entries of TOML and YAML files.

use std::path::Path;

use manifold_config::{Environment, servers_in};

use super::{Given, json};
use crate::output::Failure;

/// Reads a text that is plainly one or the other; `None`: it is neither.
pub(super) fn read(text: &str, environment: &Environment) -> Option<Result<Vec<Given>, Failure>> {
    let (path, whole) = if is_toml(text) {
        ("pasted.toml", text.to_owned())
    } else if is_yaml(text) {
        // A list was cut out from below its key.
        let is_list = text.starts_with("- ");
        ("pasted.yaml", if is_list { format!("mcpServers:\n{text}\n") } else { format!("{text}\n") })
    } else {
        return None;
    };
    let found = servers_in(&whole, Path::new(path), None, environment);
    let found = found.map_err(|error| Failure::config(error.to_string()));
    Some(found.and_then(|found| found.into_iter().map(json::given).collect()))
}

/// Begins with a table that has servers: `[mcp_servers.x]`, `[[mcp_servers]]`.
fn is_toml(text: &str) -> bool {
    let head = first_line(text).split('#').next().unwrap_or_default().trim();
    head.starts_with('[') && head.ends_with(']') && !head.contains(['{', ',']) && text.contains('=')
}

/// Begins with a key that has more below it, or with an item of a list that has.
fn is_yaml(text: &str) -> bool {
    let first = first_line(text);
    let is_word = |word: &str| !word.is_empty() && !word.contains(char::is_whitespace);
    let is_key = first.trim_end().strip_suffix(':').is_some_and(is_word);
    let is_item =
        first.strip_prefix("- ").and_then(|item| item.split_once(": ")).is_some_and(|(key, _)| is_word(key));
    (is_key || is_item) && text.lines().count() > 1
}

fn first_line(text: &str) -> &str {
    let is_remark = |line: &&str| line.trim().is_empty() || line.trim_start().starts_with('#');
    text.lines().find(|line| !is_remark(line)).unwrap_or_default()
}
