//! What systemd is told of the daemon, and what the daemon tells it.

use std::fs;
use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};

use manifold_testkit::Client;
use serde_json::json;

use crate::home::Home;
use crate::{SOON, fake_with};

fn home() -> Home {
    Home::new(json!({"fx": fake_with(&["pid"], json!({}))}))
}

fn done(home: &Home, order: &[&str]) -> String {
    let output = home.order(order);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// There is no manager of ours to be told of it here: what is to be done by hand is said.
#[test]
fn units_are_written_as_they_are_shown_and_removed_again() {
    let home = home();
    let shown = done(&home, &["install", "--print"]);
    let said = done(&home, &["install"]);
    assert!(said.contains("systemctl --user enable --now"), "{said}");
    let units: Vec<_> = said.lines().filter_map(|line| line.strip_prefix("wrote ")).collect();
    let [socket, service] = units[..] else { panic!("two files: {said}") };
    assert!(socket.ends_with(".socket") && service.ends_with(".service"), "{said}");
    for unit in [socket, service] {
        assert!(unit.starts_with(&*home.sandbox.home().to_string_lossy()), "{unit}");
        let text = fs::read_to_string(unit).expect("it was written");
        assert!(shown.contains(text.trim()), "{unit} is not what was shown: {shown}");
    }
    let listens = fs::read_to_string(socket).expect("it is there");
    for name in ["mcp.sock", "ctl.sock"] {
        assert!(
            listens.lines().any(|line| line.starts_with("ListenStream=/") && line.ends_with(name)),
            "{listens}"
        );
    }
    let verify = Command::new("systemd-analyze").args(["verify", "--user"]).args([socket, service]).output();
    if let Ok(verified) = verify {
        let said = String::from_utf8_lossy(&verified.stderr);
        assert!(!said.contains("manifold"), "{said}");
    }
    assert_eq!(done(&home, &["uninstall"]).matches("removed ").count(), 2);
    assert!(fs::metadata(socket).is_err() && fs::metadata(service).is_err());
    assert!(done(&home, &["uninstall"]).contains("no units are installed"));
    assert!(home.sandbox.processes().is_empty(), "nothing was started for it");
}

#[test]
fn a_daemon_says_when_it_is_ready_and_when_it_ends() {
    let home = home();
    let path = home.sandbox.path("notify");
    let socket = UnixDatagram::bind(&path).expect("it can be bound");
    socket.set_read_timeout(Some(SOON)).expect("it can be set");
    let hear = |what: &str| {
        let mut message = [0; 4096];
        loop {
            let count = socket.recv(&mut message).expect("something is said");
            if String::from_utf8_lossy(&message[..count]).lines().any(|line| line == what) {
                return;
            }
        }
    };
    let mut command = home.sandbox.daemon();
    command.args(["daemon", "run", "--config"]).arg(&home.config).env("NOTIFY_SOCKET", &path);
    command.stderr(Stdio::null());
    let run = Client::spawn(command);
    hear("READY=1");
    assert_eq!(home.daemon(), run.pid(), "it answers by then");
    done(&home, &["upgrade"]);
    hear("RELOADING=1");
    hear("READY=1");
    assert_eq!(home.daemon(), run.pid(), "it is the process that systemd knows");
    done(&home, &["stop"]);
    hear("STOPPING=1");
    home.wait_gone();
}
