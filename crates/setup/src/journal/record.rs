//! One record as it is on disk: `record.json`, and beside it what stood in the files.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::digest;
use crate::error::WriteError;
use crate::file::{Rules, TargetFile};

const RECORD: &str = "record.json";
/// What the files of this version look like; others are not read.
const VERSION: u32 = 1;

/// What one command changed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Record {
    version: u32,
    /// The name of its folder; later ones come later in the alphabet.
    pub id: String,
    pub verb: String,
    /// The command, for people.
    pub words: String,
    /// When it began (RFC 3339).
    pub at: String,
    /// When it was undone.
    pub undone: Option<String>,
    /// In the order in which they were made.
    pub changes: Vec<Change>,
    /// What it put into the store of secrets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<StoredSecret>,
}

/// A secret that a command stored under a name that was free.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredSecret {
    pub name: String,
    /// Another one once somebody has stored something else there; it says nothing of the value.
    pub mark: String,
}

/// A change of one file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Change {
    /// As it was named.
    pub path: PathBuf,
    /// Behind every link.
    pub file: PathBuf,
    /// The home folder that links had to stay in; none for our own config.
    pub home: Option<PathBuf>,
    /// `None`: it was not there.
    pub before: Option<Copy>,
    pub after: After,
    /// The mode it had.
    pub mode: Option<u32>,
    /// Folders that were made for it, the outermost first.
    pub folders: Vec<PathBuf>,
    /// What a crash may have left beside it.
    pub draft: Option<PathBuf>,
    pub back: Back,
    pub is_undone: bool,
}

/// What a change made of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum After {
    /// Another program was at it, and we did not see the end.
    Unknown,
    Gone,
    Text(Copy),
}

/// Bytes that are kept in the folder of the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Copy {
    pub sha256: String,
    file: String,
}

/// How a change is taken back from a file that is not what it made of it any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Back {
    /// These entries of a client's file become what they were.
    Entries { client: String, names: Vec<String> },
    /// All that was changed becomes what it was: our own config.
    Config,
    /// It is not.
    None,
}

impl Back {
    /// Returns the way back for one entry.
    pub fn entry(client: &str, name: &str) -> Self {
        Self::Entries { client: client.to_owned(), names: vec![name.to_owned()] }
    }
}

impl Record {
    pub(super) fn new(verb: &str, words: &str) -> Self {
        Self {
            version: VERSION,
            id: String::new(),
            verb: verb.to_owned(),
            words: words.to_owned(),
            at: String::new(),
            undone: None,
            changes: Vec::new(),
            secrets: Vec::new(),
        }
    }

    pub(crate) fn load(folder: &Path, id: &str) -> Option<Self> {
        let text = fs::read(folder.join(RECORD)).ok()?;
        let record: Self = serde_json::from_slice(&text).ok()?;
        (record.version == VERSION && record.id == id).then_some(record)
    }

    pub(crate) fn save(&self, folder: &Path) -> io::Result<()> {
        let draft = folder.join("record.new");
        let _ = fs::remove_file(&draft);
        keep(&draft, &serde_json::to_vec_pretty(self)?)?;
        fs::rename(&draft, folder.join(RECORD))?;
        File::open(folder)?.sync_all()
    }
}

impl Change {
    pub(super) fn of(file: &TargetFile, back: Back) -> Self {
        Self {
            path: file.named().to_owned(),
            file: file.path().to_owned(),
            home: match file.rules() {
                Rules::Own { .. } => None,
                Rules::Client { home } => Some(home.clone()),
            },
            before: None,
            after: After::Unknown,
            mode: None,
            folders: file.missing_folders().to_vec(),
            draft: None,
            back,
            is_undone: false,
        }
    }

    /// Returns the client whose file it is.
    pub fn client(&self) -> Option<&str> {
        match &self.back {
            Back::Entries { client, .. } => Some(client),
            Back::Config | Back::None => None,
        }
    }

    /// Finds the file again, by the rules it was found by.
    pub(crate) fn target(&self) -> Result<TargetFile, WriteError> {
        let rules = self.home.clone().map_or(Rules::Own { home: None }, |home| Rules::Client { home });
        TargetFile::find(&self.path, &rules)
    }
}

impl Copy {
    pub(super) fn keep(folder: &Path, name: String, bytes: &[u8]) -> io::Result<Self> {
        keep(&folder.join(&name), bytes)?;
        Ok(Self { sha256: digest(bytes), file: name })
    }

    /// Reads the bytes back, if they are still the same.
    pub(crate) fn read(&self, folder: &Path) -> Option<Vec<u8>> {
        // A name that leads out of the folder is not one that we wrote.
        let name = Path::new(&self.file).file_name()?;
        let bytes = fs::read(folder.join(name)).ok()?;
        (digest(&bytes) == self.sha256).then_some(bytes)
    }

    pub(super) fn drop_from(&self, folder: &Path) {
        let _ = fs::remove_file(folder.join(&self.file));
    }
}

fn keep(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}
