//! The last lines a server wrote beside the protocol.

mod cause;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use manifold_config::{ServerKey, redact, redact_cut};
use manifold_engine::{Host, Lock as _, LoggedLine};

const MAX_LINES: usize = 1000;
const MAX_LINE_CHARS: usize = 4096;
/// How far back an error message looks for lines that tell.
const LOOKED_AT: usize = 100;

/// What is kept of a line.
const MAX_LINE_BYTES: usize = 4 * MAX_LINE_CHARS;

/// A ring of lines, safe to show: secrets are hidden (M11) and control characters written out (T27).
#[derive(Default)]
pub(crate) struct LogRing {
    ring: Mutex<Ring>,
    /// Who may want to know of each line, and whose lines they are.
    told: Option<(Arc<dyn Host>, ServerKey)>,
}

#[derive(Default)]
struct Ring {
    /// As they were said: few are ever looked at, and a server may say millions (F8).
    lines: VecDeque<Line>,
    /// How many of the last lines belong to the present life of the server.
    fresh: usize,
}

#[derive(Clone)]
struct Line {
    at_ms: u64,
    number: u64,
    bytes: Box<[u8]>,
}

impl Line {
    fn shown(&self) -> LoggedLine {
        LoggedLine { at_ms: self.at_ms, number: self.number, client: None, line: shown(&self.bytes) }
    }
}

impl LogRing {
    /// Makes the ring of a server whose lines somebody may want to read along.
    pub(crate) fn of(server: &ServerKey, host: &Arc<dyn Host>) -> Arc<Self> {
        Arc::new(Self { ring: Mutex::default(), told: Some((Arc::clone(host), server.clone())) })
    }

    pub(crate) fn push(&self, line: &[u8]) {
        self.push_bytes(cut(line).into());
    }

    /// Takes a line the server wrote where only messages belong.
    pub(crate) fn push_noise(&self, line: &[u8]) {
        self.push_bytes([b"[stdout] ", cut(line)].concat().into());
    }

    /// Takes up lines that another program kept, with their times as far as it did.
    pub(crate) fn recall(&self, lines: &[String], times_ms: &[u64]) {
        let times = times_ms.iter().copied().chain(std::iter::repeat(LoggedLine::clock_ms()));
        for (line, at) in lines.iter().zip(times) {
            self.keep(cut(line.as_bytes()).into(), at);
        }
    }

    /// Notes that what follows is said by a new process.
    pub(crate) fn new_life(&self) {
        self.lock().fresh = 0;
    }

    fn push_bytes(&self, bytes: Box<[u8]>) {
        let told = self.told.as_ref().filter(|(host, _)| host.wants_logs());
        let told = told.map(|told| (told, bytes.clone()));
        let at = LoggedLine::clock_ms();
        let number = self.keep(bytes, at);
        if let Some(((host, server), bytes)) = told {
            host.logged(server, Line { at_ms: at, number, bytes }.shown());
        }
    }

    /// Keeps a line and returns its number.
    fn keep(&self, bytes: Box<[u8]>, at_ms: u64) -> u64 {
        let mut ring = self.lock();
        if ring.lines.len() == MAX_LINES {
            ring.lines.pop_front();
        }
        let number = LoggedLine::next_number();
        ring.lines.push_back(Line { at_ms, number, bytes });
        ring.fresh = (ring.fresh + 1).min(MAX_LINES);
        number
    }

    /// Returns the last `count` lines, oldest first.
    pub(crate) fn last(&self, count: usize) -> Vec<LoggedLine> {
        let lines = &self.lock().lines;
        lines.iter().skip(lines.len().saturating_sub(count)).map(Line::shown).collect()
    }

    /// Returns the words of the last `count` lines.
    pub(crate) fn last_words(&self, count: usize) -> Vec<String> {
        self.last(count).into_iter().map(|line| line.line).collect()
    }

    /// Returns the few lines of this life that tell most as one text for an error message.
    pub(crate) fn tail(&self) -> Option<String> {
        let fresh = self.lock().fresh;
        let lines = self.last_words(fresh.min(LOOKED_AT));
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
