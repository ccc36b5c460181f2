use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use manifold_admin::{Hop, Recording, RecordingChange, RecordingStart};
use manifold_engine::{Lock as _, Party, Tap, Traffic};
use manifold_recording::{EndedBy, Header, Limits, Open, Recorded, open_file, summary};

use super::Recorder;

fn recorder(folder: &Path, traffic: &Arc<Traffic>, open: fn() -> Open) -> Recorder {
    told_recorder(folder, traffic, open).0
}

/// Returns what becomes of its recordings, too.
fn told_recorder(
    folder: &Path,
    traffic: &Arc<Traffic>,
    open: fn() -> Open,
) -> (Recorder, Receiver<(RecordingChange, Recording)>) {
    let (tell, told) = channel();
    let recorder = Recorder {
        folder: Some(folder.to_owned()),
        traffic: Arc::clone(traffic),
        limits: Limits::default(),
        open,
        tell: Arc::new(move |change, recording| _ = tell.send((change, recording.clone()))),
        running: Mutex::default(),
    };
    (recorder, told)
}

/// Waits for the end of the recording that was begun last.
fn end(told: &Receiver<(RecordingChange, Recording)>) -> Recording {
    let next = || told.recv_timeout(Duration::from_secs(60)).unwrap();
    assert_eq!(next().0, RecordingChange::Started);
    let (change, recording) = next();
    assert_eq!(change, RecordingChange::Stopped);
    recording
}

fn start(recorder: &Recorder, name: &str, filter: &str) -> Result<(), String> {
    let start = RecordingStart { name: name.to_owned(), filter: Some(filter.to_owned()) };
    let header = Header::new(name, "0", "2026-11-18T00:00:00Z");
    recorder.start(&start, header, Box::new(())).map(drop).map_err(|error| error.message)
}

fn say(tap: &Tap, tool: &str) {
    let message =
        format!(r#"{{"jsonrpc":"2.0","id":"{tool}","method":"tools/call","params":{{"name":"{tool}"}}}}"#);
    tap.heard(&message.into());
}

fn tap(traffic: &Arc<Traffic>) -> Tap {
    Tap::new(traffic, Party { hop: Hop::Client, ..Party::default() })
}

/// A disk that takes a header and no more.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(1).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

// F32
#[test]
fn a_full_disk_ends_the_recording_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let traffic = Traffic::unwatched();
    let (recorder, told) = told_recorder(folder.path(), &traffic, || {
        Box::new(|_: &Path| Ok(Box::new(Full(1)) as Box<dyn Write + Send>))
    });
    start(&recorder, "full", "").unwrap();
    say(&tap(&traffic), "echo");
    let ended = end(&told);
    assert!(!ended.is_running && ended.problem.as_ref().unwrap().contains("could not be written"));
    assert_eq!(recorder.list().unwrap(), [ended]);
    // Another can be begun in its place.
    start(&recorder, "full", "").unwrap();
    recorder.close();
}

/// A disk that is slower than anybody could wait for, until it is let go on.
struct Slow(File);

static GATE: Mutex<()> = Mutex::new(());

impl Write for Slow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        drop(GATE.locked());
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

// F32
#[test]
fn a_slow_disk_ends_the_recording_and_the_file_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let traffic = Traffic::unwatched();
    let (recorder, told) = told_recorder(folder.path(), &traffic, || {
        Box::new(|path: &Path| Ok(Box::new(Slow(File::create(path)?)) as Box<dyn Write + Send>))
    });
    start(&recorder, "slow", "").unwrap();
    let tap = tap(&traffic);
    let said: u64 = 80_000;
    {
        let _shut = GATE.locked();
        // More than is kept for a reader, however it is counted. None of them waits.
        (0..said).for_each(|_| say(&tap, "echo"));
    }
    let ended = end(&told);
    assert!(ended.problem.as_ref().unwrap().contains("more came than could be written"), "{ended:?}");
    assert!(ended.lost > 0 && ended.frames + ended.lost <= said, "{ended:?}");
    // Whoever reads the file alone is told the same.
    let path = folder.path().join("slow.mfr");
    let read = Recorded::read(&path).unwrap();
    let footer = read.footer.clone().unwrap();
    assert_eq!((footer.why, footer.frames, footer.lost), (EndedBy::Overrun, ended.frames, ended.lost));
    assert_eq!(read.problem(), ended.problem);
    assert_eq!(summary(&path).unwrap().problem, ended.problem);
    // What passes later belongs to nobody, and it can be begun anew.
    say(&tap, "echo");
    assert_eq!(recorder.list().unwrap().as_slice(), std::slice::from_ref(&ended));
    assert_eq!(recorder.stop("slow").unwrap(), ended);
    start(&recorder, "slow", "").unwrap();
    recorder.close();
    let ended = end(&told);
    assert!(ended.problem.is_some_and(|why| why.contains("ended with the gateway")));
    let footer = Recorded::read(&path).unwrap().footer.unwrap();
    assert_eq!(footer.why, EndedBy::GatewayEnded);
    let names: Vec<String> = recorder.list().unwrap().into_iter().map(|one| one.name).collect();
    assert_eq!(names, ["slow", "slow.1"], "the one before is there, too");
    assert!(recorder.file("slow.1").is_ok() && recorder.file("slow.2").is_err());
}

#[test]
fn several_run_at_once_and_each_keeps_what_fits() {
    let folder = tempfile::tempdir().unwrap();
    let traffic = Traffic::unwatched();
    let recorder = recorder(folder.path(), &traffic, || Box::new(open_file));
    start(&recorder, "all", "").unwrap();
    start(&recorder, "one", "tool:a").unwrap();
    assert!(start(&recorder, "one", "").unwrap_err().contains("runs already"));
    assert!(start(&recorder, "bad", "toool:a").unwrap_err().contains("column 1"));
    assert!(start(&recorder, "../bad", "").is_err());
    let tap = tap(&traffic);
    ["a", "b", "a"].iter().for_each(|tool| say(&tap, tool));
    let frames = |name: &str| {
        recorder.stop(name).unwrap();
        let read = Recorded::read(&folder.path().join(format!("{name}.mfr"))).unwrap();
        assert!(read.footer.is_some());
        read.frames().count()
    };
    assert_eq!((frames("all"), frames("one")), (3, 2));
    assert!(recorder.stop("one").is_err());
    assert_eq!(recorder.list().unwrap().len(), 2);
}

#[test]
fn another_process_can_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let traffic = Traffic::unwatched();
    let first = recorder(folder.path(), &traffic, || Box::new(open_file));
    start(&first, "on", "tool:a").unwrap();
    say(&tap(&traffic), "a");
    let left = first.suspend();
    assert_eq!(left, [RecordingStart { name: "on".to_owned(), filter: Some("tool:a".to_owned()) }]);
    let next = recorder(folder.path(), &traffic, || Box::new(open_file));
    let header = Header::new("on", "0", "2026-11-18T00:00:00Z");
    next.go_on(&left[0], header, Box::new(())).unwrap();
    say(&tap(&traffic), "a");
    assert_eq!(next.stop("on").unwrap().frames, 2);
    let read = Recorded::read(&folder.path().join("on.mfr")).unwrap();
    assert_eq!((read.frames().count(), read.footer.unwrap().frames), (2, 2));
}
