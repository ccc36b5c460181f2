use std::path::Path;
use std::process::{Command, Stdio};

use super::{Grandchildren, wire};

/// Starts `sleep 100000` as a descendant of this kind and appends its pid to the file.
///
/// It is called once per process, so the child is left unwaited on purpose: reaping it is the gateway's concern.
pub(super) fn spawn(kind: Grandchildren, hold_stdout: bool, pid_file: Option<&Path>) {
    let stdout = || if hold_stdout { Stdio::inherit() } else { Stdio::null() };
    let pid = match kind {
        Grandchildren::Plain => start(Command::new("sleep").arg("100000").stdout(stdout())),
        // A process that leads no group becomes the session leader itself, so the pid stays.
        Grandchildren::Setsid => start(Command::new("setsid").args(["sleep", "100000"]).stdout(stdout())),
        Grandchildren::DoubleFork => double_fork(hold_stdout),
    };
    if let Some(path) = pid_file {
        wire::append(path, &format!("{pid}\n"));
    }
}

fn start(command: &mut Command) -> u32 {
    command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().expect("sleep starts").id()
}

fn double_fork(hold_stdout: bool) -> u32 {
    // The shell reports the pid on stderr, since stdout may be the protocol's.
    let target = if hold_stdout { "" } else { ">/dev/null" };
    let script = format!("setsid sleep 100000 </dev/null 2>/dev/null {target} & echo $! >&2");
    let output = Command::new("sh")
        .args(["-c", &script])
        .stdin(Stdio::null())
        .stdout(if hold_stdout { Stdio::inherit() } else { Stdio::null() })
        .output()
        .expect("sh starts");
    String::from_utf8_lossy(&output.stderr).trim().parse().expect("the shell says a pid")
}
