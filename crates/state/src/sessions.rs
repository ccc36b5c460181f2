//! What is noted of sessions: a hash each, which is gone a day after its last use.

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
        let mut commands = redis::pipe();
        commands.hset(&key, field, value).ignore().expire(&key, IDLE).ignore();
        self.shared.connection.ask_all(&commands).await
    }

    pub async fn unset_session(&self, sid: &str, field: &str) -> Result<(), Away> {
        let mut commands = redis::pipe();
        commands.hdel(self.session_key(sid), field).ignore();
        self.shared.connection.ask_all(&commands).await
    }

    /// Notes that these sessions are in use.
    pub async fn touch_sessions(&self, sids: &[String]) -> Result<(), Away> {
        for some in sids.chunks(AT_ONCE) {
            let mut commands = redis::pipe();
            for sid in some {
                let key = self.session_key(sid);
                commands.hset(&key, "used", 1).ignore().expire(&key, IDLE).ignore();
            }
            self.shared.connection.ask_all::<()>(&commands).await?;
        }
        Ok(())
    }

    fn session_key(&self, sid: &str) -> String {
        self.key(&format!("s:{{{sid}}}"))
    }
}
