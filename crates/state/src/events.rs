//! What was said on streams, for clients that come back to another replica.

use std::sync::LazyLock;

use redis::streams::StreamRangeReply;

use crate::{Away, Store};

/// How many entries of a stream are kept, about.
const KEPT: usize = 1000;
/// For how long after the last, in seconds.
const KEPT_FOR: i64 = 15 * 60;

/// Adds an entry; returns 0 where there is one with its number, or a later one.
static APPEND: LazyLock<redis::Script> = LazyLock::new(|| {
    redis::Script::new(
        r"
        local added = redis.pcall('XADD', KEYS[1], 'MAXLEN', '~', ARGV[1], ARGV[2], ARGV[3], ARGV[4])
        if type(added) == 'table' and added.err then
            if string.find(added.err, 'equal or smaller') then return 0 end
            return added
        end
        redis.call('EXPIRE', KEYS[1], ARGV[5])
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

impl Store {
    /// Adds an entry under its number; numbers of a stream only grow. `stream` begins with the session it belongs to.
    pub async fn append(&self, stream: &str, number: u64, entry: &Entry) -> Result<Appended, Away> {
        let mut script = APPEND.key(self.stream_key(stream));
        script
            .arg(KEPT)
            .arg(format!("0-{number}"))
            .arg(entry.kind.to_string())
            .arg(&entry.text[..])
            .arg(KEPT_FOR);
        let added: i64 = self.shared.connection.run(&script).await?;
        Ok(if added == 1 { Appended::Done } else { Appended::Conflict })
    }

    /// Reads the entries after a number.
    pub async fn read(&self, stream: &str, after: u64) -> Result<Vec<(u64, Entry)>, Away> {
        let mut command = redis::cmd("XRANGE");
        command.arg(self.stream_key(stream)).arg(format!("(0-{after}")).arg("+");
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
        let (kind, value) = id.map.into_iter().next()?;
        let text: Vec<u8> = redis::from_redis_value(value).ok()?;
        Some((number, Entry { kind: kind.chars().next()?, text }))
    };
    reply.ids.into_iter().filter_map(read).collect()
}
