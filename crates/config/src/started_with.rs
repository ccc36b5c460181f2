//! What a server would be started with for one client, told by hashes: clients for whom they are equal share a process.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher as _, RandomState};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use sha2::{Digest as _, Sha256};

use crate::client_environment::ClientEnvironment;
use crate::model::{ProcessSpec, RemoteSpec, Server, Sharing, Transport};

/// Without it nobody can try which values have a hash.
static SEED: OnceLock<[u8; 16]> = OnceLock::new();

/// What a server would be started with. It holds names and hashes, and no value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StartedWith {
    hash: u64,
    /// What the client brings: variables, `PATH`, `cwd`.
    brought: BTreeMap<String, u64>,
    /// What the definition makes of it.
    made: BTreeMap<String, u64>,
    /// What else may be behind a difference in that: what clients share though they differ there, and their folders.
    behind: BTreeMap<String, u64>,
}

/// The parts of a definition that are no variables.
const PARTS: [&str; 6] = ["builtin", "command", "args", "url", "headers", "oauth"];

impl StartedWith {
    /// Returns the hash over all of it. It holds for this process and whoever is given its seed.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// Returns in which respects two differ: the names of variables, `PATH`, `cwd`, and nothing else. Where the client
    /// brings the same, they are those of the server's own variables and what has made its command or address another.
    pub fn differs(&self, other: &Self) -> Vec<String> {
        let brought = differing(&self.brought, &other.brought);
        if !brought.is_empty() {
            return brought;
        }
        let made = differing(&self.made, &other.made);
        let (parts, own): (Vec<_>, Vec<_>) =
            made.into_iter().partition(|name| PARTS.contains(&name.as_str()));
        let mut names = BTreeSet::from_iter(own);
        names.extend(self.reasons(other, &parts));
        names.into_iter().collect()
    }

    /// Returns why parts of the definition have become different.
    fn reasons(&self, other: &Self, parts: &[String]) -> Vec<String> {
        if parts.is_empty() {
            return Vec::new();
        }
        let is_command = parts.iter().any(|part| part == "command");
        let behind = differing(&self.behind, &other.behind);
        let (folder, mut reasons): (Vec<_>, Vec<_>) = behind.into_iter().partition(|name| name == "cwd");
        reasons.retain(|name| name != "PATH" || is_command);
        if !reasons.is_empty() {
            return reasons;
        }
        // With all of it the same, another program has come to lie on the path.
        if folder.is_empty() && is_command { vec!["PATH".to_owned()] } else { folder }
    }
}

/// Returns what this server, resolved for this client, would be started with.
pub fn started_with(server: &Server, client: &ClientEnvironment) -> StartedWith {
    let mut parts = Parts::default();
    for name in &server.variables {
        parts.bring(name, client.values.get(name).map(String::as_str));
    }
    parts.behind.insert("cwd".to_owned(), hash([client.cwd.as_os_str().as_encoded_bytes()]));
    match &server.transport {
        Transport::Builtin(builtin) => parts.make("builtin", [format!("{builtin:?}").as_str()]),
        Transport::Process(spec) => process(spec, server.shared, client, &mut parts),
        Transport::Remote(spec) => remote(spec, server.shared, client, &mut parts),
    }
    parts.finish(&server.share_across)
}

/// Returns the seed of all hashes, for a process that goes on with what this one has.
pub fn hash_seed() -> [u8; 16] {
    *SEED.get_or_init(|| {
        // The keys of the standard library's maps come from the system.
        let word = || RandomState::new().hash_one(0_u8).to_le_bytes();
        let mut seed = [0; 16];
        seed[..8].copy_from_slice(&word());
        seed[8..].copy_from_slice(&word());
        seed
    })
}

/// Takes over the seed of the process before this one. Returns whether it is in force: it must come before any hash.
pub fn restore_hash_seed(seed: [u8; 16]) -> bool {
    *SEED.get_or_init(|| seed) == seed
}

fn process(spec: &ProcessSpec, shared: Sharing, client: &ClientEnvironment, parts: &mut Parts) {
    let environment = spec.environment.as_ref().unwrap_or(&spec.env);
    let path = environment.get("PATH").map(|path| path.expose());
    parts.bring("PATH", path);
    let folder = match shared {
        _ if !spec.in_client_folder => spec.cwd.as_deref(),
        Sharing::Everybody => None,
        Sharing::PerProject => Some(client.project.as_path()),
        Sharing::Default | Sharing::PerClient => Some(client.cwd.as_path()),
    };
    parts.bring_folder(folder);
    let program = found(spec, path, &client.cwd);
    parts.make("command", [&*program.to_string_lossy(), &format!("{:?}", spec.dialect)]);
    parts.make("args", spec.args.iter().map(String::as_str));
    for (name, value) in spec.env.iter().filter(|(name, _)| *name != "PATH") {
        parts.make(name, [value.expose()]);
    }
}

fn remote(spec: &RemoteSpec, shared: Sharing, client: &ClientEnvironment, parts: &mut Parts) {
    if shared == Sharing::PerProject {
        parts.bring_folder(Some(&client.project));
    }
    parts.make("url", [spec.url.as_str(), &format!("{:?}", spec.kind)]);
    let headers = spec.headers.iter().flat_map(|(name, value)| [name.as_str(), value.expose()]);
    parts.make("headers", headers);
    let sign_in = spec.sign_in.as_deref();
    let secrets = sign_in.into_iter().flat_map(|one| [&one.client_secret, &one.private_key]);
    let secrets: Vec<&str> = secrets.flatten().map(|secret| secret.expose()).collect();
    // As it is shown all of it is there but the secrets.
    parts.make("oauth", [format!("{sign_in:?}").as_str()].into_iter().chain(secrets));
}

/// Returns the program that would be started, as written where there is none.
fn found(spec: &ProcessSpec, path: Option<&str>, cwd: &Path) -> PathBuf {
    let folder = cwd.join(spec.cwd.as_deref().unwrap_or(Path::new("")));
    which::which_in(&spec.command, path, folder).unwrap_or_else(|_| PathBuf::from(&spec.command))
}

#[derive(Default)]
struct Parts {
    brought: BTreeMap<String, u64>,
    made: BTreeMap<String, u64>,
    behind: BTreeMap<String, u64>,
}

impl Parts {
    fn bring(&mut self, name: &str, value: Option<&str>) {
        self.brought.insert(name.to_owned(), hash(value));
    }

    fn bring_folder(&mut self, folder: Option<&Path>) {
        if let Some(folder) = folder {
            self.brought.insert("cwd".to_owned(), hash([folder.as_os_str().as_encoded_bytes()]));
        }
    }

    fn make<'v>(&mut self, name: &str, values: impl IntoIterator<Item = &'v str>) {
        self.made.insert(name.to_owned(), hash(values));
    }

    /// Puts it all together but for what clients share whatever they have there.
    fn finish(mut self, share_across: &[String]) -> StartedWith {
        for name in share_across {
            if let Some((name, hash)) = self.brought.remove_entry(name) {
                self.behind.insert(name, hash);
            }
            self.made.remove(name);
        }
        let mut hasher = seeded();
        for (kind, parts) in [(b"b", &self.brought), (b"m", &self.made)] {
            for (name, hash) in parts {
                hasher.update(kind);
                add(&mut hasher, name.as_bytes());
                hasher.update(hash.to_le_bytes());
            }
        }
        StartedWith { hash: first(hasher), brought: self.brought, made: self.made, behind: self.behind }
    }
}

fn differing(one: &BTreeMap<String, u64>, other: &BTreeMap<String, u64>) -> Vec<String> {
    let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    names.into_iter().filter(|name| one.get(*name) != other.get(*name)).cloned().collect()
}

fn hash<V: AsRef<[u8]>>(values: impl IntoIterator<Item = V>) -> u64 {
    let mut hasher = seeded();
    values.into_iter().for_each(|value| add(&mut hasher, value.as_ref()));
    first(hasher)
}

fn seeded() -> Sha256 {
    Sha256::new_with_prefix(hash_seed())
}

/// Each part with its length, so that no two read the same.
fn add(hasher: &mut Sha256, part: &[u8]) {
    hasher.update((part.len() as u64).to_le_bytes());
    hasher.update(part);
}

fn first(hasher: Sha256) -> u64 {
    let digest = hasher.finalize();
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&digest[..8]);
    u64::from_le_bytes(bytes)
}
