//! Who else there is: each replica says every two seconds that it lives, and where it is reached. How long ago another was
//! heard of is judged by what was read here without a break: after one all have to be given time to come back.

use std::collections::{HashMap, HashSet};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::time::{Instant, sleep, sleep_until};
use tracing::{debug, info};

use crate::{Away, Store};

const EVERY: Duration = Duration::from_secs(2);
/// Who looks for one that is not known reads no more often than this.
const LOOKED_EVERY: Duration = Duration::from_millis(100);
/// Who has said nothing new for this long is gone.
const GONE_AFTER: Duration = Duration::from_secs(6);
/// Reading seldomer than this is a break.
const BREAK: Duration = EVERY.saturating_mul(2);
/// What nobody has said anew for so long is removed from the store, in milliseconds of its clock.
const FORGOTTEN_MS: u64 = 60_000;
/// What was last read counts for so long while the store is away: whoever is asked in vain says so.
const BELIEVED: Duration = Duration::from_secs(60);

/// One replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Tells processes apart.
    pub number: u32,
    pub name: String,
    pub address: String,
}

#[derive(Default)]
pub(crate) struct Nodes {
    /// Those that live, as far as is known.
    known: ArcSwap<HashMap<u32, Node>>,
    reading: ArcSwap<Option<Reading>>,
    heard: Mutex<HashMap<u32, Heard>>,
    /// Held by whoever reads for those who look.
    looking: tokio::sync::Mutex<()>,
}

/// How long it has been read without a break.
#[derive(Clone, Copy)]
struct Reading {
    since: Instant,
    last: Instant,
    /// Of which connection.
    connection: u64,
}

/// What was last heard of a replica.
struct Heard {
    text: String,
    at: Instant,
}

/// Says that one lives, removes what is old, and returns what all have said.
static ANNOUNCE: LazyLock<redis::Script> = LazyLock::new(|| {
    redis::Script::new(
        r"
        local time = redis.call('TIME')
        local now = time[1] * 1000 + math.floor(time[2] / 1000)
        redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', now) .. ' ' .. ARGV[2])
        redis.call('PEXPIRE', KEYS[1], ARGV[3])
        local all, said = redis.call('HGETALL', KEYS[1]), {}
        for at = 1, #all, 2 do
            local when = tonumber(string.match(all[at + 1], '^%d+'))
            if not when or now - when > tonumber(ARGV[3]) then
                redis.call('HDEL', KEYS[1], all[at])
            else
                said[#said + 1] = all[at]
                said[#said + 1] = all[at + 1]
            end
        end
        return said",
    )
});

impl Store {
    /// Returns another replica, if it lives as far as is known.
    pub fn node(&self, number: u32) -> Option<Node> {
        let reading = (**self.shared.nodes.reading.load())?;
        let is_believed = reading.last.elapsed() < BELIEVED;
        self.shared.nodes.known.load().get(&number).filter(|_| is_believed).cloned()
    }

    /// Returns whether a replica is known to be gone, by something read after `asked`. Where it is not known it may live.
    pub fn is_gone(&self, number: u32, asked: Instant) -> bool {
        let nodes = &self.shared.nodes;
        let Some(reading) = **nodes.reading.load() else { return false };
        let is_steady = reading.since.elapsed() >= GONE_AFTER
            && reading.last > asked
            && reading.connection == self.shared.connection.generation();
        is_steady && !self.shared.connection.is_away() && !nodes.known.load().contains_key(&number)
    }

    /// Reads anew who there is: one that has just come is not known yet. Of those who look at once one reads for all.
    pub async fn look(&self) {
        let nodes = &self.shared.nodes;
        let asked = Instant::now();
        let _one = nodes.looking.lock().await;
        let last = (**nodes.reading.load()).map(|reading| reading.last);
        if self.is_leaving() || last.is_some_and(|last| last > asked) {
            return;
        }
        if let Some(last) = last {
            sleep_until(last + LOOKED_EVERY).await;
        }
        let _ = self.announce().await;
    }

    /// Returns how many replicas live, as far as is known.
    pub fn nodes(&self) -> usize {
        self.shared.nodes.known.load().len().max(1)
    }

    /// Says that we are about to go, and says no more that we live.
    pub async fn leave(&self) {
        self.shared.leaving.store(true, std::sync::atomic::Ordering::Relaxed);
        let left = redis::Cmd::hdel(self.key("nodes"), self.shared.me.number);
        if self.shared.connection.tell(&[left]).await.is_err() {
            debug!("the other replicas will find out that we are gone");
        }
    }

    fn is_leaving(&self) -> bool {
        self.shared.leaving.load(std::sync::atomic::Ordering::Relaxed)
    }

    pub(crate) async fn keep_announced(&self) {
        let connection = &self.shared.connection;
        loop {
            connection.wait_connected().await;
            if self.is_leaving() {
                return;
            }
            if self.announce().await.is_err() {
                self.shared.nodes.reading.rcu(|reading| (**reading).map(Reading::broken));
            }
            // Who comes back says so at once: others wait for it.
            tokio::select! {
                () = sleep(EVERY) => {}
                () = connection.reconnected() => {}
            }
        }
    }

    async fn announce(&self) -> Result<(), Away> {
        let me = &self.shared.me;
        let generation = self.shared.connection.generation();
        let mut script = ANNOUNCE.key(self.key("nodes"));
        script
            .arg(me.number)
            .arg(format!("{} {}", self.shared.address.load_full(), me.name))
            .arg(FORGOTTEN_MS);
        let said: Vec<(u32, String)> = self.shared.connection.run(&script).await?;
        self.shared.nodes.take_over(said, generation, Instant::now());
        Ok(())
    }
}

impl Reading {
    /// The next that is read is the first after a break.
    fn broken(self) -> Self {
        Self { connection: 0, ..self }
    }
}

impl Nodes {
    /// Takes over what all have said, read over the connection of this number.
    pub(crate) fn take_over(&self, said: Vec<(u32, String)>, connection: u64, now: Instant) {
        let before = **self.reading.load();
        let steady = before.filter(|before| before.connection == connection && now - before.last <= BREAK);
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        match steady {
            // Nobody but itself removes a replica that was there a moment ago.
            Some(_) => heard.retain(|number, _| said.iter().any(|(there, _)| there == number)),
            None => heard.values_mut().for_each(|heard| heard.at = now),
        }
        let in_store: HashSet<u32> = said.iter().map(|(number, _)| *number).collect();
        for (number, text) in said {
            match heard.get_mut(&number) {
                Some(known) if known.text == text => {}
                _ => drop(heard.insert(number, Heard { text, at: now })),
            }
        }
        // What one that is gone has said stays in the store for a while, and is no news.
        heard.retain(|number, heard| in_store.contains(number) || now - heard.at < GONE_AFTER);
        let live = heard.iter().filter(|(_, heard)| now - heard.at < GONE_AFTER);
        let live: HashMap<u32, Node> =
            live.filter_map(|(number, heard)| Some((*number, node(*number, &heard.text)?))).collect();
        let (replicas, known) = (live.len(), self.known.load().len());
        if replicas != known {
            info!(replicas, "replicas come and go");
        }
        self.known.store(live.into());
        let since = steady.map_or(now, |steady| steady.since);
        self.reading.store(Some(Reading { since, last: now, connection }).into());
    }

    #[cfg(test)]
    pub(crate) fn numbers(&self) -> Vec<u32> {
        let mut numbers: Vec<u32> = self.known.load().keys().copied().collect();
        numbers.sort_unstable();
        numbers
    }
}

/// Reads what a replica has said: when, where it is reached, and its name.
pub(crate) fn node(number: u32, text: &str) -> Option<Node> {
    let (_, text) = text.split_once(' ')?;
    let (address, name) = text.split_once(' ')?;
    Some(Node { number, name: name.to_owned(), address: address.to_owned() })
}
