//! The last lines that servers wrote beside the protocol.

use std::collections::VecDeque;

use manifold_admin::{LogLine, escaped_line};

/// So many lines are kept.
pub(crate) const MAX_LINES: usize = 5000;

/// So much is kept of one line, and of all.
const MAX_LINE_BYTES: usize = 8 << 10;
const MAX_BYTES: usize = 8 << 20;

#[derive(Debug, Default)]
pub(crate) struct Logs {
    pub(crate) lines: VecDeque<Line>,
    pub(crate) is_loaded: bool,
    next: u64,
    bytes: usize,
}

/// A line that is fit to be shown.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) number: u64,
    pub(crate) time: String,
    pub(crate) server: String,
    pub(crate) text: String,
}

impl Logs {
    pub(crate) fn add(&mut self, line: LogLine) {
        let mut text = line.line;
        let whole = text.len();
        if whole > MAX_LINE_BYTES {
            text.truncate(text.floor_char_boundary(MAX_LINE_BYTES));
        }
        let mut text = escaped_line(&text).into_owned();
        if whole > MAX_LINE_BYTES {
            text.push_str(&format!(" … {} bytes more", whole - MAX_LINE_BYTES));
        }
        self.bytes += text.len();
        let (time, server) = (line.time, line.server.unwrap_or_default());
        self.lines.push_back(Line {
            number: self.next,
            time: escaped_line(&time).into_owned(),
            server: escaped_line(&server).into_owned(),
            text,
        });
        self.next += 1;
        while self.lines.len() > MAX_LINES || self.bytes > MAX_BYTES {
            let Some(oldest) = self.lines.pop_front() else { break };
            self.bytes -= oldest.text.len();
        }
    }

    /// Takes over what the gateway has kept, in the order of its times; what came meanwhile is in it.
    pub(crate) fn take(&mut self, mut lines: Vec<LogLine>) {
        lines.sort_by(|a, b| a.time.cmp(&b.time));
        let newest = lines.last().map(|line| line.time.clone()).unwrap_or_default();
        let later: Vec<Line> = self.lines.drain(..).filter(|line| line.time > newest).collect();
        self.bytes = 0;
        lines.into_iter().for_each(|line| self.add(line));
        for line in later {
            self.bytes += line.text.len();
            let number = self.next;
            self.next += 1;
            self.lines.push_back(Line { number, ..line });
        }
        self.is_loaded = true;
    }

    /// Returns the last lines of one server.
    pub(crate) fn last_of(&self, server: &str, count: usize) -> Vec<&Line> {
        let mut last: Vec<&Line> =
            self.lines.iter().rev().filter(|line| line.server == server).take(count).collect();
        last.reverse();
        last
    }
}
