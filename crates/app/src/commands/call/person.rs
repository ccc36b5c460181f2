//! Somebody at a terminal who answers what a server asks.

use std::io::{self, IsTerminal as _, Write as _};
use std::os::fd::AsFd as _;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::termios::{LocalFlags, SetArg, Termios, tcgetattr, tcsetattr};

use super::inbox::Inbox;
use crate::output::escaped_text;

/// No answer is longer.
const MAX_LINE_BYTES: usize = 1 << 20;

/// Who answers.
pub(crate) trait Person {
    /// Tells a line. It may be a server's.
    fn say(&mut self, text: &str);
    /// Asks for a line, unless the question ends before.
    fn line(&mut self, prompt: &Prompt<'_>, inbox: &mut Inbox) -> Line;
}

/// What stands before the cursor.
pub(crate) struct Prompt<'a> {
    pub(crate) text: &'a str,
    /// Which question it belongs to.
    pub(crate) question: &'a str,
    /// What is typed is not shown.
    pub(crate) is_secret: bool,
}

/// What came of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Typed(String),
    /// Ctrl-D: no answer is wanted.
    Declined,
    /// The question is no longer asked.
    Gone,
}

/// The terminal this program was started from.
#[derive(Debug)]
pub(crate) struct Terminal(());

impl Terminal {
    /// Returns the terminal, if somebody can read what is asked there and type.
    pub(crate) fn find() -> Option<Self> {
        (io::stdin().is_terminal() && io::stderr().is_terminal()).then_some(Self(()))
    }
}

impl Person for Terminal {
    fn say(&mut self, text: &str) {
        let _ = writeln!(io::stderr(), "{}", escaped_text(text));
    }

    fn line(&mut self, prompt: &Prompt<'_>, inbox: &mut Inbox) -> Line {
        // Before it is asked for: whoever types at once must not see it either.
        let _hidden = prompt.is_secret.then(Hidden::start);
        let _ = write!(io::stderr(), "{}", escaped_text(prompt.text));
        let _ = io::stderr().flush();
        let line = read_line(prompt.question, inbox);
        if !matches!(line, Line::Typed(_)) {
            // The cursor is still behind the prompt.
            let _ = writeln!(io::stderr());
        }
        line
    }
}

fn read_line(question: &str, inbox: &mut Inbox) -> Line {
    let mut typed = Vec::new();
    loop {
        if inbox.ends(question) {
            return Line::Gone;
        }
        let stdin = io::stdin();
        let mut watched =
            [PollFd::new(stdin.as_fd(), PollFlags::POLLIN), PollFd::new(inbox.bell(), PollFlags::POLLIN)];
        let _ = poll(&mut watched, PollTimeout::NONE);
        if !watched[0].any().unwrap_or(true) {
            continue;
        }
        // A terminal hands over whole lines, so that nothing of a later answer is taken with this one.
        let mut chunk = [0; 4096];
        match nix::unistd::read(stdin.as_fd(), &mut chunk) {
            Ok(0) | Err(_) if typed.is_empty() => return Line::Declined,
            Ok(0) | Err(_) => break,
            Ok(count) => typed.extend_from_slice(&chunk[..count]),
        }
        if typed.ends_with(b"\n") || typed.len() > MAX_LINE_BYTES {
            break;
        }
    }
    let text = String::from_utf8_lossy(&typed);
    Line::Typed(text.trim_end_matches(['\n', '\r']).to_owned())
}

/// A terminal that does not show what is typed, until this is dropped.
pub(crate) struct Hidden {
    before: Option<Termios>,
}

impl Hidden {
    /// Has the terminal show nothing from now on.
    pub(crate) fn start() -> Self {
        let before = tcgetattr(io::stdin()).ok();
        if let Some(mut silent) = before.clone() {
            silent.local_flags.remove(LocalFlags::ECHO);
            silent.local_flags.insert(LocalFlags::ECHONL);
            let _ = tcsetattr(io::stdin(), SetArg::TCSADRAIN, &silent);
        }
        Self { before }
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let _ = tcsetattr(io::stdin(), SetArg::TCSADRAIN, before);
        }
    }
}
