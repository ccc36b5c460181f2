//! Whether an entry is one we can use.

use std::path::Path;

use crate::edit::inline;
use crate::environment::Environment;
use crate::file::{Object, Value};
use crate::load::{LoadOptions, load_text};
use crate::model::ServerFault;

/// Returns what is wrong with the entry itself. A variable that is not set, a program or a file that is not there may yet
/// come.
pub(super) fn fault(entry: &Object, environment: &Environment) -> Option<String> {
    let mut entry = entry.clone();
    entry.members.shift_remove("envFile");
    let entry = inline(&Value::Object(entry));
    let text = format!("{{\"mcpServers\": {{\"it\": {entry}}}}}");
    let options = LoadOptions { environment: environment.clone(), ..LoadOptions::default() };
    match load_text(&text, Some(Path::new("manifold.json")), &options) {
        Ok(config) => match config.servers.into_iter().next()?.fault? {
            ServerFault::BadEntry { why } => Some(why),
            _ => None,
        },
        Err(error) => Some(error.problems.first().map_or_else(String::new, |problem| problem.what.clone())),
    }
}
