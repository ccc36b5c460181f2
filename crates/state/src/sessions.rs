//! What is noted of sessions: a hash each, which is gone a day after its last use.

use redis::Cmd;

use crate::{Away, Store};

/// In seconds.
const IDLE: i64 = 24 * 3600;
/// Sessions that are touched with one message.
const AT_ONCE: usize = 256;

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
