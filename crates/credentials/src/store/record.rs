//! What a store says of itself: which kind of key it has, and a fingerprint of that key.

use serde::{Deserialize, Serialize};

use crate::error::StoreError;
use crate::folder::{Folder, Lock};
use crate::key::{Chosen, KeyKind};

pub(super) const RECORD: &str = ".store";
const FORMAT: &str = "credentials 1";
const MAX_BYTES: usize = 4096;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) manifold: String,
    pub(super) key: KeyKind,
    /// Empty where there is no key.
    #[serde(default)]
    pub(super) fingerprint: String,
    /// The key before this one, while files that are sealed with this one stand beside those they are to replace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) replaces: Option<Former>,
}

/// A key that is on its way out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Former {
    pub(super) key: KeyKind,
    #[serde(default)]
    pub(super) fingerprint: String,
}

impl Record {
    pub(super) fn of(chosen: &Chosen) -> Self {
        let fingerprint = chosen.fingerprint();
        Self { manifold: FORMAT.to_owned(), key: chosen.kind, fingerprint, replaces: None }
    }
}

pub(super) fn read(folder: &Folder) -> Result<Option<Record>, StoreError> {
    let Some(bytes) = folder.read(RECORD, MAX_BYTES)? else { return Ok(None) };
    let damaged = |why| StoreError::Damaged { path: folder.file(RECORD), why };
    let record: Record = serde_json::from_slice(&bytes).map_err(|_| damaged("is no record of a store"))?;
    match record.manifold == FORMAT {
        true => Ok(Some(record)),
        false => Err(damaged("is of a format this version does not know")),
    }
}

pub(super) fn write(folder: &Folder, record: &Record, lock: &Lock) -> Result<(), StoreError> {
    let text = serde_json::to_string(record)
        .map_err(|error| StoreError::io(folder.file(RECORD), std::io::Error::from(error)))?;
    folder.replace(RECORD, format!("{text}\n").as_bytes(), lock)
}
