//! What can be said of recordings without reading all of them.

use std::cmp::Reverse;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use manifold_admin::Recording;

use crate::format::{EXTENSION, FooterLine};
use crate::name::file_name;
use crate::reader::{NO_FOOTER, ReadError, header};

/// A footer is shorter than this.
const TAIL_BYTES: u64 = 4096;

/// Returns every recording of a folder, in the order of names: its newest file under its name, earlier ones under that and
/// their numbers, the newest of them first.
pub fn list(folder: &Path) -> io::Result<Vec<Recording>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        if path.extension().is_some_and(|extension| extension == EXTENSION)
            && let Some((name, part)) = file_name(stem)
        {
            let summary = summary(&path).unwrap_or_else(|error| unreadable(&path, stem, &error));
            // It is asked for by what its file is called.
            let summary = Recording { name: stem.to_owned(), ..summary };
            found.push((name.to_owned(), Reverse(part.unwrap_or(u64::MAX)), summary));
        }
    }
    found.sort_by(|one, other| (&one.0, one.1).cmp(&(&other.0, other.1)));
    Ok(found.into_iter().map(|(_, _, summary)| summary).collect())
}

/// Returns what a file says of itself; frames are counted where no footer has done it.
pub fn summary(path: &Path) -> Result<Recording, ReadError> {
    let file = File::open(path)?;
    let bytes = file.metadata()?.len();
    let mut reader = BufReader::new(file);
    let mut first = Vec::new();
    reader.read_until(b'\n', &mut first)?;
    let header = header(&first)?;
    let mut recording = Recording {
        name: header.name,
        file: path.to_string_lossy().into_owned(),
        filter: header.filter,
        started: Some(header.started),
        bytes,
        ..Recording::default()
    };
    let body = reader.stream_position()?;
    reader.seek(SeekFrom::Start(body.max(bytes.saturating_sub(TAIL_BYTES))))?;
    let mut tail = Vec::new();
    reader.read_to_end(&mut tail)?;
    let last = tail.strip_suffix(b"\n").and_then(|tail| tail.split(|byte| *byte == b'\n').next_back());
    match last.and_then(|last| serde_json::from_slice::<FooterLine>(last).ok()) {
        Some(FooterLine { footer }) => {
            (recording.frames, recording.lost) = (footer.frames, footer.lost);
            recording.problem = footer.why.problem().map(str::to_owned);
        }
        None => {
            reader.seek(SeekFrom::Start(body))?;
            (recording.frames, recording.lost) = count(reader)?;
            recording.problem = Some(NO_FOOTER.to_owned());
        }
    }
    Ok(recording)
}

fn count(mut reader: impl io::BufRead) -> io::Result<(u64, u64)> {
    let (mut frames, mut lost) = (0, 0);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        if let Some(gap) = line.strip_prefix(b"{\"gap\":") {
            let digits = gap.iter().take_while(|byte| byte.is_ascii_digit());
            lost += digits
                .fold(0_u64, |sum, digit| sum.saturating_mul(10).saturating_add(u64::from(digit - b'0')));
        } else if line.ends_with(b"\n") && !line.starts_with(b"{\"footer\"") {
            frames += 1;
        }
        line.clear();
    }
    Ok((frames, lost))
}

fn unreadable(path: &Path, stem: &str, error: &ReadError) -> Recording {
    Recording {
        name: stem.to_owned(),
        file: path.to_string_lossy().into_owned(),
        problem: Some(error.to_string()),
        ..Recording::default()
    }
}
