//! The daemon's sockets and its lock, kept where clients look for them.

use std::io;
use std::os::fd::{OwnedFd, RawFd};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use listenfd::ListenFd;
use manifold_rendezvous::{Lock, LockError, Place};
use tokio::net::UnixListener;
use tokio::sync::watch;
use tokio::time::sleep;
use tracing::{info, warn};

use super::Life;
use super::inherited::leave_open;

/// How often it is seen to that everything is in its place: a folder for runtime files goes with the last login.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A listener that may be replaced by another.
pub(super) type Listening = watch::Receiver<Arc<UnixListener>>;

/// Where clients and orders come in.
pub(super) struct Home {
    place: Place,
    lock: Lock,
    clients: watch::Sender<Arc<UnixListener>>,
    orders: watch::Sender<Arc<UnixListener>>,
    /// They are systemd's, who listens on when we are gone.
    are_given: bool,
}

impl Home {
    /// Listens, or takes over what systemd listens at for us.
    pub(super) fn open(place: Place, lock: Lock) -> io::Result<Self> {
        let mut given = Given::take()?;
        let are_given = !given.0.is_empty();
        let mut at = |socket: &Path| match given.take_at(socket) {
            Some(listener) => into_tokio(listener),
            None => into_tokio(place.listen(socket)?),
        };
        let (clients, orders) = (at(&place.client_socket())?, at(&place.control_socket())?);
        Ok(Self {
            clients: watch::Sender::new(clients),
            orders: watch::Sender::new(orders),
            place,
            lock,
            are_given,
        })
    }

    /// Takes over what the process before us listened at.
    pub(super) fn inherited(
        place: Place,
        lock: OwnedFd,
        (clients, orders): (OwnedFd, OwnedFd),
        are_given: bool,
    ) -> io::Result<Self> {
        let listening = |descriptor: OwnedFd| into_tokio(descriptor.into()).map(watch::Sender::new);
        // Where its folder has been removed meanwhile, it is put back as it would have been by the program before us.
        let lock = Lock::left(lock).map_err(|error| io::Error::other(error.to_string()))?;
        Ok(Self { clients: listening(clients)?, orders: listening(orders)?, place, lock, are_given })
    }

    /// Lets the sockets and the lock stay open for the program that takes our place. Returns their numbers.
    pub(super) fn leave_open(&self) -> io::Result<[RawFd; 3]> {
        let (clients, orders) = (self.clients.borrow(), self.orders.borrow());
        Ok([leave_open(&self.lock)?, leave_open(&**clients)?, leave_open(&**orders)?])
    }

    pub(super) fn clients(&self) -> Listening {
        self.clients.subscribe()
    }

    pub(super) fn orders(&self) -> Listening {
        self.orders.subscribe()
    }

    /// Puts back what others have removed. Where another daemon has taken our place meanwhile, it has it, and we end with
    /// our last client (A17).
    pub(super) async fn keep(&mut self, life: &Life) {
        loop {
            sleep(LOOK_EVERY).await;
            if self.is_in_place() {
                continue;
            }
            match self.put_back() {
                Ok(()) => {
                    info!(folder = %self.place.folder().display(), "the daemon's sockets were removed; they are back")
                }
                Err(LockError::Held) => {
                    warn!("another daemon has taken our place; this one ends with its last client");
                    life.end_with_the_last();
                    return std::future::pending().await;
                }
                // The folder above may come back.
                Err(LockError::Io(error)) => tracing::debug!("the sockets cannot be put back: {error}"),
            }
        }
    }

    /// Puts back at once what others have removed: whoever is about to be away must find the way back.
    pub(super) fn ensure(&mut self) {
        if !self.is_in_place()
            && let Err(error) = self.put_back()
        {
            warn!("the sockets cannot be put back: {error}");
        }
    }

    fn is_in_place(&self) -> bool {
        self.are_given
            || self.lock.is_at(&self.place.run_lock())
                && self.place.client_socket().exists()
                && self.place.control_socket().exists()
    }

    fn put_back(&mut self) -> Result<(), LockError> {
        self.place.make_folder().map_err(|error| io::Error::other(error.to_string()))?;
        if !self.lock.is_at(&self.place.run_lock()) {
            self.lock = Lock::try_take(&self.place.run_lock())?;
        }
        self.clients.send_replace(into_tokio(self.place.listen(&self.place.client_socket())?)?);
        self.orders.send_replace(into_tokio(self.place.listen(&self.place.control_socket())?)?);
        Ok(())
    }

    /// Removes the sockets: nobody new comes in. What is another's stays.
    pub(super) fn close(&self) {
        if !self.are_given && self.lock.is_at(&self.place.run_lock()) {
            self.place.clear();
        }
    }
}

/// The sockets that systemd has opened for us.
struct Given(Vec<std::os::unix::net::UnixListener>);

impl Given {
    fn take() -> io::Result<Self> {
        let mut given = ListenFd::from_env();
        let all = (0..given.len()).map(|at| given.take_unix_listener(at));
        Ok(Self(all.collect::<io::Result<Vec<_>>>()?.into_iter().flatten().collect()))
    }

    fn take_at(&mut self, socket: &Path) -> Option<std::os::unix::net::UnixListener> {
        let is_it = |one: &std::os::unix::net::UnixListener| {
            one.local_addr()
                .is_ok_and(|address| address.as_pathname().and_then(Path::file_name) == socket.file_name())
        };
        let at = self.0.iter().position(is_it)?;
        Some(self.0.swap_remove(at))
    }
}

fn into_tokio(listener: std::os::unix::net::UnixListener) -> io::Result<Arc<UnixListener>> {
    listener.set_nonblocking(true)?;
    Ok(Arc::new(UnixListener::from_std(listener)?))
}

/// Takes in the next connection, wherever clients look for us by then.
pub(super) async fn next(listening: &mut Listening) -> io::Result<tokio::net::UnixStream> {
    loop {
        let listener = Arc::clone(&listening.borrow_and_update());
        tokio::select! {
            accepted = listener.accept() => return accepted.map(|(socket, _)| socket),
            changed = listening.changed() => if changed.is_err() {
                return std::future::pending().await;
            },
        }
    }
}
