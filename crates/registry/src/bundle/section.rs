//! The part of a file that is the zip: a signature may stand behind it.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use memchr::memmem;
use sha2::{Digest, Sha256};

use super::BundleError;
use crate::hash::hex;

const SIGNATURE_START: &[u8] = b"MCPB_SIG_V1";
const SIGNATURE_END: &[u8] = b"MCPB_SIG_END";
/// No signature is longer.
const MAX_SIGNATURE_BYTES: u64 = 64 << 10;
/// What every entry of a zip's directory begins with.
const DIRECTORY_ENTRY: &[u8] = b"PK\x01\x02";

/// The first bytes of a file.
#[derive(Debug)]
pub(super) struct Section {
    file: File,
    bytes: u64,
    at: u64,
}

impl Section {
    /// Leaves out a signature, which is none of the zip's. It is not checked: nobody says whom to trust.
    pub(super) fn new(mut file: File) -> io::Result<Self> {
        let whole = file.seek(SeekFrom::End(0))?;
        let bytes = match signature_bytes(&mut file, whole)? {
            Some(signature) => whole - signature,
            None => whole,
        };
        Ok(Self { file, bytes, at: 0 })
    }
}

impl Read for Section {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.bytes.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let room = buffer.len().min(left);
        self.file.seek(SeekFrom::Start(self.at))?;
        let read = self.file.read(&mut buffer[..room])?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for Section {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.bytes.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

/// Returns how long the signature at the end is: a mark, its length, itself, another mark.
fn signature_bytes(file: &mut File, whole: u64) -> io::Result<Option<u64>> {
    let tail_bytes = whole.min(MAX_SIGNATURE_BYTES);
    file.seek(SeekFrom::Start(whole - tail_bytes))?;
    let mut tail = Vec::new();
    file.take(tail_bytes).read_to_end(&mut tail)?;
    if !tail.ends_with(SIGNATURE_END) {
        return Ok(None);
    }
    let starts =
        tail.windows(SIGNATURE_START.len()).enumerate().filter(|(_, window)| *window == SIGNATURE_START);
    for (start, _) in starts {
        let after = &tail[start + SIGNATURE_START.len()..];
        let Some((length, rest)) = after.split_first_chunk::<4>() else { continue };
        if rest.len() == u32::from_le_bytes(*length) as usize + SIGNATURE_END.len() {
            return Ok(Some((tail.len() - start) as u64));
        }
    }
    Ok(None)
}

/// What a look through all bytes of a file tells.
pub(super) struct Scanned {
    pub(super) sha256: String,
    /// How many entries a zip's directory in it can have at the most.
    pub(super) max_entries: usize,
}

/// Reads a whole file, if it is not too large.
pub(super) fn scan(mut file: &File, max_bytes: u64) -> Result<Scanned, BundleError> {
    file.seek(SeekFrom::Start(0))?;
    let finder = memmem::Finder::new(DIRECTORY_ENTRY);
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    // What is left of the piece before, so that nothing is missed on the border.
    let mut kept = 0;
    let (mut left, mut max_entries) = (max_bytes, 0);
    loop {
        let read = file.read(&mut buffer[kept..])?;
        if read == 0 {
            return Ok(Scanned { sha256: hex(hash), max_entries });
        }
        left = left.checked_sub(read as u64).ok_or(BundleError::TooLarge(max_bytes))?;
        let end = kept + read;
        hash.update(&buffer[kept..end]);
        max_entries += finder.find_iter(&buffer[..end]).count();
        kept = end.min(DIRECTORY_ENTRY.len() - 1);
        buffer.copy_within(end - kept..end, 0);
    }
}
