//! A recording as it is read: to its last whole line, whatever became of whoever wrote it.

use std::fs;
use std::io;
use std::path::Path;

use manifold_admin::{Frame, TrafficItem};
use thiserror::Error;

use crate::format::{FORMAT, Footer, Header, Line, VERSION, line};

/// What is said of a file that nobody has ended.
pub(crate) const NO_FOOTER: &str = "there is no footer: it was not ended in good order, or it still runs";

/// All of one file.
#[derive(Debug, Clone)]
pub struct Recorded {
    pub header: Header,
    pub items: Vec<TrafficItem>,
    /// `None`: it was not ended in good order, or it is being written.
    pub footer: Option<Footer>,
    /// Lines that cannot be read: the last one of a file that was cut, as a rule.
    pub unreadable: u64,
}

#[derive(Debug, Error)]
pub enum ReadError {
    #[error("it cannot be read: {0}")]
    Unread(#[from] io::Error),
    #[error("it is no recording: its first line does not say `\"format\":\"manifold-recording\"`")]
    NotARecording,
    #[error("it is of version {0} of the format, and this program knows {VERSION}; use a newer manifold")]
    TooNew(u32),
}

impl Recorded {
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        Self::parse(&fs::read(path)?)
    }

    /// Reads what there is of a file. Bytes after the last line end are no line.
    pub fn parse(bytes: &[u8]) -> Result<Self, ReadError> {
        let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
        let header = header(lines.next().unwrap_or_default())?;
        let mut recorded = Self { header, items: Vec::new(), footer: None, unreadable: 0 };
        for text in lines {
            let whole = text.strip_suffix(b"\n");
            match whole.and_then(line) {
                Some(Line::Item(item)) => {
                    recorded.items.push(item);
                    // What follows a footer was written by somebody who went on.
                    recorded.footer = None;
                }
                Some(Line::Footer(footer)) => recorded.footer = Some(footer),
                None if whole.is_some_and(<[u8]>::is_empty) => {}
                None => recorded.unreadable += 1,
            }
        }
        Ok(recorded)
    }

    pub fn frames(&self) -> impl Iterator<Item = &Frame> {
        self.items.iter().filter_map(|item| match item {
            TrafficItem::Frame(frame) => Some(&**frame),
            TrafficItem::Gap { .. } => None,
        })
    }

    /// Returns how many frames are missing in it.
    pub fn lost(&self) -> u64 {
        let gaps = self.items.iter().map(|item| match item {
            TrafficItem::Gap { gap } => *gap,
            TrafficItem::Frame(_) => 0,
        });
        gaps.sum()
    }

    /// Returns what is wrong with the file, if something is.
    pub fn problem(&self) -> Option<String> {
        let Some(footer) = &self.footer else {
            let cut = if self.unreadable > 0 { "; its last line is cut" } else { "" };
            return Some(format!("{NO_FOOTER}{cut}"));
        };
        footer.why.problem().map(str::to_owned)
    }
}

pub(crate) fn header(line: &[u8]) -> Result<Header, ReadError> {
    let header: Header = serde_json::from_slice(line).map_err(|_| ReadError::NotARecording)?;
    match (header.format.as_str(), header.version) {
        (FORMAT, 1..=VERSION) => Ok(header),
        (FORMAT, version) => Err(ReadError::TooNew(version)),
        _ => Err(ReadError::NotARecording),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{conversation, text_of};

    #[test]
    fn a_file_cut_anywhere_is_readable_to_its_last_whole_line() {
        let whole = text_of(&conversation());
        let head = whole.find('\n').unwrap() + 1;
        let frames = Recorded::parse(whole.as_bytes()).unwrap().frames().count();
        assert_eq!(frames, conversation().items.len());
        for end in head..=whole.len() {
            let read = Recorded::parse(&whole.as_bytes()[..end]).unwrap();
            let lines = whole[head..end].matches('\n').count();
            assert_eq!(read.items.len(), lines.min(frames), "cut at {end}");
            assert_eq!(read.footer.is_some(), end == whole.len(), "cut at {end}");
            assert_eq!(read.problem().is_some(), end < whole.len());
        }
        for end in 0..head - 1 {
            assert!(matches!(Recorded::parse(&whole.as_bytes()[..end]), Err(ReadError::NotARecording)));
        }
    }

    #[test]
    fn a_newer_format_and_another_file_are_told_apart() {
        let newer = br#"{"format":"manifold-recording","version":2}"#;
        assert!(matches!(Recorded::parse(newer), Err(ReadError::TooNew(2))));
        assert!(matches!(Recorded::parse(b"{}\n"), Err(ReadError::NotARecording)));
    }
}
