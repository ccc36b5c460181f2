//! What goes over both hops, as a stream. Frames are made, filtered and written on the reader's time; one that is behind
//! loses some and is told how many.

use bytes::Bytes;
use futures_util::stream;
use manifold_admin::{CommandError, Cursor, Filter, Frame, Matcher, StreamItem, TrafficItem};
use manifold_engine::{SubscribeOptions, Subscription};
use tokio::time::timeout;

use super::answer::Answer;
use super::peer::Peer;
use super::request::{Asked, bad};
use super::{Office, access, audit, sse};

/// What is written together, at most; what is more waits until the reader has taken that.
const MAX_TOGETHER_BYTES: usize = 64 << 10;
/// Frames looked at before others have their turn, whether they fit or not.
const MAX_TOGETHER: usize = 64;

pub(super) fn stream(office: &Office, peer: &Peer, asked: &Asked) -> Result<Answer, CommandError> {
    let filter = Filter::parse(asked.query.get("filter").unwrap_or_default());
    let filter = filter.map_err(|error| bad(&format!("the filter cannot be read: {error}")))?;
    let after = asked.header("last-event-id").or_else(|| asked.query.get("after"));
    let after = after.map(str::parse::<Cursor>).transpose().map_err(|error| bad(&error.to_string()))?;
    let has_bodies = asked.query.is_set("bodies");
    let needs_bodies = has_bodies || filter.needs_bodies();
    if needs_bodies {
        access::check_bodies(peer)?;
        audit::tell_of_bodies(office, peer, "watch", None);
    }
    let options = SubscribeOptions { bodies: needs_bodies, after, ..SubscribeOptions::default() };
    let frames = office.control.watch_traffic(options)?;
    let mut first = sse::RETRY.to_owned();
    let at = frames.cursor();
    let begin = serde_json::to_string(&StreamItem::Cursor { at }).unwrap_or_default();
    sse::write(&mut first, Some(&at.to_string()), "cursor", &begin);
    let hold = office.program.hold();
    let reader = Reader { frames, matcher: filter.matcher(), has_bodies, first: Some(first), _hold: hold };
    Ok(sse::answer(stream::unfold(reader, |mut reader| async move {
        let text = reader.read().await?;
        Some((Bytes::from(text), reader))
    })))
}

struct Reader {
    frames: Subscription,
    matcher: Matcher,
    has_bodies: bool,
    first: Option<String>,
    _hold: Box<dyn Send + Sync>,
}

impl Reader {
    /// Returns what is to be written next; `None`: the gateway is gone.
    async fn read(&mut self) -> Option<String> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        loop {
            let Ok(item) = timeout(sse::HEARTBEAT, self.frames.next()).await else {
                return Some(sse::STILL_HERE.to_owned());
            };
            let mut text = String::new();
            self.write(item?, &mut text);
            let mut looked_at = 1;
            while looked_at < MAX_TOGETHER
                && text.len() < MAX_TOGETHER_BYTES
                && let Some(item) = self.frames.try_next()
            {
                self.write(item, &mut text);
                looked_at += 1;
            }
            if !text.is_empty() {
                return Some(text);
            }
            // Nothing of what came fits; others must not wait for that.
            tokio::task::yield_now().await;
        }
    }

    fn write(&mut self, item: TrafficItem, text: &mut String) {
        let (event, item) = match item {
            TrafficItem::Gap { .. } => ("gap", item),
            TrafficItem::Frame(mut frame) => {
                if !self.matcher.matches(&frame, self.frames.now()) {
                    return;
                }
                if !self.has_bodies {
                    leave_out_body(&mut frame);
                }
                ("frame", TrafficItem::Frame(frame))
            }
        };
        let id = self.frames.cursor().to_string();
        sse::write(text, Some(&id), event, &serde_json::to_string(&item).unwrap_or_default());
    }
}

/// Leaves out what was only there for the filter; a line of a server's is all its frame has.
fn leave_out_body(frame: &mut Frame) {
    if frame.method.is_some() || frame.id.is_some() || frame.body.is_some() {
        (frame.body, frame.text, frame.base64, frame.cut) = (None, None, None, None);
    }
}
