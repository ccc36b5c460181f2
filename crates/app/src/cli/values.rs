//! The values flags take, and what they mean inside.

use clap::ValueEnum;
use manifold_config::{LogFormat, LogLevel, Profile};
use manifold_protocol::framing::Framing;

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum LevelArg {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum FormatArg {
    Text,
    Json,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum FramingArg {
    Newline,
    ContentLength,
}

impl From<LevelArg> for LogLevel {
    fn from(level: LevelArg) -> Self {
        match level {
            LevelArg::Error => Self::Error,
            LevelArg::Warn => Self::Warn,
            LevelArg::Info => Self::Info,
            LevelArg::Debug => Self::Debug,
            LevelArg::Trace => Self::Trace,
        }
    }
}

impl From<FormatArg> for LogFormat {
    fn from(format: FormatArg) -> Self {
        match format {
            FormatArg::Text => Self::Text,
            FormatArg::Json => Self::Json,
        }
    }
}

impl From<FramingArg> for Framing {
    fn from(framing: FramingArg) -> Self {
        match framing {
            FramingArg::Newline => Self::Newline,
            FramingArg::ContentLength => Self::ContentLength,
        }
    }
}

/// A span of time, as people write it.
pub(crate) type Span = std::time::Duration;

/// Reads `30s`, `10m`, `2h` or `1d`; a bare number is seconds.
pub(super) fn span(text: &str) -> Result<Span, String> {
    let wrong = || format!("'{text}' is no span of time; write 30s, 10m, 2h or 1d");
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(digits).ok_or_else(wrong)?;
    let seconds = match unit {
        "" | "s" => 1,
        "m" | "min" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number.checked_mul(seconds).map(Span::from_secs).ok_or_else(wrong)
}

/// Reads a span in which something can happen.
pub(super) fn future_span(text: &str) -> Result<Span, String> {
    match span(text)? {
        Span::ZERO => Err("it would be over as it begins".to_owned()),
        span => Ok(span),
    }
}

pub(super) fn profile(name: &str) -> Result<Profile, String> {
    Profile::from_name(name).ok_or_else(|| {
        let known: Vec<&str> = Profile::ALL.iter().map(|profile| profile.name()).collect();
        format!("the profiles are {}", known.join(", "))
    })
}
