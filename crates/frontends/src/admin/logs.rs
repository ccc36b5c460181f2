//! What servers write beside the protocol: the last lines, and those that follow.

use std::collections::VecDeque;

use bytes::Bytes;
use futures_util::stream;
use manifold_admin::{CommandError, ErrorCode, Happening, LogLine, ServerId};
use tokio::time::timeout;

use super::answer::{Answer, json};
use super::engine::{self, Watching};
use super::request::Asked;
use super::{Office, servers, sse};

/// How many lines are answered where nobody says, and at most.
const LINES: usize = 100;
const MAX_LINES: usize = 10_000;

pub(super) async fn read(office: &Office, asked: &Asked) -> Result<Answer, CommandError> {
    let server = servers::find(office, &asked.name)?.key;
    let lines = asked.query.number("lines")?.unwrap_or(LINES).min(MAX_LINES);
    let since = asked.query.get("since");
    if !asked.query.is_set("follow") {
        return Ok(json(&engine::logs(&office.control, &server, lines, since)?));
    }
    // Opened before the lines are read, so that none is missed in between.
    let Some(watching) = engine::watch(&office.control, None, "log")? else {
        return Err(CommandError::new(ErrorCode::ShuttingDown, "the gateway is shutting down"));
    };
    let before = engine::logs(&office.control, &server, lines, since)?;
    let hold = office.program.hold();
    let follower = Follower {
        watching,
        server,
        seen: before.clone(),
        first: before.into(),
        has_begun: false,
        _hold: hold,
    };
    Ok(sse::answer(stream::unfold(follower, |mut follower| async move {
        let text = follower.read().await?;
        Some((Bytes::from(text), follower))
    })))
}

struct Follower {
    watching: Watching,
    server: ServerId,
    /// Lines that were read and may come as events too.
    seen: Vec<LogLine>,
    /// Lines that are still to be told before those that follow.
    first: VecDeque<LogLine>,
    has_begun: bool,
    _hold: Box<dyn Send + Sync>,
}

impl Follower {
    /// Returns what is to be written next; `None`: the gateway is gone.
    async fn read(&mut self) -> Option<String> {
        if !self.has_begun {
            self.has_begun = true;
            return Some(sse::RETRY.to_owned());
        }
        if let Some(line) = self.first.pop_front() {
            return Some(written(&line));
        }
        match timeout(sse::HEARTBEAT, self.next()).await {
            Err(_) => Some(sse::STILL_HERE.to_owned()),
            Ok(text) => text,
        }
    }

    /// Waits for a line of this server's that has not been told; where some are lost that is told in its place.
    async fn next(&mut self) -> Option<String> {
        loop {
            let event = self.watching.next().await?;
            match &event.happening {
                Happening::Log { line } if line.server.as_ref() == Some(&self.server.id) => {
                    if let Some(at) = self.seen.iter().position(|seen| seen == line) {
                        self.seen.remove(at);
                        continue;
                    }
                    return Some(written(line));
                }
                Happening::Reset => {
                    let mut text = String::new();
                    sse::write(&mut text, None, "reset", "{}");
                    return Some(text);
                }
                _ => {}
            }
        }
    }
}

fn written(line: &LogLine) -> String {
    let mut text = String::new();
    sse::write(&mut text, None, "log", &serde_json::to_string(line).unwrap_or_default());
    text
}
