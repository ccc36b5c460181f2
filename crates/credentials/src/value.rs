//! A value in memory: overwritten when it is dropped, and never shown.

use std::fmt;

use zeroize::Zeroizing;

/// The longest value that is kept: a private key or a set of tokens fits, a file by mistake does not.
pub(crate) const MAX_BYTES: usize = 256 * 1024;

/// What a credential holds. It prints as `***`, and its memory is overwritten when it is dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Value(Zeroizing<Vec<u8>>);

impl Value {
    /// Wraps a value.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(Zeroizing::new(bytes.into()))
    }

    /// Returns the value itself, for the one place that needs it.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// Returns the value itself if it is text.
    pub fn expose_text(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}
