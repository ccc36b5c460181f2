//! The folder in which servers are remembered: whose it is, and by which key the files in it are named. Their names are
//! made of what defines a server, secrets included: without a key, whoever sees a name could try secrets out on it.

use manifold_engine::Lock as _;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use hmac::{Hmac, KeyInit};
use nix::unistd::geteuid;
use sha2::Sha256;
use tracing::{debug, warn};

use super::prune::{is_memory, remove};

/// The file that holds the key.
const SALT: &str = "salt";
const SALT_BYTES: usize = 32;
/// How often the use of a file is noted on it.
const NOTED_EVERY: Duration = Duration::from_secs(24 * 3600);

/// A folder that is looked at when it is first needed.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    salt: Mutex<Option<[u8; SALT_BYTES]>>,
    is_refused: AtomicBool,
}

impl Folder {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, salt: Mutex::default(), is_refused: AtomicBool::new(false) }
    }

    /// Returns where a file of this name is, known by its key; none where nothing was ever written.
    pub(super) fn file(&self, name: impl FnOnce(Hmac<Sha256>) -> String) -> Option<PathBuf> {
        self.named(name, || read_salt(&self.path))
    }

    /// Returns where a file of this name is to be; none where we must not write.
    pub(super) fn file_to_write(&self, name: impl FnOnce(Hmac<Sha256>) -> String) -> Option<PathBuf> {
        // Somebody may have cleared the folder away: what is written must be found by the key that is there.
        if !self.path.join(SALT).exists() {
            *self.salt.locked() = None;
        }
        self.named(name, || {
            let salt = make_folder(&self.path).and_then(|()| match self.is_safe() {
                true => make_salt(&self.path),
                false => Err(io::ErrorKind::PermissionDenied.into()),
            });
            salt.inspect_err(|error| debug!(folder = %self.path.display(), %error, "nothing can be kept"))
        })
    }

    fn named(
        &self,
        name: impl FnOnce(Hmac<Sha256>) -> String,
        salt: impl FnOnce() -> io::Result<[u8; SALT_BYTES]>,
    ) -> Option<PathBuf> {
        if self.is_refused.load(Ordering::Relaxed) {
            return None;
        }
        let mut known = self.salt.locked();
        let salt = match *known {
            Some(salt) => salt,
            None if self.path.exists() && !self.is_safe() => return None,
            None => *known.insert(salt().ok()?),
        };
        let key = Hmac::<Sha256>::new_from_slice(&salt).ok()?;
        Some(self.path.join(format!("{}.json", name(key))))
    }

    /// Tells whether nobody else can put anything there. If somebody can, that is said once and we do without.
    fn is_safe(&self) -> bool {
        match danger(&self.path) {
            None => true,
            Some(why) => {
                if !self.is_refused.swap(true, Ordering::Relaxed) {
                    let folder = self.path.display();
                    warn!(
                        "{folder}: {why}, so what servers offer is not kept from run to run; remove it or make it yours alone"
                    );
                }
                false
            }
        }
    }
}

fn danger(folder: &Path) -> Option<&'static str> {
    let us = geteuid().as_raw();
    // A link of ours may lead elsewhere; one of somebody else's must lead us nowhere.
    let (Ok(itself), Ok(found)) = (fs::symlink_metadata(folder), fs::metadata(folder)) else { return None };
    match () {
        () if itself.uid() != us || found.uid() != us => Some("it belongs to another user"),
        () if !found.is_dir() => Some("it is no folder"),
        () if found.mode() & 0o002 != 0 => Some("everybody can write there"),
        () => None,
    }
}

fn make_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Reads the key. One that others can read is none.
fn read_salt(folder: &Path) -> io::Result<[u8; SALT_BYTES]> {
    let path = folder.join(SALT);
    let found = fs::symlink_metadata(&path)?;
    if !found.is_file() || found.uid() != geteuid().as_raw() || found.mode() & 0o077 != 0 {
        return Err(io::ErrorKind::InvalidData.into());
    }
    fs::read(&path)?.try_into().map_err(|_| io::ErrorKind::InvalidData.into())
}

/// Reads the key, or makes one. What is there under other keys nobody will ever find again.
fn make_salt(folder: &Path) -> io::Result<[u8; SALT_BYTES]> {
    match read_salt(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) if error.kind() == io::ErrorKind::InvalidData => fs::remove_file(folder.join(SALT))?,
        read => return read,
    }
    // Looked for before others can know the new key and write by it.
    let old: Vec<PathBuf> = fs::read_dir(folder)?.flatten().map(|entry| entry.path()).collect();
    let mut salt = [0; SALT_BYTES];
    getrandom::fill(&mut salt).map_err(io::Error::other)?;
    let draft = folder.join(format!("{SALT}.{}.tmp", std::process::id()));
    let _ = fs::remove_file(&draft);
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?.write_all(&salt)?;
    // The first of several who start together wins.
    let linked = fs::hard_link(&draft, folder.join(SALT));
    let settled = match &linked {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => fs::rename(&draft, folder.join(SALT)),
        _ => fs::remove_file(&draft),
    };
    settled?;
    old.iter().filter(|path| is_memory(path)).for_each(|path| remove(path));
    read_salt(folder)
}

/// Notes that a file is of use: what nobody uses is cleared away.
pub(super) fn mark_used(file: &Path, modified: Option<SystemTime>) {
    let now = SystemTime::now();
    let age = modified.and_then(|modified| now.duration_since(modified).ok());
    if age.is_some_and(|age| age > NOTED_EVERY) {
        let _ = OpenOptions::new().write(true).open(file).and_then(|file| file.set_modified(now));
    }
}
