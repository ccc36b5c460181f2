//! Recordings that run: each is read from the stream of traffic and written by a thread of its own. No call waits for
//! one: one that cannot be written, or not as fast as messages come, ends and says what was wrong.

mod keeping;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use keeping::{Ending, Keeping};
use manifold_admin::{CommandError, ErrorCode, Filter, Recording, RecordingChange, RecordingStart};
use manifold_engine::{Control, Fleet, Lock as _, SubscribeOptions, Traffic};
use manifold_recording::{Header, Limits, Open, Writer, check_name, file_in, list, open_file};
use tracing::info;

/// Returns where recordings lie in a folder for state.
pub(crate) fn recordings_folder(state_home: &Path) -> PathBuf {
    state_home.join("manifold/recordings")
}

/// Tells those who watch the gateway what becomes of recordings.
type Tell = Arc<dyn Fn(RecordingChange, &Recording) + Send + Sync>;

/// All recordings of one gateway.
pub(crate) struct Recorder {
    /// `None`: there is no home to keep them in.
    folder: Option<PathBuf>,
    traffic: Arc<Traffic>,
    limits: Limits,
    open: fn() -> Open,
    tell: Tell,
    running: Mutex<BTreeMap<String, Running>>,
}

struct Running {
    /// What is known of it, as its thread last said.
    seen: Arc<Mutex<Recording>>,
    orders: Sender<Ending>,
    thread: Option<JoinHandle<()>>,
}

impl Recorder {
    pub(crate) fn new(folder: Option<PathBuf>, fleet: &Fleet, control: Control) -> Self {
        Self {
            folder,
            traffic: Arc::clone(fleet.traffic()),
            limits: Limits::default(),
            open: || Box::new(open_file),
            tell: Arc::new(move |change, recording| control.publish_recording(change, recording)),
            running: Mutex::default(),
        }
    }

    /// Begins a recording.
    pub(crate) fn start(
        &self,
        start: &RecordingStart,
        header: Header,
        hold: Box<dyn Send + Sync>,
    ) -> Result<Recording, CommandError> {
        let begun = self.run(start, header, hold, Writer::begin)?;
        (self.tell)(RecordingChange::Started, &begun);
        Ok(begun)
    }

    /// Goes on with a recording that another process has begun.
    pub(crate) fn go_on(
        &self,
        start: &RecordingStart,
        header: Header,
        hold: Box<dyn Send + Sync>,
    ) -> Result<Recording, CommandError> {
        self.run(start, header, hold, Writer::go_on)
    }

    fn run(
        &self,
        start: &RecordingStart,
        header: Header,
        hold: Box<dyn Send + Sync>,
        begin: impl FnOnce(&Path, Header, Limits, Open) -> std::io::Result<Writer>,
    ) -> Result<Recording, CommandError> {
        let name = &start.name;
        check_name(name).map_err(|error| CommandError::new(ErrorCode::BadRequest, error.to_string()))?;
        let filter = Filter::parse(start.filter.as_deref().unwrap_or_default()).map_err(|error| {
            CommandError::new(ErrorCode::BadRequest, format!("the filter cannot be read: {error}"))
        })?;
        let folder = self.folder.as_deref().ok_or_else(|| failed("there is no home folder to keep it in"))?;
        let mut running = self.running.locked();
        if running.get(name).is_some_and(Running::is_going_on) {
            return Err(CommandError {
                hint: Some(format!("end it with `manifold record stop {name}`, or choose another name")),
                ..CommandError::new(ErrorCode::Busy, format!("a recording '{name}' runs already"))
            });
        }
        std::fs::create_dir_all(folder).map_err(|error| unwritten(folder, &error))?;
        // From here on nothing is missed.
        let subscription = self.traffic.subscribe(SubscribeOptions::to_record());
        let started = header.started.clone();
        let writer =
            begin(folder, header, self.limits, (self.open)()).map_err(|error| unwritten(folder, &error))?;
        let (frames, lost, bytes) = writer.counts();
        let recording = Recording {
            name: name.clone(),
            file: writer.path().display().to_string(),
            is_running: true,
            filter: start.filter.clone(),
            started: Some(started),
            frames,
            lost,
            bytes,
            problem: None,
        };
        let seen = Arc::new(Mutex::new(recording.clone()));
        let (orders, ordered) = channel();
        let keeping = Keeping {
            subscription,
            matcher: filter.matcher(),
            writer,
            seen: Arc::clone(&seen),
            tell: Arc::clone(&self.tell),
            _hold: hold,
        };
        let thread = std::thread::Builder::new()
            .name(format!("record {name}"))
            .spawn(move || keeping.keep(&ordered))
            .map_err(|error| failed(&error.to_string()))?;
        info!(recording = name, file = recording.file, "recording");
        running.insert(name.clone(), Running { seen, orders, thread: Some(thread) });
        Ok(recording)
    }

    /// Ends a recording. Its file is whole when this returns.
    pub(crate) fn stop(&self, name: &str) -> Result<Recording, CommandError> {
        let ended = self.running.locked().remove(name);
        let Some(mut ended) = ended else {
            let message = format!("there is no recording '{name}' that runs");
            let hint = Some("`manifold record list` shows those there are".to_owned());
            return Err(CommandError { hint, ..CommandError::new(ErrorCode::UnknownItem, message) });
        };
        ended.end(Ending::Stopped);
        let recording = ended.seen.locked().clone();
        Ok(recording)
    }

    /// Returns those that run, and those that lie in files.
    pub(crate) fn list(&self) -> Result<Vec<Recording>, CommandError> {
        let mut all = match &self.folder {
            Some(folder) => list(folder).map_err(|error| unwritten(folder, &error))?,
            None => Vec::new(),
        };
        for (name, running) in &*self.running.locked() {
            let seen = running.seen.locked().clone();
            match all.iter_mut().find(|recording| recording.name == *name) {
                Some(recording) => *recording = seen,
                None => all.push(seen),
            }
        }
        Ok(all)
    }

    /// Returns the file of a recording by its name, which is no path.
    pub(crate) fn file(&self, name: &str) -> Result<PathBuf, CommandError> {
        let file = self.folder.as_deref().and_then(|folder| file_in(folder, name));
        file.filter(|file| file.is_file()).ok_or_else(|| {
            let hint = Some("`manifold record list` shows those there are".to_owned());
            let message = format!("there is no recording '{name}'");
            CommandError { hint, ..CommandError::new(ErrorCode::UnknownItem, message) }
        })
    }

    /// Lets go of all files, and says what another process has to go on with.
    pub(crate) fn suspend(&self) -> Vec<RecordingStart> {
        let ended = std::mem::take(&mut *self.running.locked());
        let going_on = ended.into_iter().filter(|(_, running)| running.is_going_on());
        let start_of = |(name, mut running): (String, Running)| {
            running.end(Ending::Suspended);
            let filter = running.seen.locked().filter.clone();
            RecordingStart { name, filter }
        };
        going_on.map(start_of).collect()
    }

    /// Ends all of them.
    pub(crate) fn close(&self) {
        let ended = std::mem::take(&mut *self.running.locked());
        ended.into_values().for_each(|mut running| running.end(Ending::GatewayEnded));
    }
}

impl Running {
    fn is_going_on(&self) -> bool {
        self.seen.locked().is_running
    }

    fn end(&mut self, how: Ending) {
        // One that has ended by itself hears nothing any more.
        let _ = self.orders.send(how);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Returns the file of a recording that somebody names, or the path somebody wrote.
pub(crate) fn file_of(named: &Path, folder: Option<PathBuf>) -> PathBuf {
    let in_folder = named.to_str().zip(folder).and_then(|(name, folder)| file_in(&folder, name));
    match in_folder {
        Some(file) if !named.exists() => file,
        _ => named.to_owned(),
    }
}

fn failed(why: &str) -> CommandError {
    CommandError::new(ErrorCode::Failed, format!("it cannot be recorded: {why}"))
}

fn unwritten(folder: &Path, error: &std::io::Error) -> CommandError {
    CommandError {
        hint: Some("name a folder that can be written with XDG_STATE_HOME".to_owned()),
        ..failed(&format!("{}: {error}", folder.display()))
    }
}

#[cfg(test)]
mod tests;
