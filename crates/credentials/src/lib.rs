//! What must not be read by others, kept on disk: one file per credential, in one folder, with one key.
//!
//! A [`Store`] is opened for a data folder and the [`Keys`] there may be. Nothing is made on disk before the first
//! [`Store::set`]. Whatever is not as it was left (an owner, a mode, a link, a cut file, another key) is an error that
//! names the file: there is never a second store that stands in for the first. The README beside this crate has the
//! formats.

mod backup;
mod error;
mod folder;
mod head;
mod key;
mod name;
mod plain;
mod protection;
mod sealed;
mod store;
mod value;

pub use backup::BackupKey;
pub use error::StoreError;
pub use key::{Given, Key, KeyError, KeyKind, Keyring, KeyringError, Keys, Unusable};
pub use name::{BadName, Kind, Name};
pub use store::{Became, CredentialLock, Entry, Listed, NewKey, Prepared, Rekeyed, Restored, Store};
pub use value::Value;
