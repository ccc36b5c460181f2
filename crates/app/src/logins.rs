//! The logins of this user, as the OAuth client has them kept: one file each in the store of credentials.

#[cfg(test)]
mod tests;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use manifold_config::Environment;
use manifold_credentials::{self as credentials, Kind, Name, Prepared, Store, Value};
use manifold_oauth::{BoxFuture, Credential, CredentialKey, CredentialStore, StoreError, StoreLock, Url};

/// How often a lock that another holds is asked for, and how many times: a minute in all.
const PAUSE: Duration = Duration::from_millis(50);
const TRIES: usize = 1200;

/// Where logins are kept.
pub(crate) struct Stored {
    pub(crate) store: Arc<dyn CredentialStore>,
    /// What the store is kept with (`keyring`, `file`, `variable`, `systemd`, `beside` or `plain`); empty before the
    /// first value decides it.
    pub(crate) kind: String,
}

/// Returns the folder in which logins come and go.
pub(crate) fn folder(environment: &Environment) -> Option<PathBuf> {
    crate::secrets::store(environment).map(|store| store.path().to_owned())
}

/// Returns the store of this user; none where nobody is at home.
pub(crate) fn store(environment: &Environment) -> Option<Stored> {
    let store = crate::secrets::store(environment)?;
    let kind = store.kind().ok().flatten().map(|kind| kind.word().to_owned()).unwrap_or_default();
    Some(Stored { store: Arc::new(Logins(Arc::new(store))), kind })
}

/// Makes the store if need be, and sees to it that a login can be kept: before anybody is sent to sign in.
pub(crate) fn prepare(environment: &Environment) -> Result<Prepared, String> {
    let store = crate::secrets::store(environment).ok_or("there is no home directory to keep logins in")?;
    store.prepare().map_err(|error| error.to_string())
}

/// Whose login it is, as people name it.
pub(crate) struct Whose {
    /// The server's id, or the name by which several share it.
    pub(crate) server: String,
    pub(crate) account: String,
    /// The host of who gave it, where it can be read.
    pub(crate) issuer: Option<String>,
}

/// Tells whose login is stored under a name; none where it is no name of ours.
pub(crate) fn whose(store: &Store, name: &Name) -> Option<Whose> {
    let key: CredentialKey = serde_json::from_str(name.as_str()).ok()?;
    let stored = load(store, name).ok().flatten();
    let issuer = stored.and_then(|(_, credential)| Some(Url::parse(&credential.issuer).ok()?.authority()));
    let server = key.server.strip_prefix('=').unwrap_or(&key.server).to_owned();
    Some(Whose { server, account: key.account, issuer })
}

/// Files are read and written on threads that may wait.
struct Logins(Arc<Store>);

impl Logins {
    async fn blocking<T: Send + 'static>(
        &self,
        failed: fn(String) -> StoreError,
        work: impl FnOnce(&Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let store = Arc::clone(&self.0);
        let done = tokio::task::spawn_blocking(move || work(&store)).await;
        done.unwrap_or_else(|error| Err(failed(error.to_string())))
    }
}

impl CredentialStore for Logins {
    fn prepare(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        // The key is read here and kept: a keyring that dies while somebody signs in costs no login.
        Box::pin(self.blocking(StoreError::Unwritable, |store| store.prepare().map(drop).map_err(unwritable)))
    }

    fn lock<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, Result<StoreLock, StoreError>> {
        Box::pin(async move {
            for _ in 0..TRIES {
                let name = name(key)?;
                let taken = self.blocking(StoreError::Unwritable, move |store| {
                    store.try_lock_credential(&name).map_err(unwritable)
                });
                match taken.await? {
                    Some(held) => return Ok(StoreLock::new(key.clone(), held)),
                    None => tokio::time::sleep(PAUSE).await,
                }
            }
            Err(StoreError::Busy)
        })
    }

    fn load<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, Result<Option<Credential>, StoreError>> {
        Box::pin(async move {
            let name = name(key)?;
            let loaded = self.blocking(StoreError::Unreadable, move |store| load(store, &name));
            Ok(loaded.await?.map(|(_, credential)| credential))
        })
    }

    fn save<'a>(
        &'a self,
        _lock: &'a StoreLock,
        credential: &'a Credential,
        expected: Option<u64>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let (name, value) = (name(&credential.key)?, written(credential)?);
            self.blocking(StoreError::Unwritable, move |store| save(store, &name, &value, expected)).await
        })
    }

    fn remove<'a>(&'a self, lock: &'a StoreLock) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move {
            let name = name(lock.key())?;
            self.blocking(StoreError::Unwritable, move |store| store.remove(&name).map_err(unwritable)).await
        })
    }

    fn keys(&self) -> BoxFuture<'_, Result<Vec<CredentialKey>, StoreError>> {
        Box::pin(self.blocking(StoreError::Unreadable, |store| {
            let listed = store.list(Kind::OAuth).map_err(unreadable)?;
            // One that is broken does not hide the others; who asks for it is told.
            let names = listed.into_iter().filter_map(|listed| Some(listed.entry.ok()?.name));
            Ok(names.filter_map(|name| serde_json::from_str(name.as_str()).ok()).collect())
        }))
    }
}

fn load(store: &Store, name: &Name) -> Result<Option<(u64, Credential)>, StoreError> {
    let Some((entry, value)) = store.load(name).map_err(unreadable)? else { return Ok(None) };
    // The reason has no value in it: what the parser says may quote the text.
    let read: Credential = serde_json::from_slice(value.expose()).map_err(|_| {
        StoreError::Unreadable(format!("what is stored for {name} is no login of this version"))
    })?;
    Ok(Some((entry.generation, read)))
}

/// The store counts every change, the OAuth client only those of tokens: both must be as they were when it was read.
fn save(store: &Store, name: &Name, value: &Value, expected: Option<u64>) -> Result<(), StoreError> {
    let present = load(store, name)?;
    let found = present.as_ref().map(|(_, credential)| credential.generation);
    if found != expected {
        return Err(StoreError::Conflict { found });
    }
    match store.set_if_generation(name, value, present.map(|(generation, _)| generation)) {
        Ok(_) => Ok(()),
        Err(credentials::StoreError::OtherGeneration { .. }) => {
            let found = load(store, name)?.map(|(_, credential)| credential.generation);
            Err(StoreError::Conflict { found })
        }
        Err(error) => Err(unwritable(error)),
    }
}

/// Returns the name of a login, from which its key can be read again.
fn name(key: &CredentialKey) -> Result<Name, StoreError> {
    let text = serde_json::to_string(key).map_err(|error| StoreError::Unwritable(error.to_string()))?;
    Name::oauth(&text).map_err(|_| StoreError::Unwritable(format!("the name of {key} is too long")))
}

fn written(credential: &Credential) -> Result<Value, StoreError> {
    let failed = |error: serde_json::Error| StoreError::Unwritable(error.to_string());
    // All room beforehand: a move would leave a copy of the tokens behind.
    let mut count = Count(0);
    serde_json::to_writer(&mut count, credential).map_err(failed)?;
    let mut bytes = Vec::with_capacity(count.0);
    serde_json::to_writer(&mut bytes, credential).map_err(failed)?;
    Ok(Value::new(bytes))
}

/// Counts what is written to it.
struct Count(usize);

impl io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn unreadable(error: credentials::StoreError) -> StoreError {
    StoreError::Unreadable(error.to_string())
}

fn unwritable(error: credentials::StoreError) -> StoreError {
    StoreError::Unwritable(error.to_string())
}
