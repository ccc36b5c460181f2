//! What outlives the program: the port, and by which digests its pages are known. It lies beside the sockets, for the user
//! alone, so that the next program goes on with the pages that are open.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use manifold_admin::PageScope;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::secret::Digested;
use super::sessions::{EDIT_LIFE, IDLE, Session, Sessions};

/// Members are only added; what is not understood is as good as not there.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Kept {
    pub(super) port: u16,
    /// Since which start of the machine times are counted.
    boot: String,
    sessions: Vec<KeptSession>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct KeptSession {
    token: String,
    code: String,
    scope: PageScope,
    /// When it ends if nobody uses it, in milliseconds since the machine was started: whoever sets the date changes nothing.
    idle_end_ms: u64,
    /// When it ends in any case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    end_ms: Option<u64>,
}

impl Kept {
    pub(super) fn of(port: u16, sessions: &Sessions, now: Instant) -> io::Result<Self> {
        let Machine { boot, uptime } = Machine::now()?;
        let ms = |at: Instant| {
            let at = uptime + at.saturating_duration_since(now);
            u64::try_from(at.as_millis()).unwrap_or(u64::MAX)
        };
        let kept = |session: &Session| KeptSession {
            token: session.token.to_text(),
            code: session.code.to_text(),
            scope: session.scope,
            idle_end_ms: ms(session.idle_end(now)),
            end_ms: session.until.map(ms),
        };
        Ok(Self { port, boot, sessions: sessions.all().iter().map(kept).collect() })
    }

    /// Returns the sessions that have not ended meanwhile; none where the machine was started anew.
    pub(super) fn sessions(&self, now: Instant) -> Vec<Session> {
        let Some(machine) = Machine::now().ok().filter(|machine| machine.boot == self.boot) else {
            return Vec::new();
        };
        let left = |end: u64, most: Duration| {
            let left = Duration::from_millis(end).checked_sub(machine.uptime)?;
            Some(left.min(most)).filter(|left| !left.is_zero())
        };
        let session = |kept: &KeptSession| {
            let idle = left(kept.idle_end_ms, IDLE)?;
            let until = match kept.end_ms {
                Some(end) => Some(now + left(end, EDIT_LIFE)?),
                None if kept.scope == PageScope::Edit => return None,
                None => None,
            };
            let (token, code) = (Digested::from_text(&kept.token)?, Digested::from_text(&kept.code)?);
            let last_used = now.checked_sub(IDLE - idle).unwrap_or(now);
            Some(Session::new(kept.scope, token, code, until, last_used))
        };
        self.sessions.iter().filter_map(session).collect()
    }

    /// Reads what the program before us has kept.
    pub(super) fn read(file: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(file).ok()?).ok()
    }

    pub(super) fn write(&self, file: &Path) -> io::Result<()> {
        let beside = file.with_extension("new");
        // What a program that was killed has left has perhaps other rights.
        let _ = fs::remove_file(&beside);
        let mut written = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
        written.write_all(&serde_json::to_vec(self)?)?;
        fs::rename(&beside, file)
    }
}

/// Which start of the machine this is, and how long ago that was: the clock that processes have in common.
struct Machine {
    boot: String,
    uptime: Duration,
}

impl Machine {
    fn now() -> io::Result<Self> {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned();
        let uptime = fs::read_to_string("/proc/uptime")?;
        let seconds = uptime.split_whitespace().next().and_then(|seconds| seconds.parse().ok());
        let uptime = seconds.and_then(|seconds: f64| Duration::try_from_secs_f64(seconds).ok());
        Ok(Self { boot, uptime: uptime.ok_or(io::ErrorKind::InvalidData)? })
    }
}
