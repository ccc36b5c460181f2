//! What every command has at hand that asks a gateway.
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "no runtime runs here")]

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use manifold_admin::{About, ErrorCode, Namespace, Server, Snapshot};
use manifold_config::LoadOptions;

use super::clients::namespaces;
use super::patience::Patience;
use crate::cli::Flags;
use crate::commands::source::{FILES, Need, Source};
use crate::interrupt::on_interrupt;
use crate::output::{Exit, Failure, Form, Output, Suggestion};

/// By how much longer a gateway may be silent than servers may take to start.
const SILENCE: Duration = Duration::from_secs(5);

/// A command, as it was asked for.
pub(super) struct Verb<'a> {
    pub(super) options: &'a LoadOptions,
    pub(super) flags: &'a Flags,
    pub(super) output: Output,
}

impl<'a> Verb<'a> {
    pub(super) fn new(form: Form, options: &'a LoadOptions, flags: &'a Flags) -> Self {
        let output = Output::new(form, flags.color, flags.verbose, &options.environment);
        Self { options, flags, output }
    }

    /// Carries it out, and says what went wrong where something did.
    pub(super) fn run(self, how: impl FnOnce(&Self) -> Result<Exit, Failure>) -> ExitCode {
        how(&self).map_or_else(|failure| self.output.fail(&failure), Into::into)
    }

    /// Has Ctrl-C end a command that waits, with nothing left of what it showed. To be called before there is a second
    /// thread.
    pub(super) fn end_on_interrupt(&self) -> Result<(), Failure> {
        let output = self.output.clone();
        let end = move || {
            if output.is_watched() {
                let _ = io::stderr().write_all(b"\r\x1b[2K");
            }
            // A program is told why nothing came; people have pressed the keys themselves.
            if output.is_json() {
                output.fail(&Failure::new(Exit::Interrupted, "interrupted", "the command was interrupted"));
            }
            std::process::exit(Exit::Interrupted.code().into());
        };
        on_interrupt(end).map_err(|error| Failure::new(Exit::Failed, "failed", error.to_string()))
    }

    /// Has the command fail where a gateway does not keep to the time it was given, until what is returned is dropped.
    pub(super) fn give_up_after(&self, patience: Duration) -> Patience {
        let message = format!("the gateway did not answer within {} ms", patience.as_millis());
        let failure = Failure::new(Exit::TimedOut, "timed-out", message)
            .hint("`manifold daemon status` shows whether it is well");
        let late = Instant::now().checked_add(patience + SILENCE).map(|at| (at, failure));
        Patience::until(late, &self.output)
    }

    /// Finds the gateway to ask, which must have a config to answer from.
    pub(super) fn reach(&self, need: Need) -> Result<Source, Failure> {
        let source = self.reach_any(need)?;
        if let Some(about) = source.about() {
            self.check_config(about, &source.which())?;
        }
        Ok(source)
    }

    /// Finds the gateway to ask, whatever it serves, and says which it is to those who want to know.
    pub(super) fn reach_any(&self, need: Need) -> Result<Source, Failure> {
        let source = Source::find(self.options, self.flags, need)?;
        let is_written = need == Need::Written && source.is_own();
        let which = if is_written { FILES.to_owned() } else { source.which() };
        self.output.detail(&format!("asked {which}"));
        Ok(source)
    }

    /// Finds the gateway for a change, and says so where nobody will know of it afterwards.
    pub(super) fn reach_for_change(&self, need: Need) -> Result<Source, Failure> {
        let source = self.reach(need)?;
        if let Some(why) = source.about().and_then(|about| about.audit_fault.as_deref()) {
            self.output.remark(&format!("this change is not written down in the audit: {why}"));
        }
        Ok(source)
    }

    /// Returns the namespace that is asked for, which must be one of those there are.
    pub(super) fn namespace<'s>(&self, snapshot: &'s Snapshot) -> Result<Option<&'s Namespace>, Failure> {
        let Some(wanted) = self.flags.namespace.as_deref() else { return Ok(None) };
        namespaces::find(snapshot, wanted).map(Some)
    }

    /// Says that a gateway serves another config than the one that is written; fails where it serves none.
    pub(super) fn check_config(&self, about: &About, which: &str) -> Result<(), Failure> {
        if let Some(why) = &about.unread {
            let message = format!("{which} has no servers, as its config cannot be used: {why}");
            return Err(Failure::config(message).hint("correct the file; it is read anew when it changes"));
        }
        if let Some(why) = &about.refused {
            self.output.remark(&format!("{which} goes on with an earlier config: {why}"));
        }
        Ok(())
    }
}

/// Returns the server of this name: an id, `schema/id`, or the id its tools are prefixed with.
pub(super) fn find<'s>(servers: &'s [Server], name: &str) -> Result<&'s Server, Failure> {
    let by_key = servers.iter().find(|server| server.key.to_string() == name);
    let mut by_id = servers.iter().filter(|server| server.key.id == name);
    match (by_key, by_id.next(), by_id.next()) {
        (Some(server), ..) => Ok(server),
        (None, Some(first), Some(second)) => {
            let names = [first, second].into_iter().chain(by_id).map(|server| format!("`{}`", server.key));
            let names: Vec<String> = names.collect();
            let code = ErrorCode::AmbiguousServer;
            let message = format!("several schemas have a server '{name}'");
            Err(Failure::new(Exit::of(code), code.as_str(), message)
                .hint(format!("say which: {}", names.join(", "))))
        }
        (None, Some(server), None) => Ok(server),
        (None, None, _) => {
            servers.iter().find(|server| server.exposed_id == name).ok_or_else(|| unknown(servers, name))
        }
    }
}

fn unknown(servers: &[Server], name: &str) -> Failure {
    let code = ErrorCode::UnknownServer;
    let failure = Failure::new(Exit::of(code), code.as_str(), format!("there is no server '{name}'"));
    failure.hint(suggested(servers, name))
}

/// Returns what to say to somebody who named a server that is not there.
pub(super) fn suggested(servers: &[Server], name: &str) -> String {
    let ids: Vec<String> = servers.iter().map(|server| server.key.to_string()).collect();
    Suggestion::among(ids.iter().map(String::as_str), name).or("`manifold list` shows those there are")
}
