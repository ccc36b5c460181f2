//! What goes over both hops, as a stream. Frames are made, filtered and written by a thread of each reader's own, which has
//! what the calls leave of the machine; a reader that is behind loses some and is told how many.

use std::fmt::Write as _;
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use manifold_admin::{CommandError, Cursor, ErrorCode, Filter, Frame, Matcher, StreamItem, TrafficItem};
use manifold_engine::{SubscribeOptions, Subscription};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};
use tracing::warn;

use super::answer::Answer;
use super::peer::Peer;
use super::request::{Asked, bad};
use super::{Office, access, audit, sse};

/// What is written together, at most; what is more waits until the reader has taken that.
const MAX_TOGETHER_BYTES: usize = 64 << 10;
/// Frames looked at before others have their turn, whether they fit or not.
const MAX_TOGETHER: usize = 256;
/// What comes within this time is written together. No eye sees the difference, and no message has to wake a reader.
const PAUSE: Duration = Duration::from_millis(10);
/// How far a reader steps back behind the calls where both want the processor, as `nice` counts it.
const NICENESS: i32 = 10;

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
    let past = asked.query.is_set("past") || filter.looks_back();
    let options = SubscribeOptions { bodies: needs_bodies, after, past, ..SubscribeOptions::default() };
    let frames = office.control.watch_traffic(options)?;
    let mut first = sse::RETRY.to_owned();
    let at = frames.cursor();
    let begin = serde_json::to_string(&StreamItem::Cursor { at }).unwrap_or_default();
    sse::write(&mut first, Some(&at.to_string()), "cursor", &begin);
    let hold = office.program.hold();
    let mut reader = Reader {
        frames,
        matcher: filter.matcher(),
        has_bodies,
        json: Vec::new(),
        first: Some(first),
        next_look: Instant::now(),
        _hold: hold,
    };
    // No more than one is made ahead of what is taken.
    let (sender, texts) = mpsc::channel(1);
    let thread = thread::Builder::new().name("watch".to_owned()).spawn(move || reader.run(&sender));
    thread.map_err(|error| {
        CommandError::new(ErrorCode::Failed, format!("no thread can be started: {error}"))
    })?;
    Ok(sse::answer(stream::unfold(texts, |mut texts| async move {
        let text: String = texts.recv().await?;
        Some((Bytes::from(text), texts))
    })))
}

struct Reader {
    frames: Subscription,
    matcher: Matcher,
    has_bodies: bool,
    /// Room for one frame.
    json: Vec<u8>,
    first: Option<String>,
    /// Not before then is there another look for what has come.
    next_look: Instant,
    _hold: Box<dyn Send + Sync>,
}

impl Reader {
    /// Makes what is read, until nobody does or the gateway is gone.
    fn run(&mut self, texts: &mpsc::Sender<String>) {
        // On Linux this is the thread's own. Where it is refused, the reader has its share like all others.
        let _ = rustix::process::nice(NICENESS);
        let runtime = match tokio::runtime::Builder::new_current_thread().enable_time().build() {
            Ok(runtime) => runtime,
            Err(error) => return warn!(%error, "traffic cannot be watched"),
        };
        runtime.block_on(async {
            tokio::select! {
                () = texts.closed() => {}
                () = async {
                    while let Some(text) = self.read().await {
                        if texts.send(text).await.is_err() {
                            break;
                        }
                    }
                } => {}
            }
        });
    }

    /// Returns what is to be written next; `None`: the gateway is gone.
    async fn read(&mut self) -> Option<String> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        loop {
            sleep_until(self.next_look).await;
            let Ok(item) = timeout(sse::HEARTBEAT, self.frames.next()).await else {
                return Some(sse::STILL_HERE.to_owned());
            };
            let mut text = String::new();
            self.write(item?, &mut text);
            let mut looked_at = 1;
            let is_all = loop {
                if looked_at == MAX_TOGETHER || text.len() >= MAX_TOGETHER_BYTES {
                    break false;
                }
                let Some(item) = self.frames.try_next() else { break true };
                self.write(item, &mut text);
                looked_at += 1;
            };
            if is_all {
                self.next_look = Instant::now() + PAUSE;
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
        // As `sse::write` has it; a frame stands on one line.
        let _ = write!(text, "id: {}\nevent: {event}\ndata: ", self.frames.cursor());
        self.json.clear();
        if serde_json::to_writer(&mut self.json, &item).is_ok() {
            text.push_str(std::str::from_utf8(&self.json).unwrap_or_default());
        }
        text.push_str("\n\n");
    }
}

/// Leaves out what was only there for the filter; a line of a server's is all its frame has.
fn leave_out_body(frame: &mut Frame) {
    if frame.method.is_some() || frame.id.is_some() || frame.body.is_some() {
        (frame.body, frame.text, frame.base64, frame.cut) = (None, None, None, None);
    }
}
