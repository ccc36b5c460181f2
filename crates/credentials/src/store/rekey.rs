//! Another key for the whole store. Every file is written anew beside the one it replaces; then the record names the new
//! key, which is the one moment of the change; then the new files take their places. Whenever a crash comes, the
//! record names the key that opens everything, and the next change brings the rest to its end.

use super::record::{self, Former, RECORD, Record};
use super::{Store, entry, holds_any, is_wanted, unread};
use crate::error::StoreError;
use crate::folder::{Folder, Lock};
use crate::key::{Chosen, Given, KeyError, KeyKind};
use crate::protection::{MAX_FILE_BYTES, Protection};

/// How the names of new files begin until they take their places.
const STAGED: &str = ".next-";

/// What a store is to be kept with from now on.
#[derive(Debug)]
pub enum NewKey {
    /// A new key in the keyring.
    Keyring,
    /// A key that somebody gives.
    Given(Given),
    /// None: the values are in clear.
    Plain,
}

/// What became of a store that got another key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rekeyed {
    pub from: KeyKind,
    pub to: KeyKind,
    /// How many files were written anew.
    pub files: usize,
}

impl Store {
    /// Gives the store another key. Names, values and generations stay; nobody who reads meanwhile sees any of it.
    pub fn rekey(&self, new: NewKey) -> Result<Option<Rekeyed>, StoreError> {
        let Some(folder) = Folder::open(self.path())? else { return Ok(None) };
        let lock = self.lock(&folder)?;
        if !holds_any(&folder)? {
            return Ok(None);
        }
        let record =
            record::read(&folder)?.ok_or_else(|| StoreError::NoRecord { path: folder.file(RECORD) })?;
        let old = self.present_key(&folder, &record)?;
        // Whatever cannot be opened stops us before anything is made.
        let opened = each(&folder, |file, bytes, path| {
            let (head, value) = old.decode(bytes).map_err(|why| unread(path, why))?;
            entry(&folder, file, head.clone())?;
            Ok((head, value))
        })?;
        let chosen = self.chosen(new)?;
        let mut next = Record::of(&chosen);
        if next == record {
            return Ok(Some(Rekeyed { from: record.key, to: record.key, files: 0 }));
        }
        for (file, (head, value)) in &opened {
            let bytes =
                chosen.protection.encode(head, value).map_err(|why| unread(folder.file(file), why))?;
            folder.replace(&staged(file), &bytes, &lock)?;
        }
        next.replaces = Some(Former { key: record.key, fingerprint: record.fingerprint });
        record::write(&folder, &next, &lock)?;
        self.finish_rekey(&folder, &lock)?;
        Ok(Some(Rekeyed { from: record.key, to: chosen.kind, files: opened.len() }))
    }

    /// Puts new files in their places if the record says that they count, else clears them away.
    pub(super) fn finish_rekey(&self, folder: &Folder, lock: &Lock) -> Result<(), StoreError> {
        let staged: Vec<String> =
            folder.names()?.into_iter().filter(|name| name.starts_with(STAGED)).collect();
        // A record that cannot be read is told of by whoever needs the key.
        let Ok(Some(record)) = record::read(folder) else { return Ok(()) };
        let Some(former) = &record.replaces else {
            return staged.iter().try_for_each(|name| folder.remove(name, lock).map(drop));
        };
        for name in &staged {
            folder.put_in_place(name, &name[STAGED.len()..], lock)?;
        }
        self.keys.forget(former.key, &former.fingerprint);
        record::write(folder, &Record { replaces: None, ..record }, lock)
    }

    /// Returns what the store is kept with now. A key that is given is the new one where the store has one of its own.
    fn present_key(&self, folder: &Folder, record: &Record) -> Result<Protection, StoreError> {
        match self.key_by(folder, Some(record.clone())) {
            Err(StoreError::OtherKey { .. })
                if matches!(record.key, KeyKind::Keyring | KeyKind::Beside | KeyKind::Plain) =>
            {
                Ok(self.keys.own(record.key, &record.fingerprint)?.protection)
            }
            other => other,
        }
    }

    fn chosen(&self, new: NewKey) -> Result<Chosen, StoreError> {
        Ok(match new {
            NewKey::Keyring => {
                let key = self.keys.make().map_err(KeyError::NoKeyring)?;
                Chosen::sealed(KeyKind::Keyring, key)
            }
            NewKey::Given(given) => Chosen::given(&given)?,
            NewKey::Plain => Chosen { kind: KeyKind::Plain, protection: Protection::Plain, why_plain: None },
        })
    }
}

/// Reads every credential's file.
pub(super) fn each<T>(
    folder: &Folder,
    read: impl Fn(&str, &[u8], std::path::PathBuf) -> Result<T, StoreError>,
) -> Result<Vec<(String, T)>, StoreError> {
    let mut found = Vec::new();
    for file in folder.names()?.into_iter().filter(|file| is_wanted(file, None)) {
        if let Some(bytes) = folder.read(&file, MAX_FILE_BYTES)? {
            let path = folder.file(&file);
            found.push((file.clone(), read(&file, &bytes, path)?));
        }
    }
    Ok(found)
}

/// Returns where the new bytes of a file stand until they take its place.
pub(super) fn staged(file: &str) -> String {
    format!("{STAGED}{file}")
}
