//! Releases around this one, each a copy of the program that understands other versions: every shim at every daemon, and
//! who takes whose place (A11).

use std::fs;
use std::path::{Path, PathBuf};

use manifold_rendezvous::versions::{self, MARK, Range};
use manifold_testkit::{Client, bin};
use serde_json::json;

use crate::home::{Home, opened, write_program};
use crate::upgrade::newer;
use crate::{fake_with, text_of};

/// A release, by how far it is from this one.
struct Release {
    away: isize,
    words: Range,
    states: Range,
}

/// One that is gone soon, this one, and one to come. Each understands the one before it.
fn releases() -> [Release; 3] {
    let ([oldest, newest], [first, last]) = (versions::words(), versions::states());
    [
        Release { away: -1, words: [oldest - 1, newest], states: [first, last] },
        Release { away: 0, words: [oldest, newest], states: [first, last] },
        Release { away: 1, words: [oldest, newest + 1], states: [first, last + 1] },
    ]
}

impl Release {
    fn version(&self) -> String {
        newer(env!("CARGO_PKG_VERSION"), self.away)
    }

    /// Makes the program of this release.
    fn install(&self, to: &Path) {
        let mut bytes = fs::read(bin("manifold")).expect("it is built");
        let own = env!("CARGO_PKG_VERSION");
        let found: Vec<usize> = memchr::memmem::find_iter(&bytes, own).collect();
        for at in found {
            bytes[at..at + own.len()].copy_from_slice(self.version().as_bytes());
        }
        let marks: Vec<usize> = memchr::memmem::find_iter(&bytes, &MARK).collect();
        let [mark] = marks[..] else { panic!("the versions stand in one place: {marks:?}") };
        let versions = self.words.into_iter().chain(self.states).flat_map(u32::to_ne_bytes);
        for (at, byte) in versions.enumerate() {
            bytes[mark + MARK.len() + at] = byte;
        }
        let next = to.with_extension("next");
        write_program(&next, &bytes);
        fs::rename(next, to).expect("it can be replaced");
    }
}

fn home() -> Home {
    Home::new(json!({"fx": fake_with(&["pid", "echo"], json!({}))}))
}

/// Starts a client that has this program as its shim.
fn open_by(home: &Home, program: &Path) -> Client {
    let mut command = home.sandbox.daemon_of(program);
    command.args(["serve", "--stdio", "--config"]).arg(&home.config);
    opened(Client::spawn(command))
}

fn pid_of(client: &mut Client) -> u32 {
    text_of(&client.call("fx__pid", json!({}))).parse().expect("a process")
}

fn version_of_daemon(home: &Home) -> String {
    let status = home.status().expect("a daemon runs");
    status["version"].as_str().expect("it has a version").to_owned()
}

#[test]
fn every_shim_is_served_by_every_daemon() {
    for daemon in releases() {
        let home = home();
        let program_of = |release: &Release| -> PathBuf {
            let folder = home.sandbox.path(&format!("release{}", release.away));
            fs::create_dir_all(&folder).expect("it can be made");
            folder.join("manifold")
        };
        for release in releases() {
            release.install(&program_of(&release));
        }
        let mut first = open_by(&home, &program_of(&daemon));
        let (server, pid) = (pid_of(&mut first), home.daemon());
        for shim in releases() {
            let pair = format!("shim {}, daemon {}", shim.version(), daemon.version());
            let mut window = open_by(&home, &program_of(&shim));
            assert_eq!(pid_of(&mut window), server, "{pair}");
            assert_eq!((version_of_daemon(&home), home.daemon()), (daemon.version(), pid), "{pair}");
            window.leave();
        }
        first.leave();
        home.wait_gone();
    }
}

#[test]
fn a_newer_one_takes_over_with_the_servers_and_an_older_one_does_not() {
    let home = home();
    let program = home.sandbox.path("manifold");
    let [before, this, after] = releases();
    before.install(&program);
    let mut window = open_by(&home, &program);
    let (server, pid) = (pid_of(&mut window), home.daemon());
    for next in [&this, &after] {
        next.install(&program);
        let upgraded = home.order(&["upgrade"]);
        assert!(upgraded.status.success(), "{upgraded:?}\n{}", home.log());
        assert_eq!((version_of_daemon(&home), home.daemon()), (next.version(), pid));
        assert_eq!(pid_of(&mut window), server, "servers stay");
    }
    for (older, why) in [(&this, "cannot go on from where this one is"), (&before, "cannot go on")] {
        older.install(&program);
        let refused = home.order(&["upgrade"]);
        let said = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(1), "{said}");
        assert!(said.contains(why), "{said}");
        assert_eq!((version_of_daemon(&home), pid_of(&mut window)), (after.version(), server));
    }
}
