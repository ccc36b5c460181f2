//! A server that runs: what becomes of calls and orders, and who reads its lists.

use std::sync::Arc;
use std::time::Duration;

use manifold_engine::{Listing, Order};
use manifold_protocol::{Failure, Fault};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::{debug, info, warn};

use super::mailbox::Command;
use super::{Ending, Launcher, Life, Next, NotRunning, Running, Supervisor};
use crate::cache::ListingKey;
use crate::connection::Connection;
use crate::listing;
use crate::logs::quote;

/// How much of a server's own words an error repeats.
const MAX_QUOTED: usize = 200;

/// The reading of the lists in one life.
struct Reading {
    follower: JoinSet<()>,
    /// What came of the last reading.
    listed: watch::Sender<Read>,
    seen: watch::Receiver<Read>,
    read_once: bool,
}

/// That lists have been read, or why they could not be.
type Read = Result<(), Failure>;

impl<L: Launcher> Supervisor<L> {
    /// Serves until the server ends, by itself or by order.
    pub(super) async fn ready(&mut self, mut running: Running<L::Life>) -> Next {
        let connection = Arc::clone(&running.connection);
        self.take_up(&running);
        let mut reading = self.read(&running);
        let idle_timeout = self.launcher.server().idle_timeout;
        let next = loop {
            let command = tokio::select! {
                ending = running.life.ended() => break match ending {
                    Ending::Exited { code, how } => self.died(&connection, code, &format!("it ended {how}")),
                    Ending::Silent => self.fell_silent(&connection),
                },
                _ = reading.seen.changed() => {
                    self.has_read(&mut reading);
                    continue;
                }
                () = unused(&connection, idle_timeout) => {
                    if self.is_unwanted() && connection.retire() {
                        info!(server = %self.shared.id, "idle timeout, stopping");
                        break Next::NotRunning(NotRunning::Asleep);
                    }
                    continue;
                }
                command = self.commands.recv() => command,
            };
            if let Some(next) = self.obey(command, &running, &mut reading) {
                break next;
            }
        };
        reading.follower.abort_all();
        self.shared.ready.store(None);
        if let Next::Suspended(suspending) = next {
            self.let_go(running, suspending).await;
            return Next::Left;
        }
        self.end(&connection, running.life, &next).await;
        next
    }

    /// Tells those who wait for the lists that they have been read, or could not be.
    fn has_read(&mut self, reading: &mut Reading) {
        reading.read_once = true;
        for done in self.discovering.drain(..) {
            let _ = done.send(());
        }
        let server = || self.shared.id.clone();
        let read = reading.seen.borrow_and_update().clone().map_err(|failure| match failure {
            Failure::Fault(fault) => fault,
            Failure::Peer(error) => {
                let reason =
                    format!("it did not say what it offers: {}", quote(error.as_bytes(), MAX_QUOTED));
                Fault::Refused { server: server(), tool: None, reason }
            }
        });
        for done in self.refreshing.drain(..) {
            let _ = done.send(read.clone());
        }
    }

    /// Reads the lists once more, from the beginning.
    fn read_again(&self, running: &Running<L::Life>, reading: &mut Reading) {
        reading.read_once = false;
        reading.follower = JoinSet::new();
        reading.follower.spawn(self.follower(running, None, reading.listed.clone()));
    }

    /// Lets calls go straight out, those first that waited for the start.
    fn take_up(&mut self, running: &Running<L::Life>) {
        let connection = &running.connection;
        self.show_ready(running);
        self.shared.ready.store(Some(Arc::clone(connection)));
        // Whoever comes from now on is told of by `widened`.
        connection.widen_if_shared();
        self.retry_at = None;
        for done in self.ordering.drain(..) {
            let _ = done.send(Ok(()));
        }
        // Only a server that has died already gives calls back; they wait for the next life.
        let waiting = self.waiting.take_all().into_iter();
        self.waiting.put_back(waiting.filter_map(|(call, exchange)| connection.send(call, exchange).err()));
    }

    /// Does what is asked of a running server. Returns what comes next where that is the end of this life.
    fn obey(
        &mut self,
        command: Option<Command>,
        running: &Running<L::Life>,
        reading: &mut Reading,
    ) -> Option<Next> {
        let connection = &running.connection;
        match command {
            None => return Some(Next::Closed(None)),
            Some(Command::Close(done)) => return Some(Next::Closed(Some(done))),
            Some(Command::Suspend(suspending)) => return Some(Next::Suspended(suspending)),
            Some(Command::Call(call, exchange)) => {
                if let Err((call, exchange)) = connection.send(call, exchange) {
                    self.wait(call, exchange);
                }
            }
            Some(Command::Discover(done)) if reading.read_once && self.shared.listing.load().is_some() => {
                let _ = done.send(());
            }
            Some(Command::Discover(done)) if reading.read_once => {
                // The first reading failed; it is tried again, and nobody waits for that (D4).
                let _ = done.send(());
                self.read_again(running, reading);
            }
            Some(Command::Discover(done)) => self.discovering.push(done),
            Some(Command::Order(Order::Start, done)) => {
                let _ = done.send(Ok(()));
            }
            Some(Command::Order(Order::Refresh, done)) => {
                self.refreshing.push(done);
                if reading.read_once {
                    self.read_again(running, reading);
                }
            }
            Some(Command::Order(Order::Restart, done)) => {
                self.ordering.push(done);
                return Some(Next::Start);
            }
            Some(Command::Order(Order::Sleep, done)) => {
                let _ = done.send(Ok(()));
                // Nothing is lost to it: what is in flight keeps it.
                if self.discovering.is_empty() && connection.retire() {
                    return Some(Next::NotRunning(NotRunning::Asleep));
                }
            }
            Some(Command::Order(Order::Stop, done)) => {
                self.ordering.push(done);
                return Some(Next::NotRunning(NotRunning::Stopped));
            }
            // Whoever signs in may be shown more.
            Some(Command::SignIn(is_free)) => {
                self.tell_status();
                if is_free && reading.read_once {
                    self.read_again(running, reading);
                }
            }
        }
        None
    }

    /// Returns whether nobody waits to hear from the server.
    fn is_unwanted(&self) -> bool {
        let standing = self.launcher.host().standing(&self.launcher.server().key);
        standing.subscriptions.is_empty() && standing.tasks.is_empty()
    }

    /// Starts reading the lists.
    fn read(&mut self, running: &Running<L::Life>) -> Reading {
        let (listed, seen) = watch::channel(Ok(()));
        let mut follower = JoinSet::new();
        let known = self.known.take();
        let read_once = known.is_some();
        follower.spawn(self.follower(running, known, listed.clone()));
        Reading { follower, listed, seen, read_once }
    }

    /// Makes the task that reads the lists and keeps them fresh.
    fn follower(
        &self,
        running: &Running<L::Life>,
        known: Option<Arc<Listing>>,
        listed: watch::Sender<Read>,
    ) -> impl Future<Output = ()> + Send + 'static + use<L> {
        let shared = Arc::clone(&self.shared);
        let (host, key) = (Arc::clone(self.launcher.host()), self.launcher.server().key.clone());
        let (cache, server) = (self.launcher.cache().clone(), Arc::clone(self.launcher.server()));
        let era = running.connection.dialect().era();
        let told = ListingKey::of(&server, era, &host.client_facts().capabilities);
        let publish = move |read: Result<Arc<Listing>, Failure>| {
            let read = match read {
                Ok(listing) => {
                    debug!(server = %shared.id, tools = listing.tools.len(), "listed");
                    cache.note_listing_for(&server, told.clone(), &listing);
                    shared.saved.listed(&told, era, &listing);
                    shared.listing.store(Some(listing));
                    host.listing_changed(&key);
                    Ok(())
                }
                Err(failure) => {
                    warn!(server = %shared.id, ?failure, "reading its lists failed");
                    Err(failure)
                }
            };
            let _ = listed.send_replace(read);
        };
        listing::follow(Arc::clone(&running.connection), running.said.clone(), known, publish)
    }
}

/// Waits until the server has not been used for so long; for ever where no time is set.
async fn unused(connection: &Connection, idle_timeout: Option<Duration>) {
    match idle_timeout {
        Some(patience) => connection.unused_for(patience).await,
        None => std::future::pending().await,
    }
}
