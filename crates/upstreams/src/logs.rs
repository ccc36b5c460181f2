//! The last lines a server wrote beside the protocol.

mod cause;

use manifold_engine::Lock as _;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

use manifold_config::{redact, redact_cut};

const MAX_LINES: usize = 1000;
const MAX_LINE_CHARS: usize = 4096;
/// How far back an error message looks for lines that tell.
const LOOKED_AT: usize = 100;

/// What is kept of a line.
const MAX_LINE_BYTES: usize = 4 * MAX_LINE_CHARS;

/// A ring of lines, safe to show: secrets are hidden (M11) and control characters written out (T27).
#[derive(Debug, Default)]
pub(crate) struct LogRing {
    ring: Mutex<Ring>,
}

#[derive(Debug, Default)]
struct Ring {
    /// As they were said: few are ever looked at, and a server may say millions (F8).
    lines: VecDeque<Box<[u8]>>,
    /// How many of the last lines belong to the present life of the server.
    fresh: usize,
}

impl LogRing {
    pub(crate) fn push(&self, line: &[u8]) {
        self.push_bytes(cut(line).into());
    }

    /// Takes a line the server wrote where only messages belong.
    pub(crate) fn push_noise(&self, line: &[u8]) {
        self.push_bytes([b"[stdout] ", cut(line)].concat().into());
    }

    /// Takes up lines that another program kept.
    pub(crate) fn recall(&self, lines: &[String]) {
        lines.iter().for_each(|line| self.push(line.as_bytes()));
    }

    /// Notes that what follows is said by a new process.
    pub(crate) fn new_life(&self) {
        self.lock().fresh = 0;
    }

    fn push_bytes(&self, line: Box<[u8]>) {
        let mut ring = self.lock();
        if ring.lines.len() == MAX_LINES {
            ring.lines.pop_front();
        }
        ring.lines.push_back(line);
        ring.fresh = (ring.fresh + 1).min(MAX_LINES);
    }

    /// Returns the last `count` lines, oldest first.
    pub(crate) fn last(&self, count: usize) -> Vec<String> {
        let lines = &self.lock().lines;
        let wanted = lines.iter().skip(lines.len().saturating_sub(count));
        wanted.map(|line| shown(line)).collect()
    }

    /// Returns the few lines of this life that tell most as one text for an error message.
    pub(crate) fn tail(&self) -> Option<String> {
        let fresh = self.lock().fresh;
        let lines = self.last(fresh.min(LOOKED_AT));
        let lines = cause::telling(&lines);
        (!lines.is_empty()).then(|| lines.join(" | "))
    }

    fn lock(&self) -> MutexGuard<'_, Ring> {
        self.ring.locked()
    }
}

/// Cuts what will not be shown before it is copied.
fn cut(line: &[u8]) -> &[u8] {
    &line[..line.len().min(MAX_LINE_BYTES)]
}

/// Returns the beginning of a server's words, for a message of ours.
pub(crate) fn quote(words: &[u8], max_chars: usize) -> String {
    let mut shown = shown(cut(words));
    if let Some((end, _)) = shown.char_indices().nth(max_chars) {
        shown.truncate(end);
    }
    shown
}

fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    printable(&if line.len() < MAX_LINE_BYTES { redact(&text) } else { redact_cut(&text) })
}

/// Writes out what a terminal would act on: C0, C1 and the characters that turn text around.
pub(crate) fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len().min(MAX_LINE_CHARS));
    for (at, c) in text.chars().enumerate() {
        if at == MAX_LINE_CHARS {
            shown.push('…');
            break;
        }
        let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if (c.is_control() && c != '\t') || turns {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    shown
}

#[cfg(test)]
mod tests;
