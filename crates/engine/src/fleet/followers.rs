//! Those who read along what servers write beside the protocol. Nothing is made for them while there are none.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use manifold_admin::{Happening, LogLine};
use manifold_config::ServerKey;
use tokio::sync::broadcast;

use super::Fleet;
use crate::feed::Lane;
use crate::sync::Lock as _;
use crate::upstream::LoggedLine;

/// Lines that a follower may be behind.
const CAPACITY: usize = 1024;

/// The followers of each server's log.
#[derive(Default)]
pub(crate) struct LogFollowers {
    is_followed: AtomicBool,
    channels: Mutex<HashMap<ServerKey, broadcast::Sender<FollowedLine>>>,
}

/// A line with what tells it from those that were read before.
pub(crate) type FollowedLine = (u64, Arc<LogLine>);

impl LogFollowers {
    pub(crate) fn follow(&self, server: &ServerKey) -> broadcast::Receiver<FollowedLine> {
        let mut channels = self.channels.locked();
        let channel = channels.entry(server.clone());
        let receiver = channel.or_insert_with(|| broadcast::channel(CAPACITY).0).subscribe();
        self.is_followed.store(true, Ordering::Relaxed);
        receiver
    }

    /// Tells those who follow a server. Of those who have left nothing is kept.
    fn tell(&self, server: &ServerKey, number: u64, line: Arc<LogLine>) {
        let mut channels = self.channels.locked();
        channels.retain(|_, channel| channel.receiver_count() > 0);
        self.is_followed.store(!channels.is_empty(), Ordering::Relaxed);
        if let Some(channel) = channels.get(server) {
            let _ = channel.send((number, line));
        }
    }
}

impl Fleet {
    pub(crate) fn log_followers(&self) -> &LogFollowers {
        &self.log_followers
    }

    /// Returns whether anybody wants to know of lines as they are written.
    pub(crate) fn wants_logs(&self) -> bool {
        self.log_followers.is_followed.load(Ordering::Relaxed)
            || self.feed.is_made(Lane::Logs)
            || self.traffic.is_watched()
    }

    /// Tells those who follow of a line.
    pub(crate) fn logged(&self, server: &ServerKey, line: &LoggedLine, instance: Option<String>) {
        let number = line.number;
        let line = Arc::new(crate::control::log_line(server, line, instance));
        self.feed.leave(Lane::Logs, || Happening::Log { line: (*line).clone() });
        if self.log_followers.is_followed.load(Ordering::Relaxed) {
            self.log_followers.tell(server, number, line);
        }
    }
}
