use std::collections::HashMap;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::modern::Era;

/// What the fake server is told, as one JSON object. A misspelt knob is an error, so no test passes by accident.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Knobs {
    /// `serverInfo.name`.
    pub name: String,
    /// What it speaks.
    pub era: Era,
    /// Listed as written; only a missing `inputSchema` is filled in.
    pub tools: Vec<Box<RawValue>>,
    pub resources: Vec<Box<RawValue>>,
    pub resource_templates: Vec<Box<RawValue>>,
    pub prompts: Vec<Box<RawValue>>,
    /// Replaces the capabilities that follow from the lists.
    pub capabilities: Option<Value>,
    /// Answered whatever the client asks for; the client's own version otherwise.
    pub protocol_version: Option<String>,
    pub instructions: Option<String>,

    /// Method to milliseconds before its answer.
    pub delay_ms: HashMap<String, u64>,
    /// Method to the error object it is answered with.
    pub error: HashMap<String, Box<RawValue>>,
    /// Exits with 3 when this method arrives, before answering.
    pub crash_on: Option<String>,
    /// Exits with 3 at the Nth message of `crash_on`, or at the Nth message at all.
    pub crash_on_nth: Option<u64>,
    /// Exits with 1 at the first N starts, counted in `state_file`.
    pub fail_starts: u64,
    pub state_file: Option<PathBuf>,
    /// Never answers this method, and goes on reading.
    pub hang_on: Option<String>,
    /// Stops reading its input for good when this method arrives (F4).
    pub stop_reading_on: Option<String>,
    /// Half an answer, then a newline.
    pub malformed_reply_to: Option<String>,
    /// A notification and a response nobody asked for, before each answer.
    pub noise: bool,
    /// Lines on stdout before anything else.
    pub garbage: Vec<String>,
    /// Lines on stderr at start.
    pub stderr_flood: u64,

    pub ignore_eof: bool,
    pub ignore_term: bool,
    pub grandchildren: Option<Grandchildren>,
    /// Lets the grandchildren keep our stdout open.
    pub hold_stdout: bool,
    /// Where the pids of the grandchildren are appended.
    pub pid_file: Option<PathBuf>,
    /// Where our own pid is appended at every start.
    pub pid: Option<PathBuf>,
    /// Where each message received is appended as a JSON line.
    pub log: Option<PathBuf>,
    /// Where each run of a tool is appended as a line: `TOOL run`, or `TOOL retry` for a later round of the same call.
    pub runs: Option<PathBuf>,

    /// Cuts each list in this many pages.
    pub pages: usize,
    /// The cursor of the second page is the empty string.
    pub empty_cursor: bool,
    /// The last page leads back to the second.
    pub cyclic_cursor: bool,
    /// The last page leads to an empty one, and so on for ever.
    pub endless_cursor: bool,
}

/// How a descendant tries to get away.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Grandchildren {
    /// An ordinary child.
    Plain,
    /// A child in its own session.
    Setsid,
    /// A daemon: its parent is gone and it leads a session.
    DoubleFork,
}

impl Knobs {
    /// Returns which start this is, from 1, if it is one that shall fail.
    pub(super) fn failing_attempt(&self) -> Option<u64> {
        let path = self.state_file.as_ref().filter(|_| self.fail_starts > 0)?;
        let before =
            std::fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0u64);
        std::fs::write(path, (before + 1).to_string()).expect("the state file can be written");
        (before < self.fail_starts).then_some(before + 1)
    }
}

impl Default for Knobs {
    fn default() -> Self {
        let echo = r#"{"name":"echo","description":"Says it back"}"#.to_owned();
        Self {
            name: "fake".to_owned(),
            era: Era::Legacy,
            tools: vec![RawValue::from_string(echo).expect("a JSON literal")],
            resources: Vec::new(),
            resource_templates: Vec::new(),
            prompts: Vec::new(),
            capabilities: None,
            protocol_version: None,
            instructions: None,
            delay_ms: HashMap::new(),
            error: HashMap::new(),
            crash_on: None,
            crash_on_nth: None,
            fail_starts: 0,
            state_file: None,
            hang_on: None,
            stop_reading_on: None,
            malformed_reply_to: None,
            noise: false,
            garbage: Vec::new(),
            stderr_flood: 0,
            ignore_eof: false,
            ignore_term: false,
            grandchildren: None,
            hold_stdout: false,
            pid_file: None,
            pid: None,
            log: None,
            runs: None,
            pages: 1,
            empty_cursor: false,
            cyclic_cursor: false,
            endless_cursor: false,
        }
    }
}
