//! How these commands end and what they may write: the words are those of every command.

use std::process::ExitCode;

use manifold_admin::{CommandError, ErrorCode};

/// How a command ended. Scripts rely on the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Ok = 0,
    Failed = 1,
    Usage = 2,
    Unreachable = 4,
    ToolError = 5,
    SignIn = 6,
    Unknown = 7,
    Denied = 8,
    TimedOut = 124,
    Interrupted = 130,
}

/// What went wrong, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    pub(crate) server: Option<String>,
    pub(crate) exit: Exit,
}

impl Failure {
    pub(crate) fn new(exit: Exit, code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into(), hint: None, server: None, exit }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, "usage", message)
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

impl From<CommandError> for Failure {
    fn from(error: CommandError) -> Self {
        let exit = match error.code {
            ErrorCode::UnknownServer
            | ErrorCode::UnknownNamespace
            | ErrorCode::UnknownItem
            | ErrorCode::UnknownClient => Exit::Unknown,
            ErrorCode::AmbiguousServer
            | ErrorCode::AmbiguousItem
            | ErrorCode::BadRequest
            | ErrorCode::Stale
            | ErrorCode::ConfigRefused => Exit::Usage,
            ErrorCode::Denied => Exit::Denied,
            ErrorCode::TimedOut => Exit::TimedOut,
            ErrorCode::FailedToStart => Exit::Unreachable,
            ErrorCode::SignIn => Exit::SignIn,
            _ => Exit::Failed,
        };
        let code = serde_json::to_string(&error.code).unwrap_or_default();
        let failure = Self::new(exit, code.trim_matches('"'), error.message);
        Self { hint: error.hint, server: error.server.map(|server| server.id), ..failure }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Returns text with nothing in it that a terminal would obey. Line ends and tabs stay.
pub(crate) fn escaped_text(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.replace("\r\n", "\n").chars() {
        match c {
            '\n' | '\t' => safe.push(c),
            c if is_unsafe(c) => safe.extend(c.escape_unicode()),
            c => safe.push(c),
        }
    }
    safe
}

/// Returns JSON with the same meaning and nothing in it that a terminal would obey.
pub(crate) fn escaped_json(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '\n' | '\t' | '\r' => safe.push(if c == '\r' { ' ' } else { c }),
            c if is_unsafe(c) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    safe.push_str(&format!("\\u{unit:04x}"));
                }
            }
            c => safe.push(c),
        }
    }
    safe
}

fn is_unsafe(c: char) -> bool {
    matches!(c,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}' | '\u{ad}' | '\u{180e}')
}
