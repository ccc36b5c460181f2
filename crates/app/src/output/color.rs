//! Whether output is coloured, and the few colours there are.

use clap::ValueEnum;
use manifold_config::Environment;

/// `--color`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorArg {
    // On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    Always,
    Never,
}

impl ColorArg {
    pub(super) fn is_wanted(self, is_terminal: bool, environment: &Environment) -> bool {
        let is_refused = environment.vars.get("NO_COLOR").is_some_and(|value| !value.is_empty());
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => is_terminal && !is_refused && !is_dumb(environment),
        }
    }
}

/// Returns whether the terminal can only go on writing.
pub(super) fn is_dumb(environment: &Environment) -> bool {
    environment.vars.get("TERM").is_none_or(|term| term.is_empty() || term == "dumb")
}

/// What a piece of text means.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Tone {
    #[default]
    Plain,
    Heading,
    Good,
    Busy,
    Bad,
    /// Of less weight than its neighbours.
    Faint,
}

/// Puts colours on text, or leaves it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint(pub(super) bool);

impl Paint {
    pub(crate) fn tone(self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Heading => "1",
            Tone::Good => "32",
            Tone::Busy => "33",
            Tone::Bad => "31",
            Tone::Faint => "2",
            Tone::Plain => return text.to_owned(),
        };
        if self.0 { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    pub(crate) fn heading(self, text: &str) -> String {
        self.tone(Tone::Heading, text)
    }
}
