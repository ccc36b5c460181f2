//! What was said on streams, for clients that come back to another replica.

use std::sync::LazyLock;

use redis::Cmd;
use redis::streams::StreamRangeReply;

use crate::{Away, Store};

/// How many entries of a stream are kept, about.
const KEPT: usize = 1000;
/// So many are read at once.
const AT_ONCE: usize = 64;
/// For how long after the last, in seconds.
const KEPT_FOR: i64 = 15 * 60;

/// Adds an entry; returns 0 where there is one with its number, or a later one. What a stream begins with is kept apart, too,
/// as long as it is: the first entries of a long one go.
static APPEND: LazyLock<redis::Script> = LazyLock::new(|| {
    redis::Script::new(
        r"
        local added = redis.pcall('XADD', KEYS[1], 'MAXLEN', '~', ARGV[1], ARGV[2], ARGV[3], ARGV[4])
        if type(added) == 'table' and added.err then
            if string.find(added.err, 'equal or smaller') then return 0 end
            return added
        end
        redis.call('EXPIRE', KEYS[1], ARGV[5])
        if ARGV[6] == 'first' then redis.call('SET', KEYS[2], ARGV[4], 'EX', ARGV[5])
        else redis.call('EXPIRE', KEYS[2], ARGV[5]) end
        if ARGV[7] ~= '0' then redis.call('XTRIM', KEYS[1], 'MINID', '~', '0-' .. ARGV[7]) end
        return 1",
    )
});

/// One entry: what it is, and what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub kind: char,
    pub text: Vec<u8>,
}

/// What became of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Appended {
    Done,
    /// There is one with this number, or a later one.
    Conflict,
}

/// Where an entry stands in its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Numbers of a stream only grow.
    pub number: u64,
    /// It is what the stream begins with, and can be asked for after it has gone from the log.
    pub is_first: bool,
    /// What stands before this number may go.
    pub keep_from: u64,
}

impl Store {
    /// Adds an entry under its number. `stream` begins with the session it belongs to.
    pub async fn append(&self, stream: &str, place: Place, entry: &Entry) -> Result<Appended, Away> {
        let key = self.stream_key(stream);
        let mut script = APPEND.key(&key);
        script
            .key(format!("{key}:q"))
            .arg(KEPT)
            .arg(format!("0-{}", place.number))
            .arg(entry.kind.to_string())
            .arg(&entry.text[..])
            .arg(KEPT_FOR)
            .arg(if place.is_first { "first" } else { "" })
            .arg(place.keep_from);
        let added: i64 = self.shared.connection.run(&script).await?;
        Ok(if added == 1 { Appended::Done } else { Appended::Conflict })
    }

    /// Returns the text of what a stream begins with.
    pub async fn first(&self, stream: &str) -> Result<Option<Vec<u8>>, Away> {
        self.ask(&Cmd::get(format!("{}:q", self.stream_key(stream)))).await
    }

    /// Reads entries after a number: some of them, where there are many.
    pub async fn read(&self, stream: &str, after: u64) -> Result<Vec<(u64, Entry)>, Away> {
        let mut command = redis::cmd("XRANGE");
        command.arg(self.stream_key(stream)).arg(format!("(0-{after}")).arg("+");
        command.arg("COUNT").arg(AT_ONCE);
        Ok(entries(self.ask(&command).await?))
    }

    /// Returns the number of the last entry; 0 where there is none.
    pub async fn last(&self, stream: &str) -> Result<u64, Away> {
        let mut command = redis::cmd("XREVRANGE");
        command.arg(self.stream_key(stream)).arg("+").arg("-").arg("COUNT").arg(1);
        Ok(entries(self.ask(&command).await?).first().map_or(0, |(number, _)| *number))
    }

    fn stream_key(&self, stream: &str) -> String {
        match stream.split_once(':') {
            Some((sid, number)) => self.key(&format!("ev:{{{sid}}}:{number}")),
            None => self.key(&format!("ev:{{{stream}}}")),
        }
    }
}

fn entries(reply: StreamRangeReply) -> Vec<(u64, Entry)> {
    let read = |id: redis::streams::StreamId| {
        let number = id.id.split_once('-')?.1.parse().ok()?;
        let mut fields = id.map.into_iter();
        let entry = fields.next().filter(|_| fields.next().is_none()).and_then(|(kind, value)| {
            Some(Entry { kind: kind.chars().next()?, text: redis::from_redis_value(value).ok()? })
        });
        // What a later version writes otherwise is there all the same.
        Some((number, entry.unwrap_or(Entry { kind: '?', text: Vec::new() })))
    };
    reply.ids.into_iter().filter_map(read).collect()
}
