//! A record of tool runs, for tests that must know how often a tool really ran.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

#[derive(Clone)]
pub(super) struct Runs(Option<Arc<Mutex<File>>>);

impl Runs {
    pub(super) fn open(path: Option<&Path>) -> io::Result<Self> {
        let open = |path: &Path| OpenOptions::new().create(true).append(true).open(path);
        Ok(Self(path.map(open).transpose()?.map(|file| Arc::new(Mutex::new(file)))))
    }

    /// Writes the line at the start of a run, so that a run which never ends is counted too.
    pub(super) fn note(&self, tool: &str, retry: bool) {
        let Some(file) = &self.0 else { return };
        let kind = if retry { "retry" } else { "run" };
        let line = format!("{tool} {kind}\n");
        file.lock()
            .expect("nobody panics with the log")
            .write_all(line.as_bytes())
            .expect("the log is writable");
    }
}
