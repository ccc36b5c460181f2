//! What commands do by themselves is written down, as changes of the config are.

use manifold_admin::{Actor, AuditLine, AuditOutcome};

use super::verb::Verb;
use crate::audit::Audit;
use crate::output::{Exit, Failure};

/// Does something, and notes what it was and whether it was done. Of values nothing is noted.
pub(super) fn noted(
    verb: &Verb,
    word: &str,
    target: Option<&str>,
    work: impl FnOnce() -> Result<Exit, Failure>,
) -> Result<Exit, Failure> {
    let done = work();
    // Who is signed in is, though the server may want more all the same.
    note(verb, word, target, done.as_ref().err().filter(|failure| failure.exit != Exit::SignIn));
    done
}

/// Writes down what was done, or why it was not.
pub(super) fn note(verb: &Verb, word: &str, target: Option<&str>, error: Option<&Failure>) {
    let environment = &verb.options.environment;
    let Some(state) = environment.state_home() else { return };
    let audit = match Audit::open(&state) {
        Ok(audit) => audit,
        Err(why) => {
            return verb.output.remark(&format!("this change is not written down in the audit: {why}"));
        }
    };
    audit.append(&AuditLine {
        actor: Actor {
            uid: Some(nix::unistd::getuid().as_raw()),
            pid: Some(std::process::id()),
            program: environment.program.as_ref().map(|program| program.display().to_string()),
            face: "cli".to_owned(),
        },
        verb: word.to_owned(),
        target: target.map(str::to_owned),
        outcome: if error.is_none() { AuditOutcome::Done } else { AuditOutcome::Refused },
        error: error.map(|failure| failure.message.clone()),
        ..AuditLine::default()
    });
    audit.flush();
}
