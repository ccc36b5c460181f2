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

pub(super) fn profile(name: &str) -> Result<Profile, String> {
    Profile::from_name(name).ok_or_else(|| {
        let known: Vec<&str> = Profile::ALL.iter().map(|profile| profile.name()).collect();
        format!("the profiles are {}", known.join(", "))
    })
}
