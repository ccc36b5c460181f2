//! Terminals for tests: one of our own, and tmux.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use manifold_testkit::processes::command_line;
use manifold_testkit::until;
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use crate::SOON;
use crate::home::{Home, kill_hard};

/// Says the terminal's settings before and after, and how the program between them ended.
const AROUND: &str =
    r#"stty -g > "$1.before"; out=$1; shift; "$@"; echo "$?" > "$out.code"; stty -g > "$out.after""#;

/// What is written after each picture.
const END_OF_PICTURE: &[u8] = b"\x1b[?2026l";

/// The terminal interface, and what is seen of it.
pub(super) struct Tui {
    child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    keys: Box<dyn Write + Send>,
    seen: Arc<Mutex<Seen>>,
    out: PathBuf,
}

struct Seen {
    parser: vt100::Parser,
    written: Vec<u8>,
}

impl Tui {
    pub(super) fn open(home: &Home, more: &[&str], size: (u16, u16)) -> Self {
        Self::open_with(home, more, size, &[])
    }

    pub(super) fn open_with(
        home: &Home,
        more: &[&str],
        (width, height): (u16, u16),
        variables: &[(&str, &str)],
    ) -> Self {
        let size = PtySize { rows: height, cols: width, ..PtySize::default() };
        let pair = native_pty_system().openpty(size).expect("a terminal");
        let out = home.sandbox.path("terminal");
        let _ = std::fs::remove_file(out.with_extension("code"));
        let mut command = CommandBuilder::new("/bin/sh");
        command.env_clear();
        for (name, value) in surroundings(home) {
            command.env(name, value);
        }
        for (name, value) in variables {
            command.env(name, value);
        }
        command.args(["-c", AROUND, "sh"]);
        command.arg(&out);
        command.args(words(home, more));
        command.cwd(home.sandbox.home());
        let child = pair.slave.spawn_command(command).expect("it starts");
        drop(pair.slave);
        let seen = Seen { parser: vt100::Parser::new(count(height), count(width), 0), written: Vec::new() };
        let seen = Arc::new(Mutex::new(seen));
        let mut reader = pair.master.try_clone_reader().expect("it can be read");
        let into = Arc::clone(&seen);
        // Ends when the terminal's other end is closed.
        thread::spawn(move || {
            let mut part = [0; 8192];
            while let Ok(count @ 1..) = reader.read(&mut part) {
                let mut seen = into.lock().unwrap_or_else(PoisonError::into_inner);
                seen.parser.process(&part[..count]);
                seen.written.extend_from_slice(&part[..count]);
            }
        });
        let keys = pair.master.take_writer().expect("it can be written to");
        Self { child, master: pair.master, keys, seen, out }
    }

    pub(super) fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).and_then(|()| self.keys.flush()).expect("somebody reads keys");
    }

    pub(super) fn resizes(&mut self, (width, height): (u16, u16)) {
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .parser
            .screen_mut()
            .set_size(count(height), count(width));
        let size = PtySize { rows: height, cols: width, ..PtySize::default() };
        self.master.resize(size).expect("it takes another size");
    }

    pub(super) fn screen(&self) -> String {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).parser.screen().contents()
    }

    pub(super) fn written(&self) -> Vec<u8> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).written.clone()
    }

    /// Returns how many pictures were drawn.
    pub(super) fn drawn(&self) -> usize {
        self.written().windows(END_OF_PICTURE.len()).filter(|part| *part == END_OF_PICTURE).count()
    }

    /// Returns every picture that was drawn, on a terminal of this size.
    pub(super) fn pictures(&self, (width, height): (u16, u16)) -> Vec<String> {
        let written = self.written();
        let ends = (0..written.len()).filter(|at| written[..*at].ends_with(END_OF_PICTURE));
        let mut parser = vt100::Parser::new(count(height), count(width), 0);
        let mut drawn = 0;
        ends.map(|end| {
            parser.process(&written[drawn..end]);
            drawn = end;
            parser.screen().contents()
        })
        .collect()
    }

    /// Waits until this is to be seen, and returns the whole picture.
    #[track_caller]
    pub(super) fn sees(&self, text: &str) -> String {
        let is_there = until(SOON, || self.screen().contains(text));
        assert!(is_there, "{text:?} does not come:\n{}", self.screen());
        self.screen()
    }

    #[track_caller]
    pub(super) fn loses(&self, text: &str) {
        assert!(until(SOON, || !self.screen().contains(text)), "{text:?} stays:\n{}", self.screen());
    }

    /// Returns the process of the program itself.
    pub(super) fn pid(&self) -> u32 {
        let shell = self.child.process_id().expect("it runs");
        let below = manifold_testkit::processes::children(shell);
        let is_it = |pid: &&u32| command_line(**pid).iter().any(|word| word == "tui");
        *below.iter().find(is_it).expect("the program runs")
    }

    /// Waits until it has ended and returns its code.
    pub(super) fn ends(&mut self) -> Option<i32> {
        let has_ended = until(SOON, || matches!(self.child.try_wait(), Ok(Some(_))));
        assert!(has_ended, "it does not end:\n{}", self.screen());
        std::fs::read_to_string(self.out.with_extension("code")).ok()?.trim().parse().ok()
    }

    #[track_caller]
    pub(super) fn left_the_terminal_as_it_was(&self) {
        let read = |ending| std::fs::read_to_string(self.out.with_extension(ending)).expect("stty has run");
        assert_eq!(read("before"), read("after"));
        // Its last words may be on their way when it has ended.
        let is_as_it_was = until(SOON, || {
            let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            let screen = seen.parser.screen();
            !screen.alternate_screen() && !screen.hide_cursor() && !screen.bracketed_paste()
        });
        assert!(is_as_it_was, "{}", self.screen());
    }
}

impl Drop for Tui {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            if let Some(shell) = self.child.process_id() {
                manifold_testkit::processes::children(shell).into_iter().for_each(kill_hard);
            }
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn count(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).expect("a terminal has rows and columns")
}

fn surroundings(home: &Home) -> Vec<(OsString, OsString)> {
    let command = home.sandbox.daemon();
    let variables = command.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
    let more =
        [("TERM", "xterm-256color"), ("LANG", "C.UTF-8")].map(|(name, value)| (name.into(), value.into()));
    variables.chain(more).collect()
}

fn words(home: &Home, more: &[&str]) -> Vec<OsString> {
    let program = home.sandbox.daemon().get_program().to_owned();
    let mut words = vec![program, "tui".into(), "--config".into(), home.config.clone().into()];
    words.extend(more.iter().map(OsString::from));
    words
}

/// A server of tmux's own, which ends with this.
pub(super) struct Tmux {
    socket: String,
}

impl Tmux {
    pub(super) fn open() -> Option<Self> {
        Command::new("tmux").arg("-V").output().ok()?;
        Some(Self { socket: format!("manifold-test-{}", std::process::id()) })
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("tmux");
        command.args(["-L", &self.socket, "-f", "/dev/null"]).args(args).env("LANG", "C.UTF-8");
        command
    }

    pub(super) fn runs(&self, home: &Home, (width, height): (u16, u16)) {
        let (width, height) = (width.to_string(), height.to_string());
        let mut command = self.command(&["-u", "new-session", "-d", "-x", &width, "-y", &height]);
        command.args(["/usr/bin/env", "-i"]);
        for (name, value) in surroundings(home).into_iter().filter(|(name, _)| name != "TERM") {
            let mut pair = name;
            pair.push("=");
            pair.push(value);
            command.arg(pair);
        }
        command.args(["TERM=screen", "/bin/sh", "-c", "\"$@\"; echo ended with $?; sleep 600", "sh"]);
        let status = command.args(words(home, &[])).status().expect("tmux starts");
        assert!(status.success());
    }

    pub(super) fn types(&self, keys: &str) {
        assert!(self.command(&["send-keys", keys]).status().expect("tmux answers").success());
    }

    #[track_caller]
    pub(super) fn sees(&self, text: &str) -> String {
        let screen = || {
            let output = self.command(&["capture-pane", "-p"]).output().expect("tmux answers");
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        assert!(until(SOON, || screen().contains(text)), "{text:?} does not come:\n{}", screen());
        screen()
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = self.command(&["kill-server"]).status();
    }
}
