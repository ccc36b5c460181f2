//! How commands speak: a table for people, rows for a pipe, JSON for programs; and how they fail.
//!
//! What was asked for goes to standard output, what is said beside it to standard error. No text of a server's comes
//! here without passing `escape`.

mod color;
mod exit;
mod failure;
mod json;
mod moment;
mod plain;
mod progress;
mod record;
mod stdout;
mod table;
#[cfg(test)]
mod tests;
mod units;

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use serde::Serialize;

pub(crate) use color::{ColorArg, Paint, Tone};
pub(crate) use exit::Exit;
pub(crate) use failure::{Failure, Suggestion};
pub(crate) use json::escaped_json;
use json::{compact, pretty};
pub(crate) use moment::before_now;
pub(crate) use progress::Progress;
pub(crate) use record::Record;
pub(crate) use stdout::{ended, write};
pub(crate) use table::{Cell, Column, Table};
pub(crate) use units::{bytes, counted, span};

pub(crate) use manifold_admin::{escaped_line, escaped_text};
use manifold_config::Environment;

/// How wide a terminal is taken to be that does not say.
const USUAL_WIDTH: usize = 80;

/// The form that was asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Form {
    /// A table on a terminal, rows in a pipe.
    #[default]
    Text,
    Json,
    /// Ids alone, one a line.
    Ids,
}

/// Where a command writes, and how.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    form: Form,
    /// How wide the terminal is; `None`: it is none.
    width: Option<usize>,
    /// Whether standard output, and standard error, may be coloured.
    colors: bool,
    error_colors: bool,
    /// Whether somebody watches standard error.
    is_watched: bool,
    is_verbose: bool,
}

impl Output {
    /// Finds out how to speak: by what was asked for, by the terminal, and by the variables that terminals go by.
    pub(crate) fn new(form: Form, color: ColorArg, is_verbose: bool, environment: &Environment) -> Self {
        let (stdout, stderr) = (io::stdout().is_terminal(), io::stderr().is_terminal());
        Self {
            form,
            width: stdout.then(terminal_width),
            colors: color.is_wanted(stdout, environment),
            error_colors: color.is_wanted(stderr, environment),
            is_watched: stderr && !color::is_dumb(environment),
            is_verbose,
        }
    }

    /// Speaks JSON, whatever the terminal is.
    pub(crate) fn for_programs() -> Self {
        Self {
            form: Form::Json,
            width: None,
            colors: false,
            error_colors: false,
            is_watched: false,
            is_verbose: false,
        }
    }

    pub(crate) fn form(&self) -> Form {
        self.form
    }

    pub(crate) fn is_json(&self) -> bool {
        self.form == Form::Json
    }

    /// Returns whether a person sees what is waited for.
    pub(crate) fn is_watched(&self) -> bool {
        self.is_watched
    }

    pub(crate) fn has_colors(&self) -> bool {
        self.colors
    }

    /// Returns whether a person looks at standard output.
    pub(crate) fn is_terminal(&self) -> bool {
        self.width.is_some()
    }

    pub(crate) fn paint(&self) -> Paint {
        Paint(self.colors)
    }

    /// Writes a table: aligned on a terminal, as plain rows in a pipe.
    pub(crate) fn table(&self, table: &Table) {
        self.text(&match self.width {
            Some(width) => table.render(width, self.paint()),
            None => plain::rows(table, self.paint()),
        });
    }

    /// Writes one document.
    pub(crate) fn json(&self, document: &impl Serialize) {
        self.text(&pretty(document));
    }

    /// Writes the members of one thing.
    pub(crate) fn record(&self, record: &Record) {
        self.text(&record.render(self.is_terminal(), self.paint()));
    }

    /// Writes one object on a line of its own, as streams do. Returns whether somebody still reads.
    pub(crate) fn json_line(&self, document: &impl Serialize) -> bool {
        self.text(&compact(document))
    }

    /// Writes a line. Returns whether somebody still reads.
    pub(crate) fn line(&self, line: &str) -> bool {
        write(&format!("{}\n", escaped_text(line)))
    }

    /// Writes text that is fit to be seen. Returns whether somebody still reads: who hung up is no failure.
    pub(crate) fn text(&self, text: &str) -> bool {
        let text = text.strip_suffix('\n').unwrap_or(text);
        text.is_empty() || write(&format!("{text}\n"))
    }

    /// Says something beside what was asked for.
    pub(crate) fn remark(&self, text: &str) {
        let _ = writeln!(io::stderr(), "manifold: {}", escaped_text(text));
    }

    /// Says what only those want to know who asked for more.
    pub(crate) fn detail(&self, text: &str) {
        if self.is_verbose {
            self.remark(text);
        }
    }

    /// Shows that something is waited for, as long as what it returns lives.
    pub(crate) fn progress(&self, what: &str) -> Progress {
        Progress::start(what, self.is_watched && !self.is_json())
    }

    /// Says what went wrong and returns the exit code for it.
    pub(crate) fn fail(&self, failure: &Failure) -> ExitCode {
        let line = match self.is_json() {
            true => failure.as_json(),
            false => failure.as_text(Paint(self.error_colors)),
        };
        let _ = writeln!(io::stderr(), "{line}");
        failure.exit.into()
    }
}

/// Returns a table as a terminal of this width shows it, without colours.
#[cfg(test)]
pub(crate) fn rendered(table: &Table, width: usize) -> String {
    table.render(width, Paint(false))
}

fn terminal_width() -> usize {
    let width = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    width.filter(|width| *width > 0).unwrap_or(USUAL_WIDTH)
}
