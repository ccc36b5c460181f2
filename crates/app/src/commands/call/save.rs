//! Files of a result, put into a folder: under a name of ours, never outside it, never over another.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::output::{Exit, Failure};

const MAX_NAME_CHARS: usize = 80;
/// How many files of one name are kept apart.
const MAX_ALIKE: usize = 10_000;

/// Where a file is now.
#[derive(Debug)]
pub(crate) struct Saved {
    pub(crate) path: PathBuf,
    pub(crate) bytes: usize,
}

/// Writes a file that came as base64.
pub(crate) fn save(
    folder: &Path,
    name: &str,
    uri: Option<&str>,
    mime: &str,
    data: &str,
) -> Result<Saved, Failure> {
    let bytes = STANDARD.decode(data.trim()).map_err(|_| {
        Failure::new(Exit::Failed, "server-error", format!("'{name}' sent a file that is not base64"))
    })?;
    let failed = |error: io::Error| {
        let message = format!("cannot write to {}: {error}", folder.display());
        Failure::new(Exit::Failed, "failed", message).hint("name another folder with --out")
    };
    fs::create_dir_all(folder).map_err(failed)?;
    let (stem, ending) = file_name(name, uri, mime);
    for number in 0..MAX_ALIKE {
        let number = if number == 0 { String::new() } else { format!("-{number}") };
        let path = folder.join(format!("{stem}{number}{ending}"));
        // A file, or a link to one, that is there already is another's.
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut file) => {
                file.write_all(&bytes).map_err(failed)?;
                return Ok(Saved { path, bytes: bytes.len() });
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Err(failed(io::Error::from(io::ErrorKind::AlreadyExists)))
}

/// Returns a name and its ending: those of the URI, if it has any, else ours.
fn file_name(name: &str, uri: Option<&str>, mime: &str) -> (String, String) {
    let ending = ending(mime);
    let last = uri.and_then(|uri| {
        let path = uri.split(['?', '#']).next()?;
        let (_, path) = path.split_once(':')?;
        path.rsplit('/').next()
    });
    let last = last.map(plain).filter(|last| !last.is_empty());
    match last.as_deref().map(|last| last.rsplit_once('.').unwrap_or((last, ""))) {
        Some((stem, own)) if !stem.is_empty() => {
            let ending = if own.is_empty() { ending.to_owned() } else { format!(".{own}") };
            (stem.to_owned(), ending)
        }
        _ => (
            Some(plain(name)).filter(|name| !name.is_empty()).unwrap_or_else(|| "file".to_owned()),
            ending.to_owned(),
        ),
    }
}

/// Keeps of a name what no file system and no shell takes amiss.
fn plain(name: &str) -> String {
    let kept = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let name: String = name.chars().map(kept).take(MAX_NAME_CHARS).collect();
    name.trim_matches(['.', '_', '-']).to_owned()
}

fn ending(mime: &str) -> &'static str {
    match mime.split(';').next().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
        "image/png" => ".png",
        "image/jpeg" | "image/jpg" => ".jpg",
        "image/gif" => ".gif",
        "image/webp" => ".webp",
        "image/svg+xml" => ".svg",
        "image/avif" => ".avif",
        "audio/wav" | "audio/x-wav" | "audio/wave" => ".wav",
        "audio/mpeg" | "audio/mp3" => ".mp3",
        "audio/ogg" => ".ogg",
        "audio/flac" => ".flac",
        "video/mp4" => ".mp4",
        "application/pdf" => ".pdf",
        "application/json" => ".json",
        "application/zip" => ".zip",
        "application/gzip" => ".gz",
        "text/html" => ".html",
        "text/csv" => ".csv",
        "text/plain" => ".txt",
        _ => ".bin",
    }
}

#[cfg(test)]
#[test]
fn names_stay_in_their_folder() {
    let named = |uri: Option<&str>, mime: &str| {
        let (stem, ending) = file_name("fx__shot", uri, mime);
        format!("{stem}{ending}")
    };
    for (uri, mime, expected) in [
        (None, "image/png", "fx__shot.png"),
        (None, "", "fx__shot.bin"),
        (Some("file:///tmp/report.pdf"), "application/pdf", "report.pdf"),
        (Some("file:///a/b/../../etc/passwd"), "", "passwd.bin"),
        (Some("file:///x/.."), "image/gif", "fx__shot.gif"),
        (Some("file:///x/.bashrc"), "", "bashrc.bin"),
        (Some("x:..\\..\\evil.exe"), "", "evil.exe"),
        (Some("demo://a/%2e%2e%2fx?y=/z.sh"), "image/jpeg", "2e_2e_2fx.jpg"),
        (Some("no-scheme"), "text/plain; charset=utf-8", "fx__shot.txt"),
        (Some("f:/a\u{202e}gnp.sh"), "", "a_gnp.sh"),
        (Some("f:/-rf"), "", "rf.bin"),
    ] {
        assert_eq!(named(uri, mime), expected, "{uri:?}");
    }
    assert!(named(Some(&format!("f:/{}", "a".repeat(500))), "").len() < 100);
}
