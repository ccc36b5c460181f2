//! `record`: recordings begun and ended by the gateway that runs; what lies in files is read here.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use manifold_admin::{Filter, Method, RecordedCall, Recording, RecordingDetail, RecordingStart};
use manifold_admin_client::segment;
use manifold_recording::{Format, ReadError, Recorded, Side, check_name, exchanges, export, list, summary};

use super::source::{Need, Source};
use super::verb::Verb;
use crate::cli::RecordCommand;
use crate::output::{
    Cell, Column, Exit, Failure, Form, Output, Table, Tone, bytes, counted, escaped_json, escaped_text,
};
use crate::recorder::{file_of, recordings_folder};

pub(super) fn run(command: &RecordCommand, verb: Verb) -> ExitCode {
    verb.run(|verb| match command {
        RecordCommand::Start { name, filter, .. } => start(name, &filter.join(" "), verb),
        RecordCommand::Stop { name, .. } => stop(name, verb),
        RecordCommand::List(_) => show_all(verb),
        RecordCommand::Show { name, .. } => show(name, verb),
        RecordCommand::Export { name, format } => write_as(name, (*format).into(), verb),
    })
}

fn start(name: &str, filter: &str, verb: &Verb) -> Result<Exit, Failure> {
    check_name(name).map_err(|error| Failure::usage(error.to_string()))?;
    Filter::parse(filter).map_err(|error| {
        Failure::usage(format!("the filter cannot be read: {error}")).hint("docs/traffic.md has its words")
    })?;
    let filter = Some(filter.trim().to_owned()).filter(|filter| !filter.is_empty());
    let source = verb.reach_for_change(Need::Running)?;
    if verb.flags.namespace.is_some() {
        verb.namespace(&source.snapshot()?)?;
    }
    let start = RecordingStart { name: name.to_owned(), filter };
    let begun: Recording = source.client()?.send(Method::Post, "/v1/recordings", Some(&start))?;
    match verb.output.form() {
        Form::Json => verb.output.json(&begun),
        _ => _ = verb.output.line(&format!("recording to {}", begun.file)),
    }
    Ok(Exit::Ok)
}

fn stop(name: &str, verb: &Verb) -> Result<Exit, Failure> {
    let source = verb.reach_for_change(Need::Running)?;
    let path = format!("/v1/recordings/{}", segment(name));
    let ended: Recording = source.client()?.send(Method::Delete, &path, None::<&()>)?;
    match verb.output.form() {
        Form::Json => verb.output.json(&ended),
        _ => _ = verb.output.line(&format!("{}: {}", ended.file, size_of(&ended))),
    }
    match ended.problem {
        Some(problem) => Err(Failure::new(Exit::Failed, "failed", problem)),
        None => Ok(Exit::Ok),
    }
}

fn show_all(verb: &Verb) -> Result<Exit, Failure> {
    let recordings = match Source::find(verb.options, verb.flags, Need::Running) {
        Ok(source) => source.client()?.get("/v1/recordings")?,
        // What lies in files needs nobody to run.
        Err(failure) if failure.exit == Exit::NotRunning => match folder(verb) {
            Some(folder) => list(&folder).map_err(|error| unread(&folder, &error.into()))?,
            None => Vec::new(),
        },
        Err(failure) => return Err(failure),
    };
    let output = &verb.output;
    match output.form() {
        Form::Json => output.json(&recordings),
        Form::Ids => recordings.iter().for_each(|recording| _ = output.line(&recording.name)),
        Form::Text if recordings.is_empty() => output.remark("there are no recordings"),
        Form::Text => output.table(&table(&recordings)),
    }
    Ok(Exit::Ok)
}

fn table(recordings: &[Recording]) -> Table {
    let mut table = Table::new([
        Column::id("NAME"),
        Column::id("STATE"),
        Column::id("STARTED"),
        Column::id("FRAMES"),
        Column::id("SIZE"),
        Column::text("FILTER"),
    ]);
    for recording in recordings {
        let state = match (recording.is_running, &recording.problem) {
            (true, _) => Cell::new("running"),
            (false, None) => Cell::new("ended"),
            (false, Some(_)) => Cell::new("broken off").tone(Tone::Bad),
        };
        table.row([
            Cell::new(&recording.name),
            state,
            Cell::new(recording.started.as_deref().unwrap_or("-")),
            Cell::new(recording.frames.to_string()),
            Cell::new(bytes(recording.bytes)),
            Cell::new(recording.filter.as_deref().unwrap_or_default()),
        ]);
    }
    table
}

fn show(name: &Path, verb: &Verb) -> Result<Exit, Failure> {
    let (path, recorded) = read(name, verb)?;
    let summary = summary(&path).map_err(|error| unread(&path, &error))?;
    let calls: Vec<RecordedCall> = exchanges(&recorded, &Side::Client)
        .into_iter()
        .map(|exchange| RecordedCall {
            call: exchange.call,
            method: exchange.method,
            tool: exchange.tool,
            outcome: match &exchange.outcome {
                Some(outcome) if outcome.is_error() => "error",
                Some(_) => "ok",
                None => "none",
            }
            .to_owned(),
            took: exchange.took,
        })
        .collect();
    let running = recorded.footer.is_none().then(|| as_gateway_knows(&path, verb)).flatten();
    let (is_running, told) = running.map_or((false, None), |known| (known.is_running, known.problem));
    let detail = RecordingDetail {
        recording: Recording { is_running, problem: told.or_else(|| recorded.problem()), ..summary },
        manifold: recorded.header.manifold.clone(),
        calls,
    };
    match verb.output.form() {
        Form::Json => verb.output.json(&detail),
        _ => show_detail(&detail, &verb.output),
    }
    Ok(Exit::Ok)
}

/// Returns what the gateway that runs knows of a file that does not say itself how it ended.
fn as_gateway_knows(path: &Path, verb: &Verb) -> Option<Recording> {
    let source = Source::find(verb.options, verb.flags, Need::Running).ok()?;
    let all: Vec<Recording> = source.client().ok()?.get("/v1/recordings").ok()?;
    all.into_iter().find(|one| Path::new(&one.file) == path)
}

fn show_detail(detail: &RecordingDetail, output: &Output) {
    let recording = &detail.recording;
    output.line(&format!("{}: {}", recording.file, size_of(recording)));
    let started = recording.started.as_deref().unwrap_or("at an unknown time");
    output.line(&format!("started {started} by manifold {}", detail.manifold));
    if let Some(filter) = &recording.filter {
        output.line(&format!("filter {filter}"));
    }
    if let Some(problem) = &recording.problem {
        output.line(problem);
    }
    let mut table = Table::new([
        Column::id("CALL"),
        Column::id("OUTCOME"),
        Column::id("MS"),
        Column::id("METHOD"),
        Column::text("TOOL"),
    ]);
    for call in &detail.calls {
        table.row([
            Cell::new(call.call.map_or_else(|| "-".to_owned(), |call| call.to_string())),
            Cell::new(&call.outcome),
            Cell::new(format!("{:.1}", call.took as f64 / 1e6)),
            Cell::new(&call.method),
            Cell::new(call.tool.as_deref().unwrap_or_default()),
        ]);
    }
    if !detail.calls.is_empty() {
        output.table(&table);
    }
}

fn size_of(recording: &Recording) -> String {
    let frames = counted(usize::try_from(recording.frames).unwrap_or(usize::MAX), "frame");
    let lost = if recording.lost > 0 { format!(", {} lost", recording.lost) } else { String::new() };
    format!("{frames}{lost}, {}", bytes(recording.bytes))
}

fn write_as(name: &Path, format: Format, verb: &Verb) -> Result<Exit, Failure> {
    let (_, recorded) = read(name, verb)?;
    let text = export(&recorded, format);
    // What servers said is for a terminal, perhaps, and JSON is to stay JSON.
    let safe = match format {
        Format::Har | Format::Json => escaped_json(&text),
        Format::Text => escaped_text(&text),
    };
    verb.output.text(&safe);
    Ok(Exit::Ok)
}

/// Reads a recording that somebody names, or its file.
pub(super) fn read(name: &Path, verb: &Verb) -> Result<(PathBuf, Recorded), Failure> {
    let path = file_of(name, folder(verb));
    let recorded = Recorded::read(&path).map_err(|error| unread(&path, &error))?;
    Ok((path, recorded))
}

fn folder(verb: &Verb) -> Option<PathBuf> {
    verb.options.environment.state_home().map(|state| recordings_folder(&state))
}

fn unread(path: &Path, error: &ReadError) -> Failure {
    let message = format!("{}: {error}", path.display());
    match error {
        ReadError::Unread(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Failure::new(Exit::Unknown, "unknown-recording", message)
                .hint("`manifold record list` shows those there are")
        }
        _ => Failure::new(Exit::Failed, "failed", message),
    }
}
