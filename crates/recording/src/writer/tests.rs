use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use manifold_admin::{Frame, TrafficItem};

use super::{Limits, Writer, open_file};
use crate::format::{EndedBy, Header};
use crate::reader::Recorded;
use crate::summary::{list, summary};

fn frame(n: u64, t: u64) -> TrafficItem {
    TrafficItem::Frame(Box::new(Frame { n, t, text: Some("x".repeat(100)), ..Frame::default() }))
}

fn header(name: &str) -> Header {
    Header::new(name, "0", "2026-11-18T00:00:00Z")
}

fn begin(folder: &Path, name: &str, limits: Limits) -> Writer {
    Writer::begin(folder, header(name), limits, Box::new(open_file)).unwrap()
}

fn frames(path: &Path) -> Vec<u64> {
    Recorded::read(path).unwrap().frames().map(|frame| frame.n).collect()
}

#[test]
fn what_is_written_is_read_and_only_its_owner_may() {
    let folder = tempfile::tempdir().unwrap();
    let below = folder.path().join("manifold/recordings");
    let mut writer = begin(&below, "one", Limits::default());
    writer.write(&frame(1, 5)).unwrap();
    writer.write(&TrafficItem::Gap { gap: 3 }).unwrap();
    writer.flush().unwrap();
    let path = writer.path();
    assert_eq!(path, below.join("one.mfr"));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let running = summary(&path).unwrap();
    assert_eq!((running.frames, running.lost), (1, 3));
    assert!(running.problem.unwrap().contains("no footer"));
    writer.end(EndedBy::Stopped).unwrap();
    let read = Recorded::read(&path).unwrap();
    let footer = read.footer.clone().unwrap();
    assert_eq!((footer.frames, footer.lost, footer.why), (1, 3, EndedBy::Stopped));
    assert_eq!(read.problem(), None);
    assert_eq!(summary(&path).unwrap().problem, None);
}

#[test]
fn a_long_recording_goes_on_in_the_next_file() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits { file_bytes: 1500, ..Limits::default() };
    let mut writer = begin(folder.path(), "long", limits);
    for n in 1..=20 {
        writer.write(&frame(n, n)).unwrap();
    }
    assert_eq!(writer.counts().0, 20);
    writer.end(EndedBy::Stopped).unwrap();
    let mut all = Vec::new();
    let mut part = 1;
    while let Ok(read) = Recorded::read(&folder.path().join(format!("long.{part}.mfr"))) {
        assert_eq!(read.header.part, part);
        assert_eq!(read.footer.as_ref().unwrap().why, EndedBy::Continued);
        all.extend(read.frames().map(|frame| frame.n));
        part += 1;
    }
    assert!(part > 2, "{part} files");
    all.extend(frames(&folder.path().join("long.mfr")));
    assert_eq!(all, (1..=20).collect::<Vec<_>>());
    let names: Vec<String> = list(folder.path()).unwrap().into_iter().map(|one| one.name).collect();
    let earlier = (1..part).rev().map(|part| format!("long.{part}"));
    let expected: Vec<String> = std::iter::once("long".to_owned()).chain(earlier).collect();
    assert_eq!(names, expected, "each file can be asked for");
    for entry in fs::read_dir(folder.path()).unwrap() {
        assert!(entry.unwrap().metadata().unwrap().len() <= 1500 + 200);
    }
}

#[test]
fn a_day_is_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = begin(folder.path(), "days", Limits { file_age: 10, ..Limits::default() });
    for t in [0, 5, 10, 11, 30] {
        writer.write(&frame(t, t)).unwrap();
    }
    writer.end(EndedBy::Stopped).unwrap();
    let part = |file: &str| frames(&folder.path().join(file));
    assert_eq!(
        (part("days.1.mfr"), part("days.2.mfr"), part("days.mfr")),
        (vec![0, 5, 10], vec![11], vec![30])
    );
}

#[test]
fn the_oldest_files_go_first_and_none_that_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits { file_bytes: 2000, total_bytes: 7000, ..Limits::default() };
    let mut idle = begin(folder.path(), "idle", limits);
    idle.write(&frame(1, 1)).unwrap();
    idle.flush().unwrap();
    let mut writer = begin(folder.path(), "busy", limits);
    for n in 1..=200 {
        writer.write(&frame(n, n)).unwrap();
    }
    writer.flush().unwrap();
    let sizes = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len());
    assert!(sizes.sum::<u64>() <= 7000 + 2000);
    assert!(!folder.path().join("busy.1.mfr").exists());
    assert_eq!(frames(&folder.path().join("idle.mfr")), [1]);
    assert!(frames(&folder.path().join("busy.mfr")).ends_with(&[200]));
}

#[test]
fn one_of_the_same_name_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    for n in 1..=3 {
        let mut writer = begin(folder.path(), "again", Limits::default());
        writer.write(&frame(n, n)).unwrap();
        writer.end(EndedBy::Stopped).unwrap();
    }
    let part = |file: &str| frames(&folder.path().join(file));
    assert_eq!((part("again.1.mfr"), part("again.2.mfr"), part("again.mfr")), (vec![1], vec![2], vec![3]));
}

#[test]
fn another_process_goes_on_after_the_last_whole_line() {
    let folder = tempfile::tempdir().unwrap();
    for ending in ["", "{\"n\":2,\"t\":", "{\"footer\":{\"frames\":1}}\n"] {
        let mut writer = begin(folder.path(), "on", Limits::default());
        writer.write(&frame(1, 1)).unwrap();
        writer.flush().unwrap();
        let path = writer.path();
        drop(writer);
        let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(ending.as_bytes()).unwrap();
        let mut writer =
            Writer::go_on(folder.path(), header("on"), Limits::default(), Box::new(open_file)).unwrap();
        writer.write(&frame(2, 2)).unwrap();
        assert_eq!(writer.counts().0, 2);
        writer.end(EndedBy::Stopped).unwrap();
        let read = Recorded::read(&path).unwrap();
        assert_eq!((read.frames().count(), read.unreadable), (2, 0), "{ending}");
        assert_eq!(read.footer.unwrap().frames, 2);
    }
}

/// A disk with room for so many bytes.
struct Disk(usize);

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let open = Box::new(|_: &Path| Ok(Box::new(Disk(1000)) as Box<dyn Write + Send>));
    let mut writer = Writer::begin(folder.path(), header("full"), Limits::default(), open).unwrap();
    let failed = (1..100).find_map(|n| {
        let written = writer.write(&frame(n, n)).and_then(|()| writer.flush());
        written.err()
    });
    assert_eq!(failed.unwrap().kind(), io::ErrorKind::StorageFull);
}
