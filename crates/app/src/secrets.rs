//! The user's stored secrets, as configs ask for them.

use manifold_config::{Environment, Secret, SecretSource, Secrets};
use manifold_credentials::{Name, Store, choose_key};

/// The variable that names the file with the key, as `--key-file` does.
pub(crate) const KEY_FILE: &str = "MANIFOLD_KEY_FILE";

/// Returns the store of this user; none where nobody is at home.
pub(crate) fn store(environment: &Environment) -> Option<Store> {
    let data_home = environment.data_home()?;
    let key = choose_key(&environment.vars, &data_home);
    Some(Store::open(&data_home, key))
}

/// Returns what `${secret:NAME}` stands for. Nothing is opened before a config asks.
pub(crate) fn of(environment: &Environment) -> Secrets {
    store(environment).map_or_else(Secrets::default, |store| Secrets::of(Stored(store)))
}

struct Stored(Store);

impl SecretSource for Stored {
    fn secret(&self, name: &str) -> Result<Option<Secret>, String> {
        // What cannot be stored is not there.
        let Ok(name) = Name::secret(name) else { return Ok(None) };
        let Some(value) = self.0.get(&name).map_err(|error| error.to_string())? else { return Ok(None) };
        let text = value.expose_text().ok_or_else(|| format!("the value of `{name}` is not text"))?;
        Ok(Some(Secret::new(text)))
    }
}
