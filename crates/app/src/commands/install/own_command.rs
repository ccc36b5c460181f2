//! A change by the client's own command; and, where we write a file that its program rewrites, the care that takes.

use std::thread;
use std::time::Duration;

use manifold_config::{OwnCommand, Plug, Scope};
use manifold_setup::{Back, COMMAND_PATIENCE, Changes, find_program, running};

use super::super::verb::Verb;
use super::ClientFile;
use crate::output::{Exit, Failure, escaped_line};

/// A program that rewrites its file does so within this.
const SECOND_LOOK: Duration = Duration::from_millis(1500);

/// Has the client's own command do all of these steps; tells whether it did. Where it has no such command, where that is not
/// on `PATH`, or where it fails, the file is for us to write.
#[expect(clippy::too_many_arguments, reason = "a change, and all that it takes to make it")]
pub(in super::super) fn change_by_command(
    file: &ClientFile,
    steps: &[(OwnCommand, &str)],
    plug: &Plug,
    scope: Scope,
    back: &Back,
    changes: &mut Changes,
    verb: &Verb,
    is_done: &dyn Fn(&str) -> bool,
) -> Result<bool, Failure> {
    let Some(commands) = commands(file, steps, plug, scope, verb) else { return Ok(false) };
    let watch = changes.watch(&file.target, back.clone())?;
    let progress = verb.output.progress(&format!("{} changes its file", file.client.title()));
    let failed = commands.iter().find_map(|argv| failure_of(argv, verb));
    drop(progress);
    changes.settle(watch)?;
    let text = file.read_as_text(file.target.read()?.as_deref())?;
    if failed.is_none() && is_done(&text) {
        return Ok(true);
    }
    let why = failed.unwrap_or_else(|| "it did not change the file".to_owned());
    verb.output
        .remark(&format!("{}'s own command was of no use: {why}; its file is written", file.client.title()));
    Ok(false)
}

/// Tells whether the client has a command of its own for all of these steps, on `PATH`.
pub(in super::super) fn has_command(
    file: &ClientFile,
    steps: &[(OwnCommand, &str)],
    plug: &Plug,
    scope: Scope,
    verb: &Verb,
) -> bool {
    commands(file, steps, plug, scope, verb).is_some()
}

/// Returns the client's own commands for these steps, if all of them are there.
fn commands(
    file: &ClientFile,
    steps: &[(OwnCommand, &str)],
    plug: &Plug,
    scope: Scope,
    verb: &Verb,
) -> Option<Vec<Vec<String>>> {
    let found: Option<Vec<Vec<String>>> =
        steps.iter().map(|(what, name)| file.client.own_command(*what, name, plug, scope)).collect();
    let is_there = |argv: &Vec<String>| find_program(&argv[0], &verb.options.environment).is_some();
    found.filter(|found| !found.is_empty() && found.iter().all(is_there))
}

/// Runs a command; returns what it said if it failed.
fn failure_of(argv: &[String], verb: &Verb) -> Option<String> {
    let shown = argv.iter().take(3).cloned().collect::<Vec<_>>().join(" ");
    verb.output.detail(&format!("running `{shown} …`"));
    match manifold_setup::run(argv, &verb.options.environment, COMMAND_PATIENCE) {
        Err(error) => Some(error.to_string()),
        Ok(done) if done.status.success() => None,
        Ok(done) => {
            let said = [&done.stderr, &done.stdout].into_iter().find(|said| !said.trim().is_empty());
            let last = said.and_then(|said| said.trim().lines().last()).unwrap_or("it says nothing");
            Some(format!("`{shown}` failed: {}", escaped_line(last)))
        }
    }
}

/// Refuses to write a file whose program runs and would write over it.
pub(in super::super) fn check_not_running(
    file: &ClientFile,
    is_forced: bool,
    verb: &Verb,
) -> Result<(), Failure> {
    let Some(program) = file.client.rewritten_by().filter(|_| !is_forced) else { return Ok(()) };
    let home = verb.options.environment.home.clone().unwrap_or_default();
    let found = running(program, &home);
    if found.is_empty() {
        return Ok(());
    }
    let ids: Vec<String> = found.iter().map(u32::to_string).collect();
    let said = format!(
        "{} runs (process {}) and rewrites {} as a whole",
        file.client.title(),
        ids.join(", "),
        file.shown()
    );
    Err(Failure::new(Exit::Failed, "busy", said).hint(format!(
        "end it first, put `{program}` on PATH so that its own command is used, or give --force"
    )))
}

/// Looks twice whether what was written to a file stays there, if its program rewrites it.
pub(in super::super) fn check_stays(
    file: &ClientFile,
    is_done: &dyn Fn(&str) -> bool,
    verb: &Verb,
) -> Result<(), Failure> {
    let look =
        || -> Result<bool, Failure> { Ok(is_done(&file.read_as_text(file.target.read()?.as_deref())?)) };
    let mut stays = look()?;
    if stays && file.client.rewritten_by().is_some() {
        let _progress = verb.output.progress("looking whether it stays");
        thread::sleep(SECOND_LOOK);
        stays = look()?;
    }
    if stays {
        return Ok(());
    }
    let said = format!("{} was written over: what was changed is not in it any more", file.shown());
    Err(Failure::new(Exit::Failed, "stale", said)
        .hint(format!("end {} and run the command again", file.client.title())))
}
