//! Secrets on their way out of entries, into the secret store.

use manifold_config::Secret;

use crate::commands::verb::Verb;
use crate::output::{Exit, Failure};

/// Returns whether there is a store to put them into.
pub(super) fn has_store(_verb: &Verb) -> bool {
    false
}

/// Keeps a secret under a name.
pub(super) fn keep(name: &str, _secret: &Secret, _verb: &Verb) -> Result<(), Failure> {
    Err(Failure::new(Exit::Failed, "unsupported", format!("there is no store to keep '{name}' in")))
}
