//! What is noted of sessions: a hash each, which is gone a day after its last use.

use std::sync::LazyLock;

use redis::Cmd;

use crate::{Away, Store};

/// In seconds.
const IDLE: i64 = 24 * 3600;
/// Sessions that are touched with one message.
const AT_ONCE: usize = 256;

/// Notes of a session beyond which only those that are there change.
const MAX_FIELDS: usize = 10_016;

/// Notes something, unless there is too much of it; returns whether it has.
static NOTE: LazyLock<redis::Script> = LazyLock::new(|| {
    redis::Script::new(
        r"
        local is_full = redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[4])
        if is_full and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
        redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
        redis.call('EXPIRE', KEYS[1], ARGV[3])
        return 1",
    )
});

/// What is noted of a session: names and values, as they were set.
pub type SessionFields = Vec<(String, String)>;

impl Store {
    pub async fn session(&self, sid: &str) -> Result<SessionFields, Away> {
        let mut command = redis::cmd("HGETALL");
        command.arg(self.session_key(sid));
        self.ask(&command).await
    }

    pub async fn set_session(&self, sid: &str, field: &str, value: &str) -> Result<(), Away> {
        let key = self.session_key(sid);
        self.shared.connection.tell(&[Cmd::hset(&key, field, value), Cmd::expire(&key, IDLE)]).await
    }

    /// Notes one of many; returns whether there is room for it.
    pub async fn add_to_session(&self, sid: &str, field: &str, value: &str) -> Result<bool, Away> {
        let mut script = NOTE.key(self.session_key(sid));
        script.arg(field).arg(value).arg(IDLE).arg(MAX_FIELDS);
        self.shared.connection.run::<i64>(&script).await.map(|added| added == 1)
    }

    /// Returns those of these sessions that have a field.
    pub async fn sessions_with(&self, sids: &[String], field: &str) -> Result<Vec<String>, Away> {
        let mut with = Vec::new();
        for some in sids.chunks(AT_ONCE) {
            let asked = some.iter().map(|sid| async move {
                let command = Cmd::hexists(self.session_key(sid), field);
                Ok::<_, Away>(self.ask::<bool>(&command).await?.then(|| sid.clone()))
            });
            with.extend(futures_util::future::try_join_all(asked).await?.into_iter().flatten());
        }
        Ok(with)
    }

    pub async fn unset_session(&self, sid: &str, field: &str) -> Result<(), Away> {
        self.shared.connection.tell(&[Cmd::hdel(self.session_key(sid), field)]).await
    }

    /// Notes that these sessions are in use.
    pub async fn touch_sessions(&self, sids: &[String]) -> Result<(), Away> {
        for some in sids.chunks(AT_ONCE) {
            let used = |sid: &String| {
                let key = self.session_key(sid);
                [Cmd::hset(&key, "used", 1), Cmd::expire(&key, IDLE)]
            };
            let commands: Vec<Cmd> = some.iter().flat_map(used).collect();
            self.shared.connection.tell(&commands).await?;
        }
        Ok(())
    }

    fn session_key(&self, sid: &str) -> String {
        self.key(&format!("s:{{{sid}}}"))
    }
}
