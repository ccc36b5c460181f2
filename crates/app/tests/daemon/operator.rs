//! An operator: somebody with a command line, or with a connection to the control socket.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

use manifold_testkit::Sandbox;

/// A command that has ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs a verb in a sandbox, whatever runs there.
pub(crate) fn run(sandbox: &Sandbox, words: &[impl AsRef<OsStr>]) -> Ran {
    let mut command = sandbox.daemon();
    command.args(words);
    ran(command)
}

pub(crate) fn ran(mut command: Command) -> Ran {
    let output = command.stdin(Stdio::null()).output().expect("the program starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the output is UTF-8");
    Ran { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}
