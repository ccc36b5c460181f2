//! `replay`: a recording served, its calls made again, or compared with another.

mod again;

use std::io::{self, BufReader};
use std::path::Path;
use std::process::ExitCode;

use manifold_admin::RecordingDiff;
use manifold_recording::{Ignored, Playback, PlaybackOptions, Recorded, diff, serve};

use super::call::Whom;
use super::recordings::read;
use super::verb::Verb;
use crate::cli::{ReplayArgs, ReplayCommand};
use crate::output::{Exit, Failure, Form, Output};
use again::How;

pub(super) fn run(args: &ReplayArgs, verb: Verb) -> ExitCode {
    verb.run(|verb| {
        if let Some(ReplayCommand::Diff { first, second, ignore, .. }) = &args.command {
            return compare(first, second, ignore, verb);
        }
        let file = args.file.as_deref().unwrap_or(Path::new(""));
        let (path, recorded) = read(file, verb)?;
        let whom = if args.fresh { Whom::Fresh } else { Whom::Running };
        let how = How { whom, yes: args.yes };
        match &args.mode {
            mode if mode.serve => stand_in(args, &path, &recorded),
            mode if mode.verify => again::verify(&recorded, &paths(&args.ignore)?, how, verb),
            mode => match mode.call {
                Some(call) => again::call(&recorded, call, how, verb),
                None => Err(Failure::usage("say what to do with it: --serve, --call NUMBER or --verify")),
            },
        }
    })
}

/// Answers on standard streams, until the client closes them.
fn stand_in(args: &ReplayArgs, path: &Path, recorded: &Recorded) -> Result<Exit, Failure> {
    let failed = |why: String| Failure::new(Exit::Failed, "failed", format!("{}: {why}", path.display()));
    if args.pace.is_some_and(|pace| !pace.is_finite() || pace < 0.0) {
        return Err(Failure::usage("--pace must be a number from 0 on"));
    }
    let options =
        PlaybackOptions { pace: args.pace, allow_redacted: args.allow_redacted, server: args.server.clone() };
    let mut playback = Playback::new(recorded, options).map_err(|error| failed(error.to_string()))?;
    match serve(&mut playback, BufReader::new(io::stdin()), io::stdout()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(failed(error.to_string())),
        _ => Ok(Exit::Ok),
    }
}

fn compare(first: &Path, second: &Path, ignore: &[String], verb: &Verb) -> Result<Exit, Failure> {
    let ignored = paths(ignore)?;
    let ((_, first), (_, second)) = (read(first, verb)?, read(second, verb)?);
    let found = diff(&first, &second, &ignored);
    match verb.output.form() {
        Form::Json => verb.output.json(&found),
        _ => show_diff(&found, &verb.output),
    }
    Ok(if found.is_empty() { Exit::Ok } else { Exit::Failed })
}

fn show_diff(found: &RecordingDiff, output: &Output) {
    let say = |what: &str, of: &str| _ = output.line(&format!("{what} {of}"));
    found.tools_added.iter().for_each(|tool| say("tool added:", tool));
    found.tools_removed.iter().for_each(|tool| say("tool removed:", tool));
    for change in &found.tools_changed {
        say("tool changed:", &format!("{} ({})", change.tool, change.parts.join(", ")));
    }
    for call in &found.calls {
        say("result differs:", &format!("{} {} at {}", call.tool, call.arguments, call.paths.join(", ")));
    }
    found.only_in_first.iter().for_each(|call| say("only in the first:", call));
    found.only_in_second.iter().for_each(|call| say("only in the second:", call));
    if found.is_empty() {
        output.remark("nothing differs");
    }
}

fn paths(written: &[String]) -> Result<Vec<Ignored>, Failure> {
    let parse = |path: &String| Ignored::parse(path).map_err(|error| Failure::usage(error.to_string()));
    written.iter().map(parse).collect()
}
