//! A client's connection to us by the command that it starts.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use manifold_config::Environment;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::{Value, json};

/// How long an answer may take: a server may have to be fetched first.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);
/// Messages that wait to be looked at.
const WAITING: usize = 16;

pub(super) struct Piped {
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    /// The number of the last request.
    last: u64,
}

impl Piped {
    /// Starts what the entry says, in the environment of this command.
    pub(super) fn open(
        command: &str,
        args: &[String],
        env: &[(String, String)],
        environment: &Environment,
    ) -> Result<Self, String> {
        let mut started = Command::new(command);
        started.args(args).env_clear().envs(&environment.vars).envs(env.iter().cloned());
        started.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        let mut child = started.spawn().map_err(|error| format!("{command} cannot be started: {error}"))?;
        let input = child.stdin.take();
        let output = child.stdout.take().ok_or("it has no output")?;
        let (send, messages) = sync_channel(WAITING);
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let Ok(message) = serde_json::from_str(&line) else { continue };
                if send.send(message).is_err() {
                    return;
                }
            }
        });
        Ok(Self { child, input, messages, last: 0 })
    }

    /// Asks for something, and waits for the answer.
    pub(super) fn ask(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        self.last += 1;
        let id = self.last;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        loop {
            let message = self.messages.recv_timeout(PATIENCE).map_err(|error| match error {
                RecvTimeoutError::Timeout => {
                    format!("`{method}` was not answered within {} s", PATIENCE.as_secs())
                }
                RecvTimeoutError::Disconnected => {
                    "it ended; `manifold status` tells what is wrong".to_owned()
                }
            })?;
            if message["id"] != id || message.get("method").is_some() {
                continue;
            }
            if let Some(error) = message.get("error") {
                return Err(format!("`{method}` failed: {}", error["message"].as_str().unwrap_or_default()));
            }
            return Ok(message["result"].clone());
        }
    }

    pub(super) fn tell(&mut self, method: &str) -> Result<(), String> {
        self.send(&json!({"jsonrpc": "2.0", "method": method}))
    }

    fn send(&mut self, message: &Value) -> Result<(), String> {
        let input = self.input.as_mut().ok_or("it has no input")?;
        writeln!(input, "{message}")
            .and_then(|()| input.flush())
            .map_err(|error| format!("it ended: {error}"))
    }
}

impl Drop for Piped {
    fn drop(&mut self) {
        // As a client does: the end of its input is the end of the session.
        self.input = None;
        for _ in 0..200 {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        if let Ok(group) = i32::try_from(self.child.id()) {
            let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
        }
        let _ = self.child.wait();
    }
}
