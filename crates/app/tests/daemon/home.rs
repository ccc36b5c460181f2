//! A user with a config, windows, and a daemon.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use manifold_testkit::processes::{children, command_line};
use manifold_testkit::{Client, Framing, Sandbox, alive, bin, processes_with_marker, until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::{ALONE, LEGACY, SOON};

pub(crate) struct Home {
    pub(crate) sandbox: Sandbox,
    pub(crate) config: PathBuf,
}

impl Home {
    /// A home with these servers, whose daemon ends a second after its last client.
    pub(crate) fn new(servers: Value) -> Self {
        Self::with(json!({"mcpServers": servers, "daemon": {"linger": 1000}}))
    }

    pub(crate) fn with(config: Value) -> Self {
        Self::within(Sandbox::new(), config)
    }

    /// A home whose folders are known already, for servers that write to them.
    pub(crate) fn within(sandbox: Sandbox, config: Value) -> Self {
        let config = sandbox.write_config(&config);
        Self { sandbox, config }
    }

    /// Returns the command that a client starts.
    pub(crate) fn shim(&self) -> Command {
        let mut command = self.sandbox.daemon();
        command.args(["serve", "--stdio", "--config"]).arg(&self.config);
        command
    }

    /// Returns the command that a client starts, behind a line of shell that changes its surroundings first.
    pub(crate) fn shim_after(&self, line: &str) -> Command {
        let shim = self.shim();
        let mut command = self.sandbox.command("/bin/sh");
        command.env_remove("MANIFOLD_TREE").env_remove("MANIFOLD_DAEMON");
        command.arg("-c").arg(format!("{line}; exec \"$@\"")).arg("sh");
        command.arg(shim.get_program()).args(shim.get_args());
        command
    }

    /// Starts a client that has said nothing yet.
    pub(crate) fn window(&self) -> Client {
        Client::spawn(self.shim())
    }

    /// Starts a client and does the handshake.
    pub(crate) fn open(&self) -> Client {
        opened(self.window())
    }

    pub(crate) fn open_framed(&self, framing: Framing) -> Client {
        opened(Client::spawn_framed(self.shim(), framing))
    }

    /// Starts a client with other variables, or in another folder, and does the handshake.
    pub(crate) fn open_as(&self, variables: &[(&str, &str)], folder: &Path) -> Client {
        let mut command = self.shim();
        command.envs(variables.iter().copied()).current_dir(folder);
        opened(Client::spawn(command))
    }

    /// Runs `manifold daemon ORDER` and waits for its end.
    pub(crate) fn order(&self, order: &[&str]) -> Output {
        let mut command = self.sandbox.daemon();
        command.arg("daemon").args(order).arg("--config").arg(&self.config);
        command.output().expect("the command runs")
    }

    /// Returns what `manifold daemon status --json` says of a daemon that runs.
    pub(crate) fn status(&self) -> Option<Value> {
        let output = self.order(&["status", "--json"]);
        let said: Value = serde_json::from_slice(&output.stdout).expect("the status is JSON");
        let code = output.status.code();
        assert_eq!(code, Some(if said["running"] == true { 0 } else { 3 }), "{said}");
        (said["running"] == true).then_some(said)
    }

    /// Returns the process of the daemon that runs.
    pub(crate) fn daemon(&self) -> u32 {
        let status = self.status().expect("a daemon runs");
        u32::try_from(status["pid"].as_u64().expect("it has a number")).expect("it is one of a process")
    }

    /// Returns all processes that are a daemon of this home, be it for the moment.
    pub(crate) fn daemons(&self) -> Vec<u32> {
        let is_daemon = |pid: &u32| {
            let words = command_line(*pid);
            words.get(1).is_some_and(|word| word == "daemon") && words.iter().any(|word| word == "--detached")
        };
        let mut daemons: Vec<u32> = self.sandbox.processes().into_iter().filter(is_daemon).collect();
        // What it forks bears its words until it becomes another program.
        let forked: Vec<u32> = daemons.iter().flat_map(|pid| children(*pid)).collect();
        daemons.retain(|pid| !forked.contains(pid));
        daemons
    }

    /// Returns how many daemons have started to serve since the home was made.
    pub(crate) fn started(&self) -> usize {
        self.log().matches("daemon started").count()
    }

    /// Returns what the daemons have logged.
    pub(crate) fn log(&self) -> String {
        let folder = self.sandbox.path(".local/state/manifold");
        let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let logs = files.filter(|path| path.extension().is_some_and(|ending| ending == "log"));
        logs.map(|path| fs::read_to_string(path).unwrap_or_default()).collect()
    }

    /// Returns the folder of the daemon's sockets.
    pub(crate) fn run_folder(&self) -> PathBuf {
        self.sandbox.path(".run/manifold")
    }

    /// Returns the file of the daemon with this ending, if there is one.
    pub(crate) fn run_file(&self, ending: &str) -> Option<PathBuf> {
        let entries = fs::read_dir(self.run_folder()).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).find(|path| path.to_string_lossy().ends_with(ending))
    }

    /// Waits until nothing runs in this home.
    pub(crate) fn wait_gone(&self) {
        let gone = until(SOON, || self.sandbox.processes().is_empty());
        let left: Vec<_> = self.sandbox.processes().into_iter().map(command_line).collect();
        assert!(gone, "still there: {left:?}\n{}", self.log());
    }
}

/// Ends a process as nobody can prevent.
pub(crate) fn kill_hard(pid: u32) {
    signal(pid, Signal::SIGKILL);
}

pub(crate) fn signal(pid: u32, signal: Signal) {
    kill(Pid::from_raw(i32::try_from(pid).expect("a process")), signal).expect("the process is there");
}

/// Does the handshake of a client that must be served by the daemon.
pub(crate) fn opened(mut client: Client) -> Client {
    let response = client.initialize(LEGACY, json!({}));
    assert_eq!(response["error"], Value::Null, "{response}\n{}", client.stderr());
    assert!(!client.stderr().contains(ALONE), "{}", client.stderr());
    client
}

/// Returns the guards that a daemon has started, by the mark that they bear where their daemon is gone.
pub(crate) fn guards_of(daemon: u32) -> Vec<u32> {
    if alive(daemon) { children(daemon) } else { processes_with_marker(&format!("MANIFOLD_TREE={daemon}-")) }
}

/// Returns the processes of servers that wrote down their number, all there ever were.
pub(crate) fn pids_in(file: &Path) -> Vec<u32> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().map(|line| line.parse().expect("a number")).collect()
}

/// Copies our program. Another process does it: what we had open for writing would be open in whatever a neighbour starts
/// meanwhile, and a file that is open so cannot be run.
pub(crate) fn copy_program(to: &Path) {
    let copied = Command::new("cp").arg(bin("manifold")).arg(to).status().expect("it can be copied");
    assert!(copied.success());
}

/// Writes a program that can be run, likewise.
pub(crate) fn write_program(to: &Path, bytes: &[u8]) {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "cat > \"$1\" && chmod 755 \"$1\"", "sh"]).arg(to).stdin(Stdio::piped());
    let mut writer = command.spawn().expect("a shell runs");
    writer.stdin.take().expect("it is piped").write_all(bytes).expect("it reads");
    assert!(writer.wait().expect("it ends").success());
}

/// Writes a script that can be run, likewise.
pub(crate) fn write_script(to: &Path, text: &str) {
    let line = "printf %s \"$1\" > \"$2\" && chmod 755 \"$2\"";
    let written = Command::new("/bin/sh").args(["-c", line, "sh", text]).arg(to).status();
    assert!(written.expect("it can be written").success());
}
