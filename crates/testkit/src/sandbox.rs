//! A home of its own for each test, and the binaries it runs.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::{env, fs};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{Client, processes_with_marker};

/// A temporary home with XDG folders of its own. Whatever still runs in it is killed when it goes.
pub struct Sandbox {
    home: TempDir,
}

impl Sandbox {
    #[expect(clippy::new_without_default, reason = "making one touches the disk")]
    pub fn new() -> Self {
        let home = tempfile::Builder::new().prefix("manifold-test-").tempdir().expect("a temporary folder");
        for (_, folder) in XDG {
            fs::create_dir_all(home.path().join(folder)).expect("the folders can be made");
        }
        Self { home }
    }

    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Returns a path in the sandbox.
    pub fn path(&self, relative: &str) -> PathBuf {
        self.home().join(relative)
    }

    /// Writes a file, with the folders it needs, and returns its path.
    pub fn write(&self, relative: &str, text: &str) -> PathBuf {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap_or(self.home())).expect("the folder can be made");
        fs::write(&path, text).expect("the file can be written");
        path
    }

    /// Writes a file that nobody else can read, and returns its path as text.
    pub fn write_private(&self, relative: &str, text: &str) -> String {
        let path = self.write(relative, text);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("the mode can be set");
        path.to_string_lossy().into_owned()
    }

    /// Writes the config to where the `manifold` profile looks for it and returns its path.
    pub fn write_config(&self, config: &Value) -> PathBuf {
        self.write(".config/manifold/config.json", &format!("{config:#}"))
    }

    /// Returns a command for the gateway that knows `HOME`, `XDG_*`, `PATH` and the mark of a tree, and nothing else.
    pub fn manifold(&self) -> Command {
        self.command(bin("manifold"))
    }

    /// Returns a command for any program in the same surroundings.
    pub fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.env_clear().current_dir(self.home()).env("HOME", self.home());
        command.env("PATH", env::var_os("PATH").unwrap_or_default());
        command.envs(XDG.map(|(variable, folder)| (variable, self.path(folder))));
        // Guard and keepers have no other variable to be found by.
        command.env("MANIFOLD_TREE", self.home());
        // However busy the machine is, a window waits for its daemon.
        command.env("MANIFOLD_DAEMON_PATIENCE_MS", "60000");
        // And a command for the gateway that it asks.
        command.env("MANIFOLD_CONTROL_PATIENCE_MS", "20000");
        // And a replica for its Redis.
        command.env("MANIFOLD_STATE_PATIENCE_MS", "10000");
        // What a test starts ends with the test.
        command.env("MANIFOLD_DAEMON", "off");
        command
    }

    /// Returns a command for the gateway that may use and start the daemon of this home: it bears no mark of a tree, by
    /// which it would take itself to be below another. What it leaves behind is found by the path of its config.
    pub fn daemon(&self) -> Command {
        self.daemon_of(bin("manifold"))
    }

    /// Returns a command for another file of the gateway in the same surroundings.
    pub fn daemon_of(&self, program: impl AsRef<Path>) -> Command {
        let mut command = self.command(program);
        command.env_remove("MANIFOLD_TREE").env_remove("MANIFOLD_DAEMON");
        command
    }

    /// Starts `manifold serve --stdio` with this config and more arguments.
    pub fn serve(&self, config: &Value, more: &[&str]) -> Client {
        let path = self.write_config(config);
        let mut command = self.manifold();
        command.args(["serve", "--stdio", "--config"]).arg(path).args(more);
        Client::spawn(command)
    }

    /// Returns the processes that run in this sandbox, children of children included.
    pub fn processes(&self) -> Vec<u32> {
        processes_with_marker(&self.home().to_string_lossy())
    }

    /// Returns what a fake server with `"log"` at this path wrote there, line by line. One that it is writing is not there yet.
    pub fn log(&self, relative: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.path(relative)).unwrap_or_default();
        let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        whole.map(|line| serde_json::from_str(line).expect("a log line is JSON")).collect()
    }

    /// Returns the messages a fake server received, by method.
    pub fn received(&self, relative: &str, method: &str) -> Vec<Value> {
        let messages = self.log(relative).into_iter().map(|line| line["msg"].clone());
        messages.filter(|message| message["method"] == method).collect()
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // More than once: a client whose daemon is killed first starts another.
        for _ in 0..20 {
            let left = self.processes();
            if left.is_empty() {
                break;
            }
            for pid in left {
                let _ = kill(Pid::from_raw(pid as i32), Signal::SIGKILL);
            }
        }
    }
}

const XDG: [(&str, &str); 5] = [
    ("XDG_CONFIG_HOME", ".config"),
    ("XDG_DATA_HOME", ".local/share"),
    ("XDG_STATE_HOME", ".local/state"),
    ("XDG_CACHE_HOME", ".cache"),
    ("XDG_RUNTIME_DIR", ".run"),
];

/// Returns the config entry of a fake server with these knobs.
pub fn fake(knobs: Value) -> Value {
    json!({"command": bin("fake-server"), "args": [knobs.to_string()]})
}

/// Returns the path of a binary of this workspace, building it if it is not there. `MANIFOLD_BIN` names another gateway
/// to be tested: one built for speed, say.
pub fn bin(name: &str) -> PathBuf {
    if let (true, Some(other)) = (name == "manifold", env::var_os("MANIFOLD_BIN")) {
        return other.into();
    }
    static BUILDING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    let test = env::current_exe().expect("a running test has a path");
    // Tests live in `<target>/<profile>/deps`, binaries a floor above.
    let profile = test.ancestors().find(|path| path.join("deps").is_dir()).expect("a cargo target folder");
    let path = profile.join(name);
    if !path.exists() {
        build(name, profile);
    }
    path
}

fn build(name: &str, profile: &Path) {
    let package = if name == "fake-server" { "manifold-testkit" } else { name };
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--package", package, "--bin", name]);
    cargo.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    cargo.arg("--target-dir").arg(profile.parent().unwrap_or(profile));
    if profile.ends_with("release") {
        cargo.arg("--release");
    }
    let status = cargo.status().expect("cargo runs");
    assert!(status.success(), "cargo could not build {name}");
}
