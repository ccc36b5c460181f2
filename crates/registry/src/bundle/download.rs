//! Bundles the registry names by an address and a hash.

use std::fs::DirBuilder;
use std::io::{BufWriter, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use super::section::scan;
use super::{Bundle, BundleError, MAX_ARCHIVE_BYTES};
use crate::fetch::{Fetch, FetchError, Get, Redirects, fetch_into};

/// Fetches a bundle into a file that goes with it, and looks into it only if it is the one that is meant.
pub(crate) fn download(
    fetch: &dyn Fetch,
    url: &str,
    sha256: &str,
    bundles: &Path,
) -> Result<Bundle, BundleError> {
    DirBuilder::new().recursive(true).mode(0o700).create(bundles)?;
    let mut file = tempfile::Builder::new().prefix(".fetched-").tempfile_in(bundles)?;
    // Releases are kept elsewhere than they are announced; the hash tells whether it is the right file.
    let get = Get { url, max_bytes: MAX_ARCHIVE_BYTES, redirects: Redirects::Https };
    let mut into = BufWriter::new(&mut file);
    fetch_into(fetch, get, &mut into)?;
    into.flush().map_err(FetchError::Write)?;
    drop(into);
    let found = scan(file.as_file(), MAX_ARCHIVE_BYTES)?.sha256;
    if !found.eq_ignore_ascii_case(sha256) {
        return Err(BundleError::Hash { found, expected: sha256.to_ascii_lowercase() });
    }
    let bundle = Bundle::read(file.reopen()?)?;
    Ok(Bundle { _fetched: Some(file), ..bundle })
}
