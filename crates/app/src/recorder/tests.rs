use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use manifold_admin::{Hop, RecordingStart};
use manifold_engine::{Party, Tap, Traffic};
use manifold_recording::{Header, Limits, Open, Recorded, open_file};

use super::Recorder;

fn recorder(folder: &Path, traffic: &Arc<Traffic>, open: fn() -> Open) -> Recorder {
    Recorder::with(Some(folder.to_owned()), Arc::clone(traffic), Limits::default(), open)
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
    let recorder = recorder(folder.path(), &traffic, || {
        Box::new(|_: &Path| Ok(Box::new(Full(1)) as Box<dyn Write + Send>))
    });
    start(&recorder, "full", "").unwrap();
    let tap = tap(&traffic);
    let problem = (0..600).find_map(|_| {
        say(&tap, "echo");
        std::thread::sleep(Duration::from_millis(100));
        recorder.list().unwrap().pop().and_then(|recording| recording.problem)
    });
    assert!(problem.is_some_and(|problem| problem.contains("could not be written")));
    assert!(!recorder.list().unwrap()[0].is_running);
    // Another can be begun in its place.
    start(&recorder, "full", "").unwrap();
    recorder.close();
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
