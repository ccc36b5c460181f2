//! Finding the user's daemon, and starting it if there is none.

mod patience;
mod start;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use manifold_rendezvous::hello::{Answer, Hello, RefusalCode, Resume, TOO_FAR_APART, Values, Welcome, meet};
use manifold_rendezvous::{IncomingLine, Lock, LockError, Place, PlaceError, send_line};
use nix::poll::PollFlags;

pub use patience::Patience;
pub use start::{Begun, Start};

/// How long is waited before a daemon that is on its way in or out is tried again, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(200);

/// What it takes to be served by the user's daemon.
pub struct Attaching<'a> {
    /// Where the daemon is looked for, each time anew: the folder for runtime files comes and goes with logins.
    pub place: &'a dyn Fn() -> Result<Place, PlaceError>,
    pub hello: Hello,
    /// The client's variables: the value of one, and all of them.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    pub variables: &'a dyn Fn() -> Values,
    /// How a daemon is started where there is none.
    pub start: &'a dyn Fn() -> Result<Start, NoDaemon>,
}

/// A daemon that serves us.
pub struct Attached {
    pub socket: UnixStream,
    pub welcome: Welcome,
}

/// Why there is no daemon to serve us.
#[derive(Debug, thiserror::Error)]
pub enum NoDaemon {
    #[error("the config says that there is to be none")]
    NotWanted,
    #[error("{0}")]
    NotStarted(String),
    #[error("it does not answer")]
    Silent,
    #[error("nobody waits for it any more")]
    NotAwaited,
    #[error("{message}")]
    Refused { code: RefusalCode, message: String },
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Gets a daemon for as long as there is patience, starting one if there is none. `stages` goes with the first words.
pub fn attach(
    with: &Attaching<'_>,
    stages: &OwnedFd,
    resume: Option<Resume>,
    patience: &mut Patience<'_>,
) -> Result<Attached, NoDaemon> {
    let mut pause = FIRST_PAUSE;
    loop {
        let place = (with.place)().map_err(|error| NoDaemon::NotStarted(error.to_string()))?;
        let found = match place.reach_at_once(&place.client_socket()) {
            Ok(None) => found_or_started(with, &place, patience)?,
            // It is there, and too many want something of it.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
            found => found?,
        };
        if let Some(socket) = found {
            match greet(with, socket, stages, resume.clone(), patience) {
                Ok(Greeted::Served(attached)) => return Ok(attached),
                // One that goes leaves its place to another.
                Ok(Greeted::Gone) => {}
                Err(error) => return Err(error),
            }
        }
        patience.pause(pause)?;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Starts a daemon, unless another has done so meanwhile.
fn found_or_started(
    with: &Attaching<'_>,
    place: &Place,
    patience: &mut Patience<'_>,
) -> Result<Option<UnixStream>, NoDaemon> {
    let failed = |why: String| NoDaemon::NotStarted(why);
    let _one_at_a_time = match patience.lock(&place.start_lock()) {
        Ok(lock) => lock?,
        Err(error) => return Err(failed(format!("its lock cannot be taken: {error}"))),
    };
    match place.reach_at_once(&place.client_socket()) {
        Ok(None) => {}
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
        found => return Ok(found?),
    }
    match Lock::try_take(&place.run_lock()) {
        Ok(lock) => {
            let start = (with.start)()?;
            // What a dead one left; nobody but the holder of its lock may.
            place.clear();
            match start.run(lock, patience)? {
                Begun::Ready => Ok(place.reach_at_once(&place.client_socket())?),
                Begun::Elsewhere => Ok(None),
            }
        }
        // It lives, and is about to listen or about to end.
        Err(LockError::Held) => Ok(None),
        Err(LockError::Io(error)) => Err(failed(format!("its lock cannot be taken: {error}"))),
    }
}

enum Greeted {
    Served(Attached),
    Gone,
}

fn greet(
    with: &Attaching<'_>,
    socket: UnixStream,
    stages: &OwnedFd,
    resume: Option<Resume>,
    patience: &mut Patience<'_>,
) -> Result<Greeted, NoDaemon> {
    let hello = Hello { resume, ..with.hello.clone() };
    // The line fits into the socket, whatever the daemon does.
    if send_line(&socket, &hello.to_line(), &[stages.as_fd()], patience.until()).is_err() {
        return Ok(Greeted::Gone);
    }
    let Some(line) = receive_line(&socket, patience)? else { return Ok(Greeted::Gone) };
    let welcome = match Answer::from_line(&line) {
        Ok(Answer::Welcome(welcome)) if meet(hello.words, welcome.words) => welcome,
        Ok(Answer::Welcome(_)) => {
            let message = TOO_FAR_APART.to_owned();
            return Err(NoDaemon::Refused { code: RefusalCode::Words, message });
        }
        Ok(Answer::Going {}) => return Ok(Greeted::Gone),
        Ok(Answer::Refused(refused)) => {
            return Err(NoDaemon::Refused { code: refused.code, message: refused.message });
        }
        Err(error) => return Err(NoDaemon::NotStarted(error.to_string())),
    };
    let values = match welcome.needs_everything {
        true => (with.variables)(),
        false => {
            let given = |name: &String| Some((name.clone(), (with.variable)(name)?));
            Values { values: welcome.needs.iter().filter_map(given).collect() }
        }
    };
    match send_line(&socket, &values.to_line(), &[], patience.until()) {
        Ok(()) => Ok(Greeted::Served(Attached { socket, welcome })),
        Err(error) if error.kind() == io::ErrorKind::TimedOut => Err(NoDaemon::Silent),
        Err(_) => Ok(Greeted::Gone),
    }
}

/// Reads a line; none where the daemon ends before.
fn receive_line(socket: &UnixStream, patience: &mut Patience<'_>) -> Result<Option<Vec<u8>>, NoDaemon> {
    let mut incoming = IncomingLine::default();
    loop {
        match incoming.take(socket) {
            Ok(_) => return Ok(Some(incoming.into_parts().0)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                patience.wait_ready(socket, PollFlags::POLLIN)?
            }
            Err(_) => return Ok(None),
        }
    }
}
