//! The tokens that `manifold token create` made: their hashes, and what each may use, in one file per config.
//!
//! They are not in the config: that may be shared, read-only, or broken just when a token must be revoked, and gateways
//! that do not watch it must hear of a revocation as well.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jiff::Timestamp;
use manifold_config::{Grant, LoadOptions, NamedToken, TokenDigest, TokenOrigin, config_path};
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::unistd::getuid;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// What every token of ours begins with, so that those who look for leaked ones find it.
pub(crate) const PREFIX: &str = "mfd_";
const VERSION: u32 = 1;
/// A file with more than this is none of ours.
const MAX_BYTES: u64 = 8 << 20;
/// Nobody else may read or write.
const OTHERS: u32 = 0o077;
/// Nor may anybody else write into the folder.
const OTHERS_WRITE: u32 = 0o022;

/// Where the tokens of one config are.
#[derive(Debug, Clone)]
pub(crate) struct TokenFile {
    path: PathBuf,
    config: Option<String>,
}

/// A token as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StoredToken {
    pub(crate) name: String,
    /// The SHA-256 of the token, in hexadecimal digits.
    hash: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) namespaces: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tools: Option<Vec<String>>,
    pub(crate) created: Moment,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires: Option<Moment>,
}

/// A date and time of day, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(crate) struct Moment(pub(crate) Timestamp);

impl From<Moment> for String {
    fn from(moment: Moment) -> Self {
        moment.0.to_string()
    }
}

impl TryFrom<String> for Moment {
    type Error = jiff::Error;

    fn try_from(text: String) -> Result<Self, jiff::Error> {
        text.parse().map(Self)
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    version: u32,
    /// The config they are for, so that people can tell files apart.
    config: Option<String>,
    tokens: Vec<StoredToken>,
}

impl StoredToken {
    pub(crate) fn new(name: &str, token: &str, grant: Grant, expires: Option<Timestamp>) -> Self {
        Self {
            name: name.to_owned(),
            hash: TokenDigest::of(token).to_hex(),
            namespaces: grant.namespaces,
            tools: grant.tools,
            created: Moment(Timestamp::now()),
            expires: expires.map(Moment),
        }
    }

    pub(crate) fn is_expired(&self) -> bool {
        self.expires.as_ref().is_some_and(|expires| expires.0 <= Timestamp::now())
    }

    /// Returns it as one of those that let in; `None` if its hash is none.
    fn named(&self) -> Option<NamedToken> {
        Some(NamedToken {
            name: self.name.clone(),
            digest: TokenDigest::from_hex(&self.hash)?,
            origin: TokenOrigin::Hash,
            grant: Grant { namespaces: self.namespaces.clone(), tools: self.tools.clone() },
            expires: self.expires.as_ref().map(|expires| SystemTime::from(expires.0)),
        })
    }
}

impl TokenFile {
    /// Returns where the tokens of a config are kept; none where nobody is at home.
    pub(crate) fn of(options: &LoadOptions) -> Option<Self> {
        let environment = &options.environment;
        let folder = environment.data_home()?.join("manifold/tokens");
        let config = config_path(options).map(|path| environment.cwd.join(path));
        // By its real place: two ways to one config lead to the same tokens.
        let config = config.map(|path| std::fs::canonicalize(&path).unwrap_or(path));
        let config = config.map(|path| path.display().to_string());
        let digest = Sha256::digest(config.as_deref().unwrap_or_default().as_bytes());
        let name: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        Some(Self { path: folder.join(format!("{name}.json")), config })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the folder, which need not be there yet, for whoever wants to watch it.
    pub(crate) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }

    /// Returns the tokens. A file that others could have written says nothing.
    pub(crate) fn read(&self) -> Result<Vec<StoredToken>, String> {
        let wrong = |why: String| format!("{}: {why}", self.path.display());
        let file = match open_no_link(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) if error.raw_os_error() == Some(Errno::ELOOP as i32) => {
                return Err(wrong("is no file of yours; remove it".to_owned()));
            }
            file => file.map_err(|error| wrong(error.to_string()))?,
        };
        self.judge_folder()?;
        // What is judged is what is read, whatever has taken its name meanwhile.
        let about = file.metadata().map_err(|error| wrong(error.to_string()))?;
        if !about.is_file() || about.uid() != getuid().as_raw() {
            return Err(wrong("is no file of yours; remove it".to_owned()));
        }
        let mode = about.permissions().mode() & 0o7777;
        if mode & OTHERS != 0 {
            return Err(wrong(format!("has mode {mode:o}; close it with `chmod 600`")));
        }
        if about.len() > MAX_BYTES {
            return Err(wrong("is too large".to_owned()));
        }
        let mut text = String::new();
        let read = (&file).take(MAX_BYTES).read_to_string(&mut text);
        read.map_err(|error| wrong(error.to_string()))?;
        let kept: Kept =
            serde_json::from_str(&text).map_err(|error| wrong(format!("cannot be read: {error}")))?;
        if kept.version != VERSION {
            return Err(wrong(format!("is of version {}, which is not known here", kept.version)));
        }
        Ok(kept.tokens)
    }

    /// Whoever may write into the folder may put another file in its place.
    fn judge_folder(&self) -> Result<(), String> {
        let wrong = |why: String| format!("{}: {why}", self.folder().display());
        let about = std::fs::symlink_metadata(self.folder()).map_err(|error| wrong(error.to_string()))?;
        if !about.is_dir() || about.uid() != getuid().as_raw() {
            return Err(wrong("is no folder of yours; remove it".to_owned()));
        }
        let mode = about.permissions().mode() & 0o7777;
        match mode & OTHERS_WRITE {
            0 => Ok(()),
            _ => Err(wrong(format!("has mode {mode:o}; close it with `chmod 700`"))),
        }
    }

    /// Returns the tokens as those that let in.
    pub(crate) fn named(&self) -> Result<Vec<NamedToken>, String> {
        let tokens = self.read()?;
        let named: Vec<NamedToken> = tokens.iter().filter_map(StoredToken::named).collect();
        match named.len() == tokens.len() {
            true => Ok(named),
            false => Err(format!("{}: a hash in it is none", self.path.display())),
        }
    }

    /// Changes the tokens, one process after another; what is returned by `change` is what came of it.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Vec<StoredToken>) -> T) -> Result<T, String> {
        let wrong = |error: io::Error| format!("{}: {error}", self.path.display());
        let folder = self.folder();
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(wrong)?;
        let lock = private(&folder.join("lock"), false).map_err(wrong)?;
        lock.lock().map_err(wrong)?;
        let mut tokens = self.read()?;
        let before = tokens.clone();
        let done = change(&mut tokens);
        if tokens != before {
            self.write(tokens).map_err(wrong)?;
        }
        Ok(done)
    }

    fn write(&self, tokens: Vec<StoredToken>) -> io::Result<()> {
        let kept = Kept { version: VERSION, config: self.config.clone(), tokens };
        let text = serde_json::to_string_pretty(&kept)?;
        let fresh = self.path.with_extension(format!("{}.new", std::process::id()));
        let written = || -> io::Result<()> {
            let mut file = private(&fresh, true)?;
            file.write_all(text.as_bytes())?;
            file.write_all(b"\n")?;
            file.sync_all()?;
            std::fs::rename(&fresh, &self.path)?;
            File::open(self.folder())?.sync_all()
        };
        written().inspect_err(|_| drop(std::fs::remove_file(&fresh)))
    }
}

fn private(path: &Path, is_new: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(is_new).mode(0o600);
    options.custom_flags(OFlag::O_NOFOLLOW.bits()).open(path)
}

/// Opens a file, and nothing that only leads to one or that waits for somebody to write.
fn open_no_link(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits()).open(path)
}

/// Makes a token of 256 random bits.
pub(crate) fn random() -> Result<String, String> {
    use base64::Engine as _;
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| format!("the system has no randomness to give: {error}"))?;
    Ok(format!("{PREFIX}{}", base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(folder: &Path) -> TokenFile {
        TokenFile { path: folder.join("tokens/x.json"), config: Some("/c.json".to_owned()) }
    }

    #[test]
    fn only_hashes_are_kept_and_by_nobody_else() {
        let home = tempfile::tempdir().unwrap();
        let file = file(home.path());
        assert_eq!(file.read().unwrap(), []);
        let token = random().unwrap();
        assert!(token.starts_with(PREFIX) && token.len() == PREFIX.len() + 43 && random().unwrap() != token);
        let grant = Grant { namespaces: Some(vec!["work".to_owned()]), tools: None };
        file.change(|tokens| tokens.push(StoredToken::new("ci", &token, grant.clone(), None))).unwrap();
        let text = std::fs::read_to_string(file.path()).unwrap();
        assert!(!text.contains(&token) && text.contains(&TokenDigest::of(&token).to_hex()), "{text}");
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(file.path()), mode(file.path().parent().unwrap())), (0o600, 0o700));
        let named = file.named().unwrap();
        assert_eq!((named[0].name.as_str(), &named[0].grant), ("ci", &grant));
        assert_eq!(named[0].digest, TokenDigest::of(&token));
        let set = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        set(file.path(), 0o644);
        assert!(file.read().unwrap_err().contains("has mode 644"));
        set(file.path(), 0o600);
        set(file.folder(), 0o777);
        assert!(file.read().unwrap_err().contains("has mode 777"));
        set(file.folder(), 0o700);
        assert_eq!(file.read().unwrap().len(), 1);
        let elsewhere = home.path().join("elsewhere.json");
        std::fs::rename(file.path(), &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, file.path()).unwrap();
        assert!(file.read().unwrap_err().contains("is no file of yours"));
    }

    #[test]
    fn what_cannot_be_understood_is_no_empty_list() {
        let home = tempfile::tempdir().unwrap();
        let file = file(home.path());
        std::fs::create_dir_all(file.folder()).unwrap();
        for text in ["", "{}", r#"{"version": 2, "config": null, "tokens": []}"#] {
            std::fs::write(file.path(), text).unwrap();
            std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o600)).unwrap();
            assert!(file.read().is_err(), "{text}");
            assert!(file.change(|tokens| tokens.clear()).is_err(), "{text}");
        }
    }
}
