//! The keyring of a desktop, by D-Bus: the Secret Service of GNOME Keyring, KWallet and others.
//!
//! It is asked on a thread of its own and given up on after a while, so a service that hangs keeps nobody waiting for
//! longer. It is never asked to unlock anything: a gateway has nobody to show a prompt to.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use secret_service::{EncryptionType, Error, SecretService as Service};
use zeroize::Zeroizing;

use super::{Key, Keyring, KeyringError};

const LIMIT: Duration = Duration::from_secs(3);
const LABEL: &str = "Manifold: key of stored credentials";
/// What a service calls the collection that is gone with the session.
const VOLATILE: &str = "/org/freedesktop/secrets/collection/session";

const IS_LOCKED: &str = "org.freedesktop.Secret.Error.IsLocked";
/// What a bus says of a service that is neither there nor can be started.
const NOT_THERE: [&str; 5] = [
    "org.freedesktop.DBus.Error.ServiceUnknown",
    "org.freedesktop.DBus.Error.NameHasNoOwner",
    "org.freedesktop.DBus.Error.Spawn.ServiceNotFound",
    "org.freedesktop.DBus.Error.Spawn.ExecFailed",
    "org.freedesktop.DBus.Error.Spawn.ChildExited",
];

pub(super) struct SecretService {
    /// The address of the session's bus, if there is one.
    address: Option<String>,
    limit: Duration,
}

impl SecretService {
    pub(super) fn of(variables: &BTreeMap<String, String>) -> Self {
        Self { address: address(variables), limit: LIMIT }
    }

    /// Runs something on a thread of its own, and waits for it within the limit.
    fn ask<T, F>(
        &self,
        question: impl FnOnce(Service<'static>) -> F + Send + 'static,
    ) -> Result<T, KeyringError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, KeyringError>>,
    {
        let Some(address) = self.address.clone() else {
            return Err(KeyringError::Absent("there is no session bus".to_owned()));
        };
        let (answer, answered) = sync_channel(1);
        let broken = |error: std::io::Error| KeyringError::Failed(error.to_string());
        let thread = std::thread::Builder::new().name("keyring".to_owned()).spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let talk = async { question(connected(&address).await?).await };
            // Nobody waits any longer if it is too late.
            let _ = answer.send(runtime.map_err(broken).and_then(|runtime| runtime.block_on(talk)));
        });
        thread.map_err(broken)?;
        answered.recv_timeout(self.limit).unwrap_or(Err(KeyringError::Silent(self.limit.as_secs())))
    }
}

impl Keyring for SecretService {
    fn find(&self, fingerprint: &str) -> Result<Option<Key>, KeyringError> {
        let fingerprint = fingerprint.to_owned();
        self.ask(move |service| async move {
            let found = service.search_items(attributes(&fingerprint)).await.map_err(failed)?;
            let Some(item) = found.unlocked.first() else {
                if !found.locked.is_empty() {
                    return Err(KeyringError::Locked);
                }
                // That there is none is known only if the place that lasts could be looked at.
                return lasting(&service).await.map(|_| None);
            };
            let secret = Zeroizing::new(item.get_secret().await.map_err(failed)?);
            let text = std::str::from_utf8(&secret).ok().and_then(|text| Key::from_text(text).ok());
            text.map(Some).ok_or_else(|| KeyringError::Failed("what it has is no key".to_owned()))
        })
    }

    fn keep(&self, fingerprint: &str, key: &Key) -> Result<(), KeyringError> {
        let (fingerprint, text) = (fingerprint.to_owned(), key.to_text());
        self.ask(move |service| async move {
            let path = lasting(&service).await?;
            let collection = service.get_collection_by_path(path).await.map_err(failed)?;
            let attributes = attributes(&fingerprint);
            // As text: some keyrings keep nothing else.
            let made = collection.create_item(LABEL, attributes, text.as_bytes(), true, "text/plain").await;
            made.map(drop).map_err(failed)
        })
    }

    fn forget(&self, fingerprint: &str) -> Result<(), KeyringError> {
        let fingerprint = fingerprint.to_owned();
        self.ask(move |service| async move {
            let found = service.search_items(attributes(&fingerprint)).await.map_err(failed)?;
            for item in found.unlocked {
                item.delete().await.map_err(failed)?;
            }
            Ok(())
        })
    }
}

/// Returns the address of the session's bus: the one that is named, else the one a login has made.
fn address(variables: &BTreeMap<String, String>) -> Option<String> {
    let set = |name: &str| variables.get(name).filter(|value| !value.is_empty());
    if let Some(address) = set("DBUS_SESSION_BUS_ADDRESS") {
        return Some(address.clone());
    }
    let path = Path::new(set("XDG_RUNTIME_DIR")?).join("bus");
    let text = path.to_str().filter(|_| path.exists())?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_/.*".contains(&byte);
    let escaped = text.bytes().map(|byte| match is_plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02x}"),
    });
    Some(format!("unix:path={}", escaped.collect::<String>()))
}

async fn connected(address: &str) -> Result<Service<'static>, KeyringError> {
    let absent = |error: zbus::Error| KeyringError::Absent(error.to_string());
    let connection =
        zbus::connection::Builder::address(address).map_err(absent)?.build().await.map_err(absent)?;
    Service::connect_with_existing(EncryptionType::Dh, connection).await.map_err(failed)
}

/// Returns where keys are kept that outlive the session.
async fn lasting(service: &Service<'_>) -> Result<zbus::zvariant::OwnedObjectPath, KeyringError> {
    let collection = match service.get_default_collection().await {
        Ok(collection) => collection,
        Err(Error::NoResult) => return Err(KeyringError::Volatile),
        Err(error) => return Err(failed(error)),
    };
    if collection.collection_path.as_str() == VOLATILE {
        return Err(KeyringError::Volatile);
    }
    match collection.is_locked().await.map_err(failed)? {
        true => Err(KeyringError::Locked),
        false => Ok(collection.collection_path.clone()),
    }
}

fn attributes(fingerprint: &str) -> HashMap<&str, &str> {
    HashMap::from([("application", "manifold"), ("fingerprint", fingerprint)])
}

/// Tells a service that is not there from one that fails.
fn failed(error: Error) -> KeyringError {
    let absent = || KeyringError::Absent("no program on the session bus has one".to_owned());
    match &error {
        Error::Locked => KeyringError::Locked,
        Error::Unavailable => absent(),
        Error::ZbusFdo(zbus::fdo::Error::ServiceUnknown(_) | zbus::fdo::Error::NameHasNoOwner(_)) => absent(),
        Error::Zbus(zbus::Error::MethodError(name, ..)) if NOT_THERE.contains(&name.as_str()) => absent(),
        Error::Zbus(zbus::Error::MethodError(name, ..)) if name.as_str() == IS_LOCKED => KeyringError::Locked,
        _ => KeyringError::Failed(error.to_string()),
    }
}
