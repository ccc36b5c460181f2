//! Gateways below gateways. Each tells its servers, by a mark in their environment, which configs are served above them:
//! one that is told of its own would go round in circles, and one too far down is most likely a mistake (D1).

#[cfg(test)]
mod tests;

use std::path::Path;

use sha2::{Digest, Sha256};

use crate::environment::Environment;

/// The variable that holds the mark; no other of ours is passed on to servers.
pub const ABOVE: &str = "MANIFOLD_ABOVE";
/// How many gateways may stand above one.
const MAX_ABOVE: usize = 3;

/// Where a gateway stands among others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nesting {
    above: Vec<String>,
    own: String,
}

impl Nesting {
    /// Returns the place of a gateway that serves this config.
    pub fn of(config: Option<&Path>, environment: &Environment) -> Self {
        let above = environment.vars.get(ABOVE).map(String::as_str).unwrap_or_default();
        let above = above.split(',').filter(|one| !one.is_empty()).map(str::to_owned).collect();
        let config = config.map(|path| environment.cwd.join(path));
        let real = config.map(|path| std::fs::canonicalize(&path).unwrap_or(path)).unwrap_or_default();
        // A hash, for the path is none of the servers' business.
        let digest = Sha256::digest(real.as_os_str().as_encoded_bytes());
        Self { above, own: digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect() }
    }

    /// Returns why this gateway must not run, if it must not.
    pub fn refusal(&self) -> Option<String> {
        if self.above.contains(&self.own) {
            let why = "this is Manifold itself: the gateway that started it already serves this config";
            return Some(format!("{why}; remove the entry from its own config, or give it another --config"));
        }
        (self.above.len() > MAX_ABOVE).then(|| {
            format!(
                "{} gateways stand above this one, and {MAX_ABOVE} are the most; look for one that leads back to itself",
                self.above.len()
            )
        })
    }

    /// Returns the mark that our servers get.
    pub fn mark(&self) -> String {
        let mut chain = self.above.clone();
        chain.push(self.own.clone());
        chain.join(",")
    }
}
