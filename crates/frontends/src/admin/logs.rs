//! What servers write beside the protocol: the last lines, and those that follow.

use bytes::Bytes;
use futures_util::stream;
use jiff::Timestamp;
use manifold_admin::{CommandError, LogLine};
use manifold_engine::{Followed, LogFollower};
use serde_json::json as object;
use tokio::time::timeout;

use super::answer::{Answer, json};
use super::request::{Asked, bad};
use super::{Office, servers, sse};

/// How many lines are answered where nobody says, and at most.
const LINES: usize = 100;
const MAX_LINES: usize = 10_000;

pub(super) async fn read(office: &Office, asked: &Asked) -> Result<Answer, CommandError> {
    let server = servers::find(office, &asked.name)?.key;
    let lines = asked.query.number("lines")?.unwrap_or(LINES).min(MAX_LINES);
    let since = asked.query.get("since").map(moment).transpose()?;
    let since = since.and_then(|moment| u64::try_from(moment.as_millisecond()).ok());
    if !asked.query.is_set("follow") {
        return Ok(json(&office.control.logs(&server, lines, since)?));
    }
    let (before, lines) = office.control.follow_logs(&server, lines, since)?;
    let mut first = sse::RETRY.to_owned();
    before.iter().for_each(|line| write(&mut first, line));
    let follower = Follower { lines, first: Some(first), _hold: office.program.hold() };
    Ok(sse::answer(stream::unfold(follower, |mut follower| async move {
        let text = follower.read().await?;
        Some((Bytes::from(text), follower))
    })))
}

/// Reads a time of day with its date.
fn moment(text: &str) -> Result<Timestamp, CommandError> {
    text.parse()
        .map_err(|_| bad(&format!("`since` must be a time such as 2026-01-31T08:00:00Z, not `{text}`")))
}

struct Follower {
    lines: LogFollower,
    /// Lines that were there already.
    first: Option<String>,
    _hold: Box<dyn Send + Sync>,
}

impl Follower {
    /// Returns what is to be written next; `None`: the gateway is gone.
    async fn read(&mut self) -> Option<String> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        let Ok(followed) = timeout(sse::HEARTBEAT, self.lines.next()).await else {
            return Some(sse::STILL_HERE.to_owned());
        };
        let mut text = String::new();
        match followed? {
            Followed::Line(line) => write(&mut text, &line),
            // Lines that came faster than they were read are gone.
            Followed::Missed(lines) => {
                sse::write(&mut text, None, "missed", &object!({ "lines": lines }).to_string());
            }
        }
        Some(text)
    }
}

fn write(text: &mut String, line: &LogLine) {
    sse::write(text, None, "log", &serde_json::to_string(line).unwrap_or_default());
}
