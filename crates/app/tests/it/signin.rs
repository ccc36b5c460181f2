//! Signing in to remote servers: `login` and `logout`, calls before and after, refreshing from many tasks and processes,
//! questions by URL, accounts, and that no secret is seen anywhere.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod accounts;
mod calls;
mod killed;
mod login;
mod many;
mod questions;
mod secrets;
mod speed;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use manifold_testkit::{Client, OAuthFake, Sandbox, visit};
use serde_json::{Value, json};

/// However busy the machine is.
const PATIENCE: Duration = Duration::from_secs(60);

/// A home with one protected server in its config.
fn world() -> (Sandbox, OAuthFake) {
    let (sandbox, server) = (Sandbox::new(), OAuthFake::start());
    sandbox.write_config(&config(&server));
    (sandbox, server)
}

fn config(server: &OAuthFake) -> Value {
    json!({"mcpServers": {"far": {"url": server.url()}}})
}

/// A login under way.
struct Login {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    seen: Vec<String>,
}

/// How a login ended.
struct Ended {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Login {
    fn start(sandbox: &Sandbox, more: &[&str]) -> Self {
        Self::start_as(sandbox.manifold(), more)
    }

    fn start_as(mut command: Command, more: &[&str]) -> Self {
        command.args(["login", "far"]).args(more);
        Self::spawn(command)
    }

    fn spawn(mut command: Command) -> Self {
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = pipes.spawn().unwrap();
        let stderr = child.stderr.take().unwrap();
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let stdin = child.stdin.take();
        Self { child, stdin, lines, seen: Vec::new() }
    }

    /// Waits for a line that fits.
    fn line(&mut self, fits: impl Fn(&str) -> bool) -> String {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => {
                    self.seen.push(line.clone());
                    if fits(&line) {
                        return line;
                    }
                }
                Err(_) => panic!("it did not say so: {:?}", self.seen),
            }
        }
    }

    /// Returns the address that is to be opened: it has a line of its own.
    fn url(&mut self) -> String {
        self.line(|line| line.starts_with("http"))
    }

    /// Signs in at the provider and returns where the browser is sent back to.
    fn sign_in(&mut self) -> String {
        let visited = visit(&self.url()).unwrap();
        assert_eq!(visited.status, 302, "{visited:?}");
        visited.location.unwrap()
    }

    fn paste(&mut self, line: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    fn end(mut self) -> Ended {
        let mut stdout = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        let status: ExitStatus = self.child.wait().unwrap();
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            self.seen.push(line);
        }
        Ended { code: status.code(), stdout, stderr: std::mem::take(&mut self.seen).join("\n") }
    }
}

impl Drop for Login {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Signs in, as a person with a browser does.
fn sign_in(sandbox: &Sandbox, more: &[&str]) -> Ended {
    let mut command = sandbox.manifold();
    command.args(["login", "far", "--no-browser"]).args(more);
    sign_in_as(command)
}

fn sign_in_as(command: Command) -> Ended {
    let mut login = Login::spawn(command);
    let back = login.sign_in();
    assert_eq!(visit(&back).unwrap().status, 200);
    let ended = login.end();
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    ended
}

fn run(sandbox: &Sandbox, args: &[&str]) -> Ended {
    let output = sandbox.manifold().args(args).stdin(Stdio::null()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ended { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Starts a gateway for the config there is, and shakes hands.
fn gateway(sandbox: &Sandbox, more: &[&str]) -> Client {
    let mut command = sandbox.manifold();
    command.args(["serve", "--stdio"]).args(more);
    let mut client = Client::spawn(command);
    assert_eq!(client.initialize("2025-11-25", json!({}))["error"], Value::Null);
    client
}

fn serve(sandbox: &Sandbox, server: &OAuthFake, capabilities: Value) -> Client {
    let mut client = sandbox.serve(&config(server), &[]);
    assert_eq!(client.initialize("2025-11-25", capabilities)["error"], Value::Null);
    client
}

fn text_of(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}
