//! Text that must not be shown.

use std::fmt;
use std::path::Path;

use crate::redact;

/// A value that prints as `***`; only `expose` gives it away. Whatever is made one is also hidden from then on where we
/// repeat what a server said (see [`redact`](crate::redact)).
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a value.
    pub fn new(value: impl Into<String>) -> Self {
        let value = value.into();
        redact::register(&value);
        Self(value)
    }

    /// Wraps the value of a server's variable. One that leads to a place on this machine tells nothing, and messages
    /// would be worth little without it.
    pub(crate) fn of_variable(name: &str, value: String) -> Self {
        if is_path(name, &value) { Self(value) } else { Self::new(value) }
    }

    /// Wraps what is no secret, where others beside it are: nothing is hidden for it.
    pub(crate) fn shown(value: String) -> Self {
        Self(value)
    }

    /// Wraps the value of a header, each word of which may be what is secret.
    pub(crate) fn of_header(value: String) -> Self {
        value.split_whitespace().for_each(redact::register);
        Self::new(value)
    }

    /// Wraps what is a secret for a while, such as a token that is renewed: it is hidden for as long as it is one of the
    /// last few hundred of its kind.
    pub fn passing(value: impl Into<String>) -> Self {
        let value = value.into();
        redact::register_passing(&value);
        Self(value)
    }

    /// Returns the value itself, for the one place that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

fn is_path(name: &str, value: &str) -> bool {
    let exists = |path: &str| path.contains('/') && Path::new(path).exists();
    name.to_ascii_uppercase().ends_with("PATH") || exists(value) || value.split(':').all(exists)
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl From<String> for Secret {
    fn from(value: String) -> Self {
        Self::new(value)
    }
}
