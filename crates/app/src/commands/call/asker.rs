//! Whoever asks by these commands: where it asks, with what, and how it wants the answer.

use std::io::Read as _;
use std::{fs, io};

use manifold_admin::{AskOptions, AskerEnvironment};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use super::conversation::Conversation;
use super::deadline::Deadline;
use super::gateway::Gateway;
use super::inbox::Interrupts;
use super::person::Person;
use super::progress::ProgressLine;
use super::show::{Answer, Form, Shown, Wanted, show};
use crate::cli::HowArgs;
use crate::output::{Exit, Failure};

/// More is no argument; `/dev/zero` has no end.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// Who asks.
pub(crate) struct Asker<'a> {
    pub(crate) gateway: &'a dyn Gateway,
    /// Who answers what servers ask; nobody: it is declined.
    pub(crate) person: Option<&'a mut dyn Person>,
    pub(crate) interrupts: Interrupts,
    pub(crate) namespace: Option<&'a str>,
    /// What servers are started with; `None`: with what the gateway has.
    pub(crate) environment: Option<AskerEnvironment>,
    /// Whether standard output is a terminal.
    pub(crate) to_terminal: bool,
    /// Whether somebody watches standard error.
    pub(crate) is_watched: bool,
    /// When all of it is given up.
    pub(crate) deadline: Deadline,
}

impl Asker<'_> {
    /// Returns what goes with every request.
    pub(super) fn options(&self) -> Result<AskOptions, Failure> {
        Ok(AskOptions {
            namespace: self.namespace.map(str::to_owned),
            client: self.environment.clone(),
            timeout_ms: self.deadline.left_ms()?,
            answers_questions: self.person.is_some(),
        })
    }

    /// Asks and shows the answer; `name` is what it was asked of.
    pub(super) fn ask(
        &mut self,
        path: &str,
        request: &impl Serialize,
        (answer, name): (Answer, &str),
        how: &HowArgs,
    ) -> Result<Shown, Failure> {
        let result = self.result(path, request, how)?;
        let wanted = Wanted { form: form(how), out: how.out.clone(), to_terminal: self.to_terminal };
        show(result.get(), answer, name, &wanted)
    }

    fn result(
        &mut self,
        path: &str,
        request: &impl Serialize,
        how: &HowArgs,
    ) -> Result<Box<RawValue>, Failure> {
        let unwritable = |error: serde_json::Error| Failure::new(Exit::Failed, "failed", error.to_string());
        let body = to_raw_value(request).map_err(unwritable)?;
        let mut conversation = Conversation {
            gateway: self.gateway,
            person: self.person.as_mut().map(|person| &mut **person as &mut dyn Person),
            progress: ProgressLine::new(self.is_watched && !how.json),
            interrupts: self.interrupts.clone(),
        };
        conversation.ask(path, &body)
    }
}

fn form(how: &HowArgs) -> Form {
    match (how.json, how.raw) {
        (true, _) => Form::Json,
        (_, true) => Form::Raw,
        _ => Form::Text,
    }
}

/// Reads what an `@` names; `-` is standard input.
pub(super) fn read_file(name: &str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    match name {
        "-" => io::stdin().take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?,
        name => fs::File::open(name)?.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?,
    };
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(io::Error::other("it is larger than 64 MiB"));
    }
    Ok(bytes)
}
