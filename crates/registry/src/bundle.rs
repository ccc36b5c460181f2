//! MCP bundles (`.mcpb`): a zip with a server and a manifest that says how to start it.

mod archive;
mod download;
mod manifest;
mod names;
mod plan;
mod section;
mod unpack;
mod versions;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use zip::result::ZipError;

use crate::fetch::FetchError;
use crate::flaw::Refused;
use crate::server_json::{Argument, KeyValue};
use archive::Archive;
pub(crate) use download::download;
pub use manifest::Manifest;
use names::NameFlaw;
pub use plan::Places;
use section::{Scanned, scan};
pub use unpack::Unpacked;
pub use versions::satisfies;

/// The largest bundle that is read.
pub const MAX_ARCHIVE_BYTES: u64 = 512 << 20;
/// The most it may be once unpacked.
pub const MAX_UNPACKED_BYTES: u64 = 512 << 20;
const MAX_ENTRIES: usize = 50_000;
/// With those of zips inside it, which cannot be told apart without reading them.
const MAX_NESTED_ENTRIES: usize = 200_000;
const MAX_MANIFEST_BYTES: u64 = 1 << 20;

/// A bundle that was looked through and found good.
#[derive(Debug)]
pub struct Bundle {
    archive: Archive,
    manifest: Manifest,
    sha256: String,
    extra: Extra,
    /// Keeps a fetched one until it is unpacked or given up.
    _fetched: Option<NamedTempFile>,
}

/// What the registry says beside what the bundle says itself.
#[derive(Debug, Default)]
pub(crate) struct Extra {
    pub(crate) environment: Vec<KeyValue>,
    pub(crate) arguments: Vec<Argument>,
}

/// A program a bundle needs, and in which versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runtime {
    pub program: &'static str,
    /// Foreign text: `>=16.0.0`.
    pub versions: String,
}

/// Why a bundle is not taken.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    #[error("it cannot be read: {0}")]
    Io(#[from] io::Error),
    #[error("it is no file")]
    NotAFile,
    #[error("it is larger than {0} bytes")]
    TooLarge(u64),
    #[error("it is no zip file that can be used: {0}")]
    Zip(String),
    #[error("it has more than {0} entries")]
    TooManyEntries(usize),
    #[error("it would be larger than {0} bytes once unpacked")]
    TooLargeUnpacked(u64),
    #[error("the name {name} {flaw}")]
    Name { name: crate::flaw::Shown, flaw: NameFlaw },
    #[error("{0} is a link or a device; only files and folders are unpacked")]
    Special(crate::flaw::Shown),
    #[error("{0} is encrypted, or packed in another way than by deflate")]
    Packing(crate::flaw::Shown),
    #[error("it has no {0}")]
    Lacks(crate::flaw::Shown),
    #[error("its manifest: {0}")]
    Manifest(Refused),
    #[error("{0}")]
    Refused(#[from] Refused),
    #[error("it could not be fetched: {0}")]
    Fetch(#[from] FetchError),
    #[error(
        "its SHA-256 is {found} and not {expected}, as the registry says: it was changed, or is another file"
    )]
    Hash { found: String, expected: String },
}

impl From<ZipError> for BundleError {
    fn from(error: ZipError) -> Self {
        match error {
            ZipError::Io(error) if error.kind() != io::ErrorKind::InvalidData => Self::Io(error),
            other => Self::Zip(crate::text::described(&other.to_string())),
        }
    }
}

impl Bundle {
    /// Looks through a bundle: all its names, its manifest, and whether it is for this system. Nothing is written.
    pub fn open(path: &Path) -> Result<Self, BundleError> {
        // Asked before it is opened: a pipe would never let us go.
        let metadata = fs::metadata(path)?;
        if !metadata.is_file() {
            return Err(BundleError::NotAFile);
        }
        if metadata.len() > MAX_ARCHIVE_BYTES {
            return Err(BundleError::TooLarge(MAX_ARCHIVE_BYTES));
        }
        Self::read(File::open(path)?)
    }

    fn read(file: File) -> Result<Self, BundleError> {
        let Scanned { sha256, max_entries } = scan(&file, MAX_ARCHIVE_BYTES)?;
        // Before any is read: a directory can be as large as the file, and many times that in memory.
        if max_entries > MAX_NESTED_ENTRIES {
            return Err(BundleError::TooManyEntries(MAX_ENTRIES));
        }
        let mut archive = Archive::new(file)?;
        let text = archive.read_manifest()?;
        let manifest = Manifest::parse(&text).map_err(BundleError::Manifest)?;
        manifest.check_platform().map_err(BundleError::Manifest)?;
        Ok(Self { archive, manifest, sha256, extra: Extra::default(), _fetched: None })
    }

    pub(crate) fn with_extra(self, extra: Extra) -> Self {
        Self { extra, ..self }
    }

    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns the SHA-256 of the whole file.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Returns where it is unpacked, below the folder of all bundles: one folder for each content.
    pub fn folder(&self, bundles: &Path) -> PathBuf {
        let Manifest { name, version, .. } = &self.manifest;
        bundles.join(format!("{}-{}-{}", part(name, 60), part(version, 30), &self.sha256[..12]))
    }
}

/// Returns a foreign text as a part of a file's name.
fn part(text: &str, max_bytes: usize) -> String {
    let safe = |char: char| if char.is_ascii_alphanumeric() || "._".contains(char) { char } else { '-' };
    let safe: String = text.chars().take(max_bytes).map(safe).collect();
    let safe = safe.trim_matches(['-', '.']);
    if safe.is_empty() { "bundle".to_owned() } else { safe.to_ascii_lowercase() }
}

#[cfg(test)]
mod tests;
