//! Who is at the other end of a connection.

use hyper::header::{HeaderName, HeaderValue};
use manifold_admin::Actor;
use tokio::net::UnixStream;

use super::answer::Answer;

const SCOPE: HeaderName = HeaderName::from_static("manifold-scope");

/// What is kept of the word by which a face names itself.
const MAX_FACE: usize = 64;

/// The longest name of a program that is kept.
const MAX_PROGRAM: usize = 256;

/// Whoever asks, as found out when it came.
#[derive(Debug, Clone)]
pub struct Peer {
    pub uid: Option<u32>,
    pub pid: Option<u32>,
    pub program: Option<String>,
    /// What it is where it does not say so itself.
    pub face: String,
    pub scope: Scope,
}

/// How far a peer may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Has not been let in.
    Nobody,
    /// Looks, and sees no secrets.
    View,
    /// Also calls tools and orders servers.
    Act,
    /// Also changes the config.
    Edit,
    /// Came over the control socket: the user, who may do all of it.
    Socket,
}

impl Peer {
    /// Returns who is at the other end of the control socket, as the kernel says.
    pub fn of(socket: &UnixStream) -> Self {
        let credentials = socket.peer_cred().ok();
        let pid = credentials.and_then(|peer| u32::try_from(peer.pid()?).ok()).filter(|pid| *pid != 0);
        Self {
            uid: credentials.map(|peer| peer.uid()),
            pid,
            program: pid.and_then(program),
            face: "api".to_owned(),
            scope: Scope::Socket,
        }
    }

    /// Says with an answer what a page may do: one that was let in by a token cannot know.
    pub(super) fn say_scope(&self, mut answer: Answer) -> Answer {
        let scope = match self.scope {
            Scope::View => "view",
            Scope::Act => "act",
            Scope::Edit => "edit",
            Scope::Nobody | Scope::Socket => return answer,
        };
        answer.headers_mut().insert(SCOPE, HeaderValue::from_static(scope));
        answer
    }

    /// Returns who does what is asked, under the name that the face gives itself.
    pub(super) fn actor(&self, face: Option<&str>) -> Actor {
        let is_plain = |face: &&str| {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b":._-".contains(&byte);
            !face.is_empty() && face.len() <= MAX_FACE && face.bytes().all(plain)
        };
        // Of others it is known by what they were let in with.
        let face = face.filter(is_plain).filter(|_| self.scope == Scope::Socket);
        Actor {
            uid: self.uid,
            pid: self.pid,
            program: self.program.clone(),
            face: face.unwrap_or(&self.face).to_owned(),
        }
    }
}

/// Returns what a process runs and, where it goes by another name, that too.
fn program(pid: u32) -> Option<String> {
    let exe = std::fs::read_link(format!("/proc/{pid}/exe")).ok().map(|path| path.display().to_string());
    let arguments = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let first = arguments.split(|byte| *byte == 0).next().unwrap_or_default();
    let called = String::from_utf8_lossy(first).into_owned();
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let shown = match exe {
        Some(exe) if called.is_empty() || name(&exe) == name(&called) => exe,
        Some(exe) => format!("{exe} ({called})"),
        None if called.is_empty() => return None,
        None => called,
    };
    Some(shown.chars().take(MAX_PROGRAM).collect())
}
