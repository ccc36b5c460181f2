//! The user's stored secrets, as configs ask for them.

use std::time::UNIX_EPOCH;

use manifold_config::{Environment, Secret, SecretSource, Secrets};
use manifold_credentials::{Entry, KeyKind, KeyringError, Keys, Name, Store};

/// The variable that names the file with the key, as `--key-file` does.
pub(crate) const KEY_FILE: &str = "MANIFOLD_KEY_FILE";

/// Returns the store of this user; none where nobody is at home.
pub(crate) fn store(environment: &Environment) -> Option<Store> {
    let data_home = environment.data_home()?;
    let keys = Keys::of(&environment.vars, &data_home);
    Some(Store::open(&data_home, keys))
}

/// Returns what `${secret:NAME}` stands for. Nothing is opened before a config asks.
pub(crate) fn of(environment: &Environment) -> Secrets {
    store(environment).map_or_else(Secrets::default, |store| Secrets::of(Stored(store)))
}

/// Returns what tells a stored value from what else may be stored under its name, without a word of the value.
pub(crate) fn mark(entry: &Entry) -> String {
    let since = entry.changed.and_then(|changed| changed.duration_since(UNIX_EPOCH).ok());
    format!("{}@{}", entry.generation, since.unwrap_or_default().as_nanos())
}

/// The command that mends a store without a key of worth.
pub(crate) const MENDING: &str = "manifold secret rekey";

/// Returns what is to be said, once, of a store without a key of worth; none for one that has such a key.
pub(crate) fn weakness(kind: KeyKind, why: Option<&KeyringError>) -> Option<String> {
    let what = match kind {
        KeyKind::Plain => "values are stored in clear, in files that only you can read",
        KeyKind::Beside => {
            "the key lies beside the sealed files, so it protects against little: whoever can read your files can \
             read both"
        }
        _ => return None,
    };
    let why = why.map(|why| format!(": {why}, and no key is given")).unwrap_or_default();
    Some(format!(
        "{what}{why}; `{MENDING}` seals them with a key of the keyring, `{MENDING} --new-key-file FILE` with your own"
    ))
}

struct Stored(Store);

impl SecretSource for Stored {
    fn secret(&self, name: &str) -> Result<Option<Secret>, String> {
        // What cannot be stored is not there.
        let Ok(name) = Name::secret(name) else { return Ok(None) };
        let Some(value) = self.0.get(&name).map_err(|error| error.to_string())? else { return Ok(None) };
        let text = value.expose_text().ok_or_else(|| format!("the value of '{name}' is not text"))?;
        Ok(Some(Secret::new(text)))
    }
}
