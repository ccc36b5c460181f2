//! A file of variables: `NAME=value` on each line.

use std::path::Path;

use crate::expand::is_variable_name;
use crate::secret::Secret;

/// Reads such a file; what it says of itself when it cannot holds no value.
pub(super) fn read(path: &Path) -> Result<Vec<(String, Secret)>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("cannot be read: {error}"))?;
    let mut variables = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) = line
            .split_once('=')
            .filter(|(name, _)| is_variable_name(name.trim()))
            .ok_or_else(|| format!("has no `NAME=value` in line {}", index + 1))?;
        let name = name.trim();
        variables.push((name.to_owned(), Secret::of_variable(name, unquoted(value.trim()))));
    }
    Ok(variables)
}

fn unquoted(value: &str) -> String {
    let within = |quote: char| value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    match (within('"'), within('\'')) {
        (Some(inner), _) => inner.replace("\\n", "\n").replace("\\\"", "\""),
        (None, Some(inner)) => inner.to_owned(),
        (None, None) => value.to_owned(),
    }
}
