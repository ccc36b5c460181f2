//! What must not be read by others, kept on disk: one sealed file per credential, in one folder, with one key.
//!
//! A [`Store`] is opened for a data folder and a [`KeySource`]. Nothing is made on disk before the first
//! [`Store::set`]. Whatever is not as it was left (an owner, a mode, a link, a cut file, another key) is an error that
//! names the file: there is never a second store that stands in for the first. The README beside this crate has the
//! format.

mod error;
mod folder;
mod key;
mod name;
mod sealed;
mod store;
mod value;

pub use error::StoreError;
pub use key::{BesideKey, FileKey, GivenKey, Key, KeyError, KeyKind, KeySource, Unusable, choose_key};
pub use name::{BadName, Kind, Name};
pub use store::{Entry, Listed, Store};
pub use value::Value;
