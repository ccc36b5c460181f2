//! Where `${secret:NAME}` comes from, handed in with the environment: this crate knows no store.

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use crate::secret::Secret;

/// How a secret is named among missing variables.
pub(crate) const SECRET: &str = "secret:";

/// Gives the values of secrets. It is asked whenever a config is read, so a changed value counts from then on.
pub trait SecretSource: Send + Sync {
    /// Returns the value of a secret; `None` if there is none of that name. An error says why it cannot be told, with
    /// the file it is in, and holds no value.
    fn secret(&self, name: &str) -> Result<Option<Secret>, String>;
}

/// The secrets a config may refer to; by default there are none.
#[derive(Clone, Default)]
pub struct Secrets(Option<Arc<dyn SecretSource>>);

impl Secrets {
    /// Returns those of a source.
    pub fn of(source: impl SecretSource + 'static) -> Self {
        Self(Some(Arc::new(source)))
    }

    pub(crate) fn get(&self, name: &str) -> Result<Option<Secret>, String> {
        self.0.as_ref().map_or(Ok(None), |source| source.secret(name))
    }

    /// Returns why a secret has no value, and what to do about it.
    pub(crate) fn why_missing(&self, name: &str) -> (String, String) {
        let shown = name.escape_debug();
        match self.get(name) {
            Err(why) => (format!("the secret `{shown}` cannot be read"), why),
            Ok(_) => (format!("the secret `{shown}` is not stored"), format!("run `{}`", how_to_set(name))),
        }
    }
}

/// Returns the command that stores a secret.
pub(crate) fn how_to_set(name: &str) -> String {
    format!("manifold secret set {}", name.escape_debug())
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Secrets(***)" } else { "Secrets(none)" })
    }
}
