//! What only one replica may do at a time: a key that its owner renews, and that is free again when it does not.

use std::sync::LazyLock;
use std::time::Duration;

use crate::{Away, Store};

/// Takes or renews, and returns who has it.
static HOLD: LazyLock<redis::Script> = LazyLock::new(|| {
    redis::Script::new(
        r"
        local owner = redis.call('GET', KEYS[1])
        if owner and owner ~= ARGV[1] then return owner end
        redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
        return ARGV[1]",
    )
});

/// Lets go of what is one's own.
static RELEASE: LazyLock<redis::Script> = LazyLock::new(|| {
    redis::Script::new(
        "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0",
    )
});

impl Store {
    /// Takes a lease, or renews it. Returns the number of whoever has it now.
    pub async fn hold(&self, name: &str, lasts: Duration) -> Result<u32, Away> {
        let mut script = HOLD.key(self.key(&format!("lease:{{{name}}}")));
        script.arg(self.shared.me.number).arg(lasts.as_millis() as u64);
        self.shared.connection.run(&script).await
    }

    /// Lets go of a lease, if it is ours.
    pub async fn release(&self, name: &str) -> Result<(), Away> {
        let mut script = RELEASE.key(self.key(&format!("lease:{{{name}}}")));
        script.arg(self.shared.me.number);
        self.shared.connection.run::<i64>(&script).await.map(|_| ())
    }
}
