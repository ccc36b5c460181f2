//! Servers that come from the registry or in a bundle.

use std::path::Path;

use super::pasted::Given;
use crate::commands::verb::Verb;
use crate::output::{Exit, Failure};

/// Returns the server of this name in the registry.
pub(super) fn from_registry(name: &str, _verb: &Verb) -> Result<Vec<Given>, Failure> {
    Err(not_yet(&format!("'{name}' cannot be looked up in the registry")))
}

/// Unpacks a bundle and returns the server in it.
pub(super) fn from_bundle(path: &Path, _verb: &Verb) -> Result<Vec<Given>, Failure> {
    Err(not_yet(&format!("{} cannot be unpacked", path.display())))
}

fn not_yet(what: &str) -> Failure {
    Failure::new(Exit::Usage, "unsupported", format!("{what}: that is not part of this version yet"))
}
