//! How far a call is: one line on standard error, written over and over, where somebody watches.

use std::io::{self, Write as _};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::output::escaped_text;

/// What fits a terminal of any width.
const MAX_CHARS: usize = 70;

/// The line.
#[derive(Debug, Default)]
pub(crate) struct ProgressLine {
    is_watched: bool,
    is_shown: bool,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    progress: Option<&'a RawValue>,
    #[serde(borrow)]
    total: Option<&'a RawValue>,
    message: Option<String>,
}

impl ProgressLine {
    pub(crate) fn new(is_watched: bool) -> Self {
        Self { is_watched, is_shown: false }
    }

    /// Shows the parameters of a progress notification.
    pub(crate) fn show(&mut self, params: &RawValue) {
        if !self.is_watched {
            return;
        }
        if let Some(line) = line(params.get()) {
            let _ = write!(io::stderr(), "\r\u{1b}[K{line}");
            let _ = io::stderr().flush();
            self.is_shown = true;
        }
    }

    /// Leaves the place as it was.
    pub(crate) fn clear(&mut self) {
        if self.is_shown {
            let _ = write!(io::stderr(), "\r\u{1b}[K");
            let _ = io::stderr().flush();
            self.is_shown = false;
        }
    }
}

/// Returns what to show: `3/10 copying files`.
fn line(params: &str) -> Option<String> {
    let Params { progress, total, message } = serde_json::from_str(params).ok()?;
    let done = progress.map_or("", RawValue::get);
    let of = total.map_or_else(String::new, |total| format!("/{}", total.get()));
    let message = message.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    let said = format!("{done}{of} {message}");
    let line = escaped_text(said.trim());
    Some(line.chars().take(MAX_CHARS).collect())
}

#[cfg(test)]
#[test]
fn a_line_says_how_far_it_is() {
    assert_eq!(line(r#"{"progress":3,"total":10,"message":"a\nb\u001b[2J"}"#).unwrap(), "3/10 a b\\u{1b}[2J");
    assert_eq!(line(r#"{"progress":0.5}"#).unwrap(), "0.5");
    assert_eq!(line("[]"), None);
}
