//! The filter language: words that must all be true of a frame. One for the command line, the terminal and the page.

mod matcher;
mod parse;
mod word;

use std::fmt;

use super::Frame;
pub use matcher::Matcher;
use word::{Known, Word};

/// What to show or keep of the traffic. An empty one lets everything through.
#[derive(Debug, Clone)]
pub struct Filter {
    source: String,
    words: Vec<Word>,
}

/// A filter that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterError {
    /// Where it goes wrong, in characters, counted from 1.
    pub column: usize,
    pub message: String,
}

impl Filter {
    /// Reads a filter as it is typed.
    pub fn parse(source: &str) -> Result<Self, FilterError> {
        Ok(Self { source: source.to_owned(), words: parse::words(source)? })
    }

    /// Returns whether a frame fits, by what stands in it alone. `now` is the present, in nanoseconds since the
    /// gateway began. In a stream of frames, a [`Matcher`] knows more.
    pub fn matches(&self, frame: &Frame, now: u64) -> bool {
        self.fits(frame, &Known::default(), now)
    }

    /// Returns what reads a stream of frames with this filter.
    pub fn matcher(&self) -> Matcher {
        Matcher::new(self.clone())
    }

    /// Returns whether everything fits.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Returns whether a frame can fit only if its body is there.
    pub fn needs_bodies(&self) -> bool {
        self.words.iter().any(Word::reads_bodies)
    }

    /// Returns whether it asks for frames of the past.
    pub fn looks_back(&self) -> bool {
        self.words.iter().any(Word::looks_back)
    }

    fn fits(&self, frame: &Frame, known: &Known, now: u64) -> bool {
        self.words.iter().all(|word| word.fits(frame, known, now))
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)
    }
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {}: {}", self.column, self.message)
    }
}

impl std::error::Error for FilterError {}

#[cfg(test)]
mod tests;
