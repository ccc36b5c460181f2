//! Who asks.

/// Who asks, as admission at the door found out. Limits are counted for it, and for where it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Principal {
    /// Somebody on this machine, where no token is asked for.
    Anonymous,
    /// Somebody with the token.
    Token,
}
