//! A recording as it is written: appended line by line, in files of bounded length.

mod files;

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use manifold_admin::TrafficItem;
use serde::Serialize;

use crate::format::{EXTENSION, EndedBy, Footer, FooterLine, Header};
pub use files::open_file;
use files::{next_part, prune};

/// How much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// A file that is as long goes on in the next.
    pub file_bytes: u64,
    /// So does one whose frames are this far apart, in nanoseconds.
    pub file_age: u64,
    /// What all recordings may take up; the oldest files that nobody writes are given up first.
    pub total_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { file_bytes: 256 << 20, file_age: 24 * 3600 * 1_000_000_000, total_bytes: 1 << 30 }
    }
}

/// Opens the file that is written to: creates it, or goes on at its end.
pub type Open = Box<dyn Fn(&Path) -> io::Result<Box<dyn Write + Send>> + Send>;

/// Writes one recording. `NAME.mfr` is the file being written; those before it are `NAME.1.mfr`, `NAME.2.mfr` and so on.
pub struct Writer {
    folder: PathBuf,
    header: Header,
    limits: Limits,
    open: Open,
    out: BufWriter<Box<dyn Write + Send>>,
    file_bytes: u64,
    first_t: Option<u64>,
    file_frames: u64,
    file_lost: u64,
    /// Of all its files.
    frames: u64,
    lost: u64,
    bytes: u64,
}

impl Writer {
    /// Begins a recording. One of the same name that has ended is kept under its next number.
    pub fn begin(folder: &Path, header: Header, limits: Limits, open: Open) -> io::Result<Self> {
        let path = path_of(folder, &header.name);
        if path.exists() {
            std::fs::rename(&path, next_part(folder, &header.name)?)?;
        }
        prune(folder, limits.total_bytes);
        let out = BufWriter::new(open(&path)?);
        let mut writer = Self::around(folder, header, limits, open, out);
        writer.put_header()?;
        Ok(writer)
    }

    /// Goes on with a recording that another process began: at the end of its last whole line.
    pub fn go_on(folder: &Path, header: Header, limits: Limits, open: Open) -> io::Result<Self> {
        let path = path_of(folder, &header.name);
        let (length, frames, lost) = files::mend(&path)?;
        let out = BufWriter::new(open(&path)?);
        let mut writer = Self::around(folder, header, limits, open, out);
        (writer.file_bytes, writer.bytes) = (length, length);
        (writer.file_frames, writer.frames) = (frames, frames);
        (writer.file_lost, writer.lost) = (lost, lost);
        Ok(writer)
    }

    fn around(
        folder: &Path,
        header: Header,
        limits: Limits,
        open: Open,
        out: BufWriter<Box<dyn Write + Send>>,
    ) -> Self {
        Self {
            folder: folder.to_owned(),
            header,
            limits,
            open,
            out,
            file_bytes: 0,
            first_t: None,
            file_frames: 0,
            file_lost: 0,
            frames: 0,
            lost: 0,
            bytes: 0,
        }
    }

    /// Appends what the stream of traffic says. It is in the file after the next `flush`, at the latest.
    pub fn write(&mut self, item: &TrafficItem) -> io::Result<()> {
        let line = serde_json::to_vec(item)?;
        let t = match item {
            TrafficItem::Frame(frame) => Some(frame.t),
            TrafficItem::Gap { .. } => None,
        };
        let is_full =
            self.file_bytes + line.len() as u64 + 1 > self.limits.file_bytes && self.file_frames > 0;
        let is_old =
            t.zip(self.first_t).is_some_and(|(t, first)| t.saturating_sub(first) > self.limits.file_age);
        if is_full || is_old {
            self.continue_in_next()?;
        }
        self.put_line(&line)?;
        match item {
            TrafficItem::Frame(frame) => {
                self.first_t.get_or_insert(frame.t);
                self.file_frames += 1;
                self.frames += 1;
            }
            TrafficItem::Gap { gap } => {
                self.file_lost += gap;
                self.lost += gap;
            }
        }
        Ok(())
    }

    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Ends it, and says in the file by what.
    pub fn end(mut self, why: EndedBy) -> io::Result<()> {
        self.put_footer(why)
    }

    /// Returns frames, losses and bytes of all its files.
    pub fn counts(&self) -> (u64, u64, u64) {
        (self.frames, self.lost, self.bytes)
    }

    pub fn path(&self) -> PathBuf {
        path_of(&self.folder, &self.header.name)
    }

    fn continue_in_next(&mut self) -> io::Result<()> {
        self.put_footer(EndedBy::Continued)?;
        let path = self.path();
        std::fs::rename(&path, next_part(&self.folder, &self.header.name)?)?;
        self.out = BufWriter::new((self.open)(&path)?);
        (self.file_bytes, self.file_frames, self.file_lost) = (0, 0, 0);
        self.first_t = None;
        self.header.part += 1;
        self.header.started = now();
        self.put_header()?;
        prune(&self.folder, self.limits.total_bytes);
        Ok(())
    }

    fn put_header(&mut self) -> io::Result<()> {
        let line = serde_json::to_vec(&self.header)?;
        self.put_line(&line)?;
        self.flush()
    }

    fn put_footer(&mut self, why: EndedBy) -> io::Result<()> {
        let footer = Footer { frames: self.file_frames, lost: self.file_lost, ended: now(), why };
        let line = to_line(&FooterLine { footer })?;
        self.put_line(&line)?;
        self.flush()
    }

    fn put_line(&mut self, line: &[u8]) -> io::Result<()> {
        self.out.write_all(line)?;
        self.out.write_all(b"\n")?;
        let length = line.len() as u64 + 1;
        self.file_bytes += length;
        self.bytes += length;
        Ok(())
    }
}

fn to_line(value: &impl Serialize) -> io::Result<Vec<u8>> {
    Ok(serde_json::to_vec(value)?)
}

fn path_of(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.{EXTENSION}"))
}

fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests;
