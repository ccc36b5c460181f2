//! The zip of a bundle.

use std::fs::File;
use std::io::Read;

use zip::read::ZipFile;
use zip::{CompressionMethod, ZipArchive};

use super::names::Names;
use super::section::Section;
use super::{BundleError, MAX_ENTRIES, MAX_MANIFEST_BYTES, MAX_UNPACKED_BYTES};
use crate::flaw::Shown;

pub(super) const MANIFEST: &str = "manifest.json";
/// What of a mode tells the kind of a file.
const KIND: u32 = 0o170_000;
const FILE: u32 = 0o100_000;
const FOLDER: u32 = 0o040_000;

/// A zip all of whose entries may be unpacked, as far as their heads tell.
#[derive(Debug)]
pub(super) struct Archive {
    zip: ZipArchive<Section>,
    names: Names,
}

impl Archive {
    pub(super) fn new(file: File) -> Result<Self, BundleError> {
        let mut zip = ZipArchive::new(Section::new(file)?)?;
        if zip.len() > MAX_ENTRIES {
            return Err(BundleError::TooManyEntries(MAX_ENTRIES));
        }
        // Both heads of an entry say the same, no two share bytes, and none is hidden.
        zip.validate_header_consistency()?;
        let mut names = Names::default();
        let mut bytes = 0_u64;
        for at in 0..zip.len() {
            let entry = zip.by_index_data(at)?;
            let name = entry.name()?.into_owned();
            names.add(&name).map_err(|flaw| BundleError::Name { name: Shown::new(&name), flaw })?;
            if !matches!(entry.compression(), CompressionMethod::Stored | CompressionMethod::Deflated)
                || entry.encrypted()
            {
                return Err(BundleError::Packing(Shown::new(&name)));
            }
            // Whoever says so himself is not unpacked to find out.
            bytes = bytes.saturating_add(entry.size());
            if bytes > MAX_UNPACKED_BYTES {
                return Err(BundleError::TooLargeUnpacked(MAX_UNPACKED_BYTES));
            }
            // Said by the upper half, whatever system says it.
            let expected = if entry.is_dir() { FOLDER } else { FILE };
            let kind = (entry.external_attributes() >> 16) & KIND;
            if kind != 0 && kind != expected {
                return Err(BundleError::Special(Shown::new(&name)));
            }
        }
        Ok(Self { zip, names })
    }

    pub(super) fn names(&self) -> &Names {
        &self.names
    }

    pub(super) fn len(&self) -> usize {
        self.zip.len()
    }

    pub(super) fn entry(&mut self, at: usize) -> Result<ZipFile<'_, Section>, BundleError> {
        Ok(self.zip.by_index(at)?)
    }

    pub(super) fn read_manifest(&mut self) -> Result<Vec<u8>, BundleError> {
        if !self.names.has_file(MANIFEST) {
            return Err(BundleError::Lacks(Shown::new(MANIFEST)));
        }
        let mut text = Vec::new();
        self.zip.by_name(MANIFEST)?.take(MAX_MANIFEST_BYTES + 1).read_to_end(&mut text)?;
        match text.len() as u64 > MAX_MANIFEST_BYTES {
            true => Err(BundleError::TooLarge(MAX_MANIFEST_BYTES)),
            false => Ok(text),
        }
    }
}
