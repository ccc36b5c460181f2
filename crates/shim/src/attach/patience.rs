//! How long a daemon is waited for, and what is done meanwhile: the client may leave, or take back what it asked.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use manifold_rendezvous::{Lock, LockError};
use nix::poll::PollFlags;

use super::NoDaemon;

/// How long nothing else is looked at.
const SLICE: Duration = Duration::from_millis(100);

/// How long is waited. Between slices of it somebody is asked whether the daemon is still wanted.
pub struct Patience<'m> {
    until: Instant,
    meanwhile: Option<&'m mut dyn FnMut() -> bool>,
}

impl<'m> Patience<'m> {
    pub fn until(&self) -> Instant {
        self.until
    }

    /// Waits until then, whatever happens.
    pub fn lasting_until(until: Instant) -> Self {
        Self { until, meanwhile: None }
    }

    /// Waits until then, unless this says meanwhile that nobody wants a daemon any more.
    pub fn while_wanted(until: Instant, meanwhile: &'m mut dyn FnMut() -> bool) -> Self {
        Self { until, meanwhile: Some(meanwhile) }
    }

    /// Waits for something to be ready.
    pub(super) fn wait_ready(&mut self, on: &impl AsFd, events: PollFlags) -> Result<(), NoDaemon> {
        loop {
            match manifold_rendezvous::wait_ready(on, events, self.slice()) {
                Err(error) if error.kind() == io::ErrorKind::TimedOut => self.go_on()?,
                ready => return Ok(ready?),
            }
        }
    }

    /// Waits for so long at the most.
    pub(super) fn pause(&mut self, pause: Duration) -> Result<(), NoDaemon> {
        let over = Instant::now() + pause;
        loop {
            self.go_on()?;
            let left = self.slice().min(over).saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            sleep(left);
        }
    }

    /// Waits for a lock. The outer error is the file's.
    pub(super) fn lock(&mut self, path: &Path) -> io::Result<Result<Lock, NoDaemon>> {
        loop {
            match Lock::take_until(path, self.slice()) {
                Ok(lock) => return Ok(Ok(lock)),
                Err(LockError::Io(error)) => return Err(error),
                Err(LockError::Held) => {
                    if let Err(over) = self.go_on() {
                        return Ok(Err(over));
                    }
                }
            }
        }
    }

    fn slice(&self) -> Instant {
        self.until.min(Instant::now() + SLICE)
    }

    fn go_on(&mut self) -> Result<(), NoDaemon> {
        if self.meanwhile.as_mut().is_some_and(|is_wanted| !is_wanted()) {
            return Err(NoDaemon::NotAwaited);
        }
        if Instant::now() >= self.until { Err(NoDaemon::Silent) } else { Ok(()) }
    }
}
