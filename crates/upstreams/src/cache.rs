//! What is remembered of a server from one run to the next: one small file each, named after the server's definition,
//! so that a changed definition is a server never met before.

mod folder;
mod listing_key;
mod lists;
mod prune;
mod withheld;
mod writer;

use std::fs;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hmac::{Hmac, Mac};
use manifold_config::{DEFAULT_ACCOUNT, InheritEnv, ProcessDialect, Server, Transport};
use manifold_engine::{Listing, Tasks};
use manifold_protocol::{Era, Raw, RawObject};
use sha2::Sha256;
use tracing::debug;

use crate::era::Found;
use folder::{Folder, mark_used};
pub(crate) use listing_key::ListingKey;
pub use lists::Saved;
pub(crate) use lists::{read as read_listing, write as write_listing};
pub(crate) use withheld::Others;
use writer::Writer;

/// Servers change: an older verdict is not trusted.
const TRUSTED_FOR: Duration = Duration::from_secs(24 * 3600);
/// A file that says another number is not ours to read.
const FORMAT: u64 = 1;
const MAX_BYTES: u64 = 16 << 20;
/// How the file says that a server speaks both eras.
const DUAL: &str = "dual";
/// What is written at once.
const WRITE_BYTES: usize = 64 << 10;

/// A folder of memories, or none.
#[derive(Debug, Clone, Default)]
pub struct Cache {
    folder: Option<Arc<Folder>>,
    /// Where what is learnt waits to be written; without it, all is written at once.
    writer: Option<Arc<Writer>>,
}

/// Something learnt of a server.
#[derive(Debug)]
enum Change {
    Set(&'static str, Raw),
    Remove(&'static str),
    /// What it offers those it was told of, and since when.
    Listing(ListingKey, Arc<Listing>, u64),
}

impl Cache {
    /// Remembers in this folder; without one, nothing is remembered.
    pub fn new(folder: Option<PathBuf>) -> Self {
        Self { folder: folder.map(|path| Arc::new(Folder::new(path))), writer: None }
    }

    /// Writes a moment later, all that came meanwhile in one go: a client that waits for its first list does not wait for
    /// files. Each server's supervisor settles what is left of its own at the end.
    pub(crate) fn written_behind(self, tasks: &Tasks) -> Self {
        Self { writer: Some(Arc::new(Writer::new(tasks))), ..self }
    }

    /// Writes what was learnt of a server, if it has not been written yet.
    pub(crate) fn settle(&self, server: &Server) {
        if let (Some(behind), Some(file)) = (&self.writer, self.file(server)) {
            behind.settle(&file);
        }
    }

    /// Returns which era a server was found to speak, if that was found out lately.
    pub(crate) fn era(&self, server: &Server) -> Option<Era> {
        let known = self.known(server)?;
        let at = known.get("eraAt")?.u64()?;
        // A date in the future is no date: the clock was set back.
        let age = now().checked_sub(at)?;
        if Duration::from_secs(age) >= TRUSTED_FOR {
            return None;
        }
        match known.get("era")?.to_text()?.as_ref() {
            "legacy" => Some(Era::Legacy),
            "modern" | DUAL => Some(Era::Modern),
            _ => None,
        }
    }

    /// Remembers what a server was just found to speak.
    pub(crate) fn note_era(&self, server: &Server, found: impl Into<Found>) {
        let era = Raw::string(match found.into() {
            Found::Legacy => "legacy",
            Found::Modern => "modern",
            Found::Dual => DUAL,
        });
        self.change(server, [Change::Set("era", era), Change::Set("eraAt", Raw::number(now()))]);
    }

    /// Forgets which era a server spoke.
    pub(crate) fn forget_era(&self, server: &Server) {
        if self.era(server).is_none() {
            return;
        }
        self.change(server, [Change::Remove("era"), Change::Remove("eraAt")]);
    }

    /// Changes what is known of a server; members of others stay as they are.
    fn change(&self, server: &Server, changes: impl IntoIterator<Item = Change>) {
        let wanted =
            self.folder.as_ref().and_then(|folder| folder.file_to_write(|key| fingerprint(server, key)));
        let Some(file) = wanted else { return };
        let whose = Change::Set("server", Raw::string(&server.key.id));
        let changes = std::iter::once(whose).chain(changes);
        match &self.writer {
            Some(behind) => behind.add(file, changes),
            None => apply(&file, changes),
        }
    }

    /// Returns what the server's file says.
    fn known(&self, server: &Server) -> Option<RawObject> {
        self.settle(server);
        read(&self.file(server)?)
    }

    fn file(&self, server: &Server) -> Option<PathBuf> {
        self.folder.as_ref()?.file(|key| fingerprint(server, key))
    }
}

/// Writes changes into a file.
fn apply(file: &Path, changes: impl Iterator<Item = Change>) {
    let mut known = read(file).unwrap_or_else(|| {
        let mut fresh = RawObject::default();
        fresh.set("format", Raw::number(FORMAT));
        fresh
    });
    let mut offered = None;
    for change in changes {
        match change {
            Change::Set(name, value) => known.set(name, value),
            Change::Remove(name) => known.remove(name),
            Change::Listing(told, listing, at) => {
                known.remove(told.member());
                lists::make_room(&mut known);
                // Two in one go are seldom: the earlier is learnt again.
                offered = Some((told, listing, at));
            }
        }
    }
    // Lists may be long: they go into the file item by item, not by way of a text.
    let written = write(file, |out| {
        let known = known.into_raw();
        let Some((told, listing, at)) = &offered else { return out.write_all(known.as_bytes()) };
        out.write_all(known.as_bytes().strip_suffix(b"}").unwrap_or_default())?;
        write!(out, ",{}:", Raw::string(told.member()).as_str())?;
        lists::write(out, listing, *at)?;
        out.write_all(b"}")
    });
    // It costs the next start a question, no more.
    if let Err(error) = written {
        debug!(file = %file.display(), %error, "what was learnt of a server cannot be kept");
    }
}

fn read(file: &Path) -> Option<RawObject> {
    let found = fs::metadata(file).ok()?;
    if found.len() > MAX_BYTES {
        return None;
    }
    mark_used(file, found.modified().ok());
    let known = Raw::parse(fs::read(file).ok()?).ok()?.object()?;
    (known.get("format")?.u64() == Some(FORMAT)).then_some(known)
}

/// Writes a file whole or not at all, for our eyes only.
fn write(file: &Path, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let draft = file.with_extension(format!("{}-{count}.tmp", std::process::id()));
    let written = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&draft)
        .and_then(|open| {
            let mut out = BufWriter::with_capacity(WRITE_BYTES, open);
            content(&mut out)?;
            out.flush()
        })
        .and_then(|()| {
            // Some file systems (ext4) write a file that takes another's name to the disk at once, which takes up to
            // ten milliseconds while a list waits. Whoever looks in between knows the server as little as before.
            let _ = fs::remove_file(file);
            fs::rename(&draft, file)
        });
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}

pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Returns a name for a server's definition that gives none of it away.
pub(crate) fn fingerprint(server: &Server, mut hash: Hmac<Sha256>) -> String {
    // Each part with its length, so that no two definitions read the same.
    let mut add = |part: &str| {
        hash.update(&(part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    };
    match &server.transport {
        Transport::Builtin(builtin) => add(&format!("builtin {builtin:?}")),
        Transport::Process(spec) => {
            // Another name than before for LiteMCP only: what is known of all others stays.
            add(match spec.dialect {
                ProcessDialect::Mcp => "process",
                ProcessDialect::LiteMcp => "litemcp process",
            });
            add(&spec.command);
            add(&spec.args.len().to_string());
            spec.args.iter().for_each(|arg| add(arg));
            // What is known of a server holds in whichever folder its clients are.
            let cwd = spec.cwd.as_ref().filter(|_| !spec.in_client_folder);
            add(&cwd.map(|cwd| cwd.to_string_lossy().into_owned()).unwrap_or_default());
            for (name, value) in &spec.env {
                add(name);
                add(value.expose());
            }
            match &spec.inherit_env {
                InheritEnv::All | InheritEnv::Named => add("all"),
                InheritEnv::None => add("none"),
                InheritEnv::Only(names) => names.iter().for_each(|name| add(name)),
            }
        }
        Transport::Remote(spec) => {
            add("remote");
            add(&format!("{:?}", spec.kind));
            add(&spec.url);
            for (name, value) in &spec.headers {
                add(name);
                add(value.expose());
            }
            // Another name for other accounts only: what is known of all others stays.
            let account = spec.sign_in.as_deref().map_or(DEFAULT_ACCOUNT, |sign_in| &sign_in.account);
            if account != DEFAULT_ACCOUNT {
                add("account");
                add(account);
            }
        }
    }
    hash.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
