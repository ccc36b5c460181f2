//! How the values of a store are kept from others: sealed with its key, or by the modes of its files alone.

use zeroize::Zeroizing;

use crate::head::{Head, MAX_HEAD, Unread};
use crate::key::Key;
use crate::value::{MAX_BYTES, Value};
use crate::{plain, sealed};

/// The longest file of either format.
pub(crate) const MAX_FILE_BYTES: usize = MAX_HEAD + plain::SUM_BYTES + sealed::MORE_BYTES + MAX_BYTES;

#[derive(Clone)]
pub(crate) enum Protection {
    Sealed(Key),
    Plain,
}

impl Protection {
    /// Returns the bytes of a file.
    pub(crate) fn encode(&self, head: &Head, value: &Value) -> Result<Zeroizing<Vec<u8>>, Unread> {
        match self {
            Self::Sealed(key) => sealed::seal(head, value, key).map(Zeroizing::new),
            Self::Plain => plain::write(head, value),
        }
    }

    /// Returns what a file holds. One that is kept in another way than its store is refused.
    pub(crate) fn decode(&self, file: &[u8]) -> Result<(Head, Value), Unread> {
        match self {
            Self::Sealed(key) => sealed::open(file, key),
            Self::Plain => plain::read(file),
        }
    }

    /// Returns what tells keys apart; none where there is no key.
    pub(crate) fn fingerprint(&self) -> Option<String> {
        match self {
            Self::Sealed(key) => Some(key.fingerprint()),
            Self::Plain => None,
        }
    }
}
