//! Standard output. A reader that hung up wants no more, and that is no failure; a disk that is full is one.

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::OnceLock;

use super::exit::Exit;

/// Why something could not be written.
static FAULT: OnceLock<String> = OnceLock::new();

/// Writes all of a text. Returns whether somebody still reads.
pub(crate) fn write(text: &str) -> bool {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => true,
        Err(error) => {
            if error.kind() != io::ErrorKind::BrokenPipe {
                let _ = FAULT.set(error.to_string());
            }
            false
        }
    }
}

/// Returns how a command ends that would end so, had all of its words been written.
pub(crate) fn ended(exit: ExitCode) -> ExitCode {
    match FAULT.get() {
        Some(why) => {
            let _ = writeln!(io::stderr(), "manifold: standard output cannot be written: {why}");
            Exit::Failed.into()
        }
        None => exit,
    }
}
