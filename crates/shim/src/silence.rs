//! A daemon that says nothing while somebody waits for an answer: with a slow server, or frozen? Whoever connects anew and
//! says what is no hello is hung up on, by daemons of any version, and by none that is frozen.

use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use manifold_rendezvous::Place;

#[cfg(test)]
mod tests;

/// What no daemon takes for a shim's first words.
const KNOCK: &[u8] = b"MANIFOLD 1 {}\n";

/// How long is waited for a daemon.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// How long one may say nothing before it is asked whether it lives, and how long it may take to show that.
    pub silence: Duration,
    /// How long calls wait for another daemon once theirs is gone.
    pub absence: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { silence: Duration::from_secs(10), absence: Duration::from_secs(10) }
    }
}

/// How long it has been silent, and whether it is being asked.
pub(crate) struct Silence {
    bound: Duration,
    /// Since when somebody waits and hears nothing.
    since: Option<Instant>,
    knock: Option<Knock>,
}

struct Knock {
    /// None where too many stand in line for us to get in.
    socket: Option<UnixStream>,
    until: Instant,
}

/// What is to be done about it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing before then, if then.
    Wait(Option<Instant>),
    /// Ask whether it lives.
    Ask,
    Frozen,
}

impl Silence {
    pub(crate) fn new(bound: Duration) -> Self {
        Self { bound, since: None, knock: None }
    }

    /// The daemon has said something, or has shown otherwise that it lives.
    pub(crate) fn broken(&mut self) {
        self.since = None;
        self.knock = None;
    }

    /// Returns whether nobody waits for it.
    pub(crate) fn is_unheard_of(&self) -> bool {
        self.since.is_none()
    }

    /// Judges it, given whether somebody waits for an answer.
    pub(crate) fn judge(&mut self, is_awaited: bool, now: Instant) -> Verdict {
        if !is_awaited {
            self.broken();
            return Verdict::Wait(None);
        }
        let due = match &self.knock {
            Some(knock) => knock.until,
            None => *self.since.get_or_insert(now) + self.bound,
        };
        match (now >= due, &self.knock) {
            (false, _) => Verdict::Wait(Some(due)),
            (true, None) => Verdict::Ask,
            (true, Some(_)) => Verdict::Frozen,
        }
    }

    /// Asks whether it lives. Where nobody listens it cannot be asked: it is about to end, or its folder is gone.
    pub(crate) fn ask(&mut self, place: &Place, now: Instant) {
        let knocked = place
            .reach_at_once(&place.client_socket())
            .and_then(|socket| socket.map(|mut socket| socket.write_all(KNOCK).map(|()| socket)).transpose());
        let socket = match knocked {
            Ok(Some(socket)) => Some(socket),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
            Ok(None) | Err(_) => return self.broken(),
        };
        self.knock = Some(Knock { socket, until: now + self.bound });
    }

    /// Returns where its answer comes.
    pub(crate) fn knocked(&self) -> Option<BorrowedFd<'_>> {
        self.knock.as_ref()?.socket.as_ref().map(AsFd::as_fd)
    }

    /// Takes its answer, whatever that is, if there is one.
    pub(crate) fn answered(&mut self) {
        let Some(socket) = self.knock.as_mut().and_then(|knock| knock.socket.as_mut()) else { return };
        let read = socket.read(&mut [0; 64]);
        if !read.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock) {
            self.broken();
        }
    }
}
