//! Who else there is: each replica says every two seconds that it lives, and where it is reached.

use std::collections::HashMap;
use std::sync::LazyLock;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::time::{Instant, sleep};
use tracing::info;

use crate::{Away, Store};

const EVERY: Duration = Duration::from_secs(2);
/// Who has not been heard of for this long is gone, in milliseconds.
const GONE_AFTER_MS: u64 = 6_000;
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
    known: ArcSwap<HashMap<u32, Node>>,
    read: ArcSwap<Option<Instant>>,
}

/// Says that one lives, forgets those who do not, and returns all who do.
static ANNOUNCE: LazyLock<redis::Script> = LazyLock::new(|| {
    redis::Script::new(
        r"
        local time = redis.call('TIME')
        local now = time[1] * 1000 + math.floor(time[2] / 1000)
        redis.call('HSET', KEYS[1], ARGV[1], now .. ' ' .. ARGV[2])
        redis.call('PEXPIRE', KEYS[1], ARGV[3] * 10)
        local all, live = redis.call('HGETALL', KEYS[1]), {}
        for at = 1, #all, 2 do
            local said = tonumber(string.match(all[at + 1], '^%d+'))
            if now - said > tonumber(ARGV[3]) then
                redis.call('HDEL', KEYS[1], all[at])
            else
                live[#live + 1] = all[at]
                live[#live + 1] = string.match(all[at + 1], '^%d+ (.*)$')
            end
        end
        return live",
    )
});

impl Store {
    /// Returns another replica, if it lives as far as is known.
    pub fn node(&self, number: u32) -> Option<Node> {
        let read = (**self.shared.nodes.read.load())?;
        let is_believed = read.elapsed() < BELIEVED;
        self.shared.nodes.known.load().get(&number).filter(|_| is_believed).cloned()
    }

    /// Returns how many replicas live, as far as is known.
    pub fn nodes(&self) -> usize {
        self.shared.nodes.known.load().len().max(1)
    }

    pub(crate) async fn keep_announced(&self) {
        loop {
            self.shared.connection.wait_connected().await;
            let _ = self.announce().await;
            sleep(EVERY).await;
        }
    }

    async fn announce(&self) -> Result<(), Away> {
        let me = &self.shared.me;
        let mut script = ANNOUNCE.key(self.key("nodes"));
        script
            .arg(me.number)
            .arg(format!("{} {}", self.shared.address.load_full(), me.name))
            .arg(GONE_AFTER_MS);
        let live: Vec<(u32, String)> = self.shared.connection.run(&script).await?;
        let node = |(number, text): (u32, String)| {
            let (address, name) = text.split_once(' ')?;
            Some((number, Node { number, name: name.to_owned(), address: address.to_owned() }))
        };
        let live: HashMap<u32, Node> = live.into_iter().filter_map(node).collect();
        let (replicas, before) = (live.len(), self.shared.nodes.known.load().len());
        if replicas != before {
            info!(replicas, "replicas come and go");
        }
        self.shared.nodes.known.store(live.into());
        self.shared.nodes.read.store(Some(Instant::now()).into());
        Ok(())
    }
}
