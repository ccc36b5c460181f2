//! What a login needs beside its value: one process at a time that renews it, and that a newer value is never replaced
//! by an older one.

use std::thread::sleep;
use std::time::Duration;

use super::{Entry, Store};
use crate::error::StoreError;
use crate::folder::Folder;
use crate::head;
use crate::name::{Kind, Name};
use crate::protection::MAX_FILE_BYTES;
use crate::value::Value;

/// How the names of locks begin; the name of the credential's file follows.
const LOCK: &str = ".lock-";
/// A lock holds a number at the most.
const MAX_LOCK_BYTES: usize = 64;
/// How long a lock is waited for at the most, and how often it is asked for.
const MAX_WAIT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(50);

/// Held by the one that renews a credential; the kernel lets go of it when its process dies.
#[derive(Debug)]
pub struct CredentialLock {
    _file: std::fs::File,
}

impl Store {
    /// Stores a value if the one that is there has this generation, `None` for none at all.
    pub fn set_if_generation(
        &self,
        name: &Name,
        value: &Value,
        expected: Option<u64>,
    ) -> Result<Entry, StoreError> {
        let path = || self.path().join(name.file());
        self.put(name, value, |found| match found == expected {
            true => Ok(()),
            false => Err(StoreError::OtherGeneration { path: path(), expected, found }),
        })
    }

    /// Takes the lock of a credential if nobody has it. Its file stays for good: whoever removed it could let in two.
    pub fn try_lock_credential(&self, name: &Name) -> Result<Option<CredentialLock>, StoreError> {
        let folder = Folder::make(self.path())?;
        Ok(folder.try_lock_file(&lock_file(name))?.map(|file| CredentialLock { _file: file }))
    }

    /// Waits for the lock of a credential, for a minute at the most. Not to be called where nobody may wait.
    pub fn lock_credential(&self, name: &Name) -> Result<CredentialLock, StoreError> {
        let mut waited = Duration::ZERO;
        loop {
            match self.try_lock_credential(name)? {
                Some(lock) => return Ok(lock),
                None if waited >= MAX_WAIT => {
                    return Err(StoreError::Busy { path: self.path().join(lock_file(name)) });
                }
                None => sleep(PAUSE),
            }
            waited += PAUSE;
        }
    }
}

/// Notes the generation of a login that is removed. Else a login that is made anew would count
/// from one, and pass for an older one of the same number.
pub(super) fn before_removal(folder: &Folder, name: &Name) -> Result<(), StoreError> {
    if name.kind() != Kind::OAuth {
        return Ok(());
    }
    let read = folder.read(&name.file(), MAX_FILE_BYTES).ok().flatten();
    if let Some(head) = read.and_then(|bytes| head::head(&bytes).ok()) {
        folder.write_lock_file(&lock_file(name), &head.generation.to_string())?;
    }
    Ok(())
}

/// Returns the generation a removed login had; 0 if there was none.
pub(super) fn last_generation(folder: &Folder, name: &Name) -> u64 {
    let read = folder.read(&lock_file(name), MAX_LOCK_BYTES).ok().flatten();
    let text = read.and_then(|bytes| String::from_utf8(bytes.to_vec()).ok());
    text.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

fn lock_file(name: &Name) -> String {
    format!("{LOCK}{}", name.file())
}
