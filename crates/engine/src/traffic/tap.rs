//! Where the messages of one connection are seen: each is read, joined to the request it belongs to, and left for those
//! who watch.

use std::num::NonZeroU64;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use bytes::Bytes;
use foldhash::HashMap;
use manifold_admin::{Direction, FrameClient, FrameKind, FrameStatus, Hop};
use manifold_protocol::{Id, Outgoing};

use super::captured::Captured;
use super::message::{self, Head};
use super::{Traffic, nanos};
use crate::sync::Lock as _;
use tokio::time::Instant;

/// Requests of a connection that are remembered; one that never gets an answer is remembered for so long.
const MAX_OPEN: usize = 4096;

/// Who is at the other end of a connection.
#[derive(Debug, Clone, Default)]
pub struct Party {
    pub hop: Hop,
    pub client: Option<FrameClient>,
    pub namespace: Option<String>,
    /// The server's id.
    pub server: Option<String>,
    pub instance: Option<String>,
    pub generation: Option<u64>,
}

/// What a message that we write belongs to.
#[derive(Debug, Clone, Copy, Default)]
pub struct Link {
    /// The number of its call; a request without one gets one of its own.
    pub call: Option<NonZeroU64>,
    /// The operation that the call is a part of.
    pub parent: Option<NonZeroU64>,
    /// The client that it is made for.
    pub client: Option<u64>,
}

/// The place on one connection where its messages are seen.
pub struct Tap {
    traffic: Arc<Traffic>,
    party: ArcSwap<Party>,
    open: Mutex<HashMap<Key, Open>>,
}

/// A request: which way it went, and its id as it stands there.
type Key = (Direction, Box<str>);

struct Open {
    link: Link,
    at: Instant,
    method: Option<Box<str>>,
    tool: Option<Box<str>>,
    /// What is known of its end before the message that ends it.
    fate: Option<FrameStatus>,
    is_over: bool,
    /// Its id is ours to find it by, and stands in no message.
    is_nameless: bool,
}

impl Tap {
    pub fn new(traffic: &Arc<Traffic>, party: Party) -> Self {
        Self { traffic: Arc::clone(traffic), party: ArcSwap::from_pointee(party), open: Mutex::default() }
    }

    /// Returns a tap that nobody watches.
    pub fn unwatched() -> Self {
        Self::new(&Traffic::unwatched(), Party::default())
    }

    /// Returns whether messages are to be shown it. Ask this first: all else costs more.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.traffic.is_watched()
    }

    /// Notes what the client at the other end calls itself.
    pub fn introduce(&self, client: FrameClient) {
        self.party.rcu(|party| Party { client: Some(client.clone()), ..Party::clone(party) });
    }

    /// Sees a message that has come in. A request gets its number here.
    #[cold]
    pub fn heard(&self, message: &Bytes) {
        self.see(Direction::In, message, Link::default());
    }

    /// Sees a message that has come in as a part of something.
    #[cold]
    pub fn heard_within(&self, message: &Bytes, link: Link) {
        self.see(Direction::In, message, link);
    }

    /// Sees a message that is about to be written.
    #[cold]
    pub fn said(&self, message: &Outgoing, link: Link) {
        self.see(Direction::Out, &message.clone().into_bytes(), link);
    }

    /// Sees a request whose text does not say what it is: it stands in an address, or on a connection of its own.
    #[cold]
    pub fn asked(&self, dir: Direction, id: &Id, about: (&str, Option<&str>), text: &Bytes, link: Link) {
        let (method, tool) = about;
        let mut head = Head::bare(FrameKind::Request);
        head.id = Some(id.to_raw().as_str().into());
        (head.method, head.tool) = (Some(method.into()), tool.map(Into::into));
        head.is_nameless = true;
        self.see_one(dir, text, head, link);
    }

    /// Sees the answer to such a request, or one that came without its id.
    #[cold]
    pub fn answered(&self, dir: Direction, id: &Id, is_error: bool, text: &Bytes) {
        let kind = if is_error { FrameKind::Error } else { FrameKind::Response };
        let mut head = Head::bare(kind);
        head.id = Some(id.to_raw().as_str().into());
        head.status = Some(if is_error { FrameStatus::Error } else { FrameStatus::Ok });
        head.code = message::code_of(text).filter(|_| is_error);
        head.is_json = message::is_json(text);
        self.see_one(dir, text, head, Link::default());
    }

    /// Returns the number of a request that has come in and is not answered yet.
    #[cold]
    pub fn number_of(&self, id: &Id) -> Option<NonZeroU64> {
        self.link_of(Direction::In, id)?.call
    }

    /// Returns what a request belongs to that is not answered yet.
    pub fn link_of(&self, dir: Direction, id: &Id) -> Option<Link> {
        let open = self.open.locked();
        open.get(&key(dir, id)).map(|open| open.link)
    }

    /// Says what a request that has come in, and has its number, is a part of.
    #[cold]
    pub fn join(&self, id: &Id, parent: Option<NonZeroU64>) {
        if let Some(open) = self.open.locked().get_mut(&key(Direction::In, id)) {
            open.link.parent = parent;
        }
    }

    /// Says how a request will be found to have ended, whatever the message that ends it looks like.
    #[cold]
    pub fn note(&self, dir: Direction, id: &Id, fate: FrameStatus) {
        if let Some(open) = self.open.locked().get_mut(&key(dir, id)) {
            open.fate = Some(fate);
        }
    }

    /// Says the same of the call that has this number.
    #[cold]
    pub fn note_call(&self, call: NonZeroU64, fate: FrameStatus) {
        let mut table = self.open.locked();
        let of_call = table.values_mut().filter(|open| open.link.call == Some(call));
        of_call.for_each(|open| open.fate = Some(fate));
    }

    /// Sees that a request has ended without any message: its connection was let go, or its time was up.
    #[cold]
    pub fn dropped(&self, dir: Direction, id: &Id, status: FrameStatus) {
        let mut head = Head::bare(FrameKind::Http);
        head.id = Some(id.to_raw().as_str().into());
        head.status = Some(status);
        let Some((link, took)) = self.end(dir, &mut head, true) else { return };
        // A message has said so already.
        if head.status == Some(FrameStatus::Late) {
            return;
        }
        self.leave(dir, head, link, Some(took), Body::None);
    }

    /// Sees an HTTP answer that has a status and no message, to a request if that is known.
    #[cold]
    pub fn http(&self, dir: Direction, code: u16, id: Option<&Id>) {
        let mut head = Head::bare(FrameKind::Http);
        head.code = Some(i64::from(code));
        let request = if dir == Direction::In { Direction::Out } else { Direction::In };
        head.status = Some(if code < 400 { FrameStatus::Ok } else { FrameStatus::Error });
        head.id = id.map(|id| id.to_raw().as_str().into());
        let ended = id.and_then(|_| self.end(request, &mut head, false));
        let (link, took) = ended.map_or((Link::default(), None), |(link, took)| (link, Some(took)));
        self.leave(dir, head, link, took, Body::None);
    }

    /// Sees a line that the server wrote beside the protocol.
    #[cold]
    pub fn stderr(&self, line: &str) {
        self.leave(Direction::In, Head::bare(FrameKind::Stderr), Link::default(), None, Body::Text(line));
    }

    /// Sees that the server was started, or has died, and with which code.
    #[cold]
    pub fn life(&self, what: &str, code: Option<i64>) {
        let status = code.map(|code| if code == 0 { FrameStatus::Ok } else { FrameStatus::Error });
        let head = Head { code, status, ..Head::bare(FrameKind::Life) };
        self.leave(Direction::In, head, Link::default(), None, Body::Text(what));
    }

    fn see(&self, dir: Direction, text: &Bytes, link: Link) {
        for (bytes, head) in message::read(text) {
            self.see_one(dir, &bytes, head, link);
        }
    }

    fn see_one(&self, dir: Direction, bytes: &Bytes, mut head: Head, mut link: Link) {
        let mut took = None;
        match head.kind {
            FrameKind::Request => {
                link.call = link.call.or_else(|| Some(self.traffic.next_number()));
                self.begin(dir, &head, link);
            }
            FrameKind::Response | FrameKind::Error => {
                let request = if dir == Direction::In { Direction::Out } else { Direction::In };
                if let Some((of, since)) = self.end(request, &mut head, false) {
                    (link, took) = (of, Some(since));
                }
            }
            _ => {
                let cancelled = head.cancels.take();
                if let Some(id) = cancelled {
                    head.id = Some(id);
                    head.status = Some(FrameStatus::Cancelled);
                    if let Some((of, since)) = self.end(dir, &mut head, true) {
                        (link, took) = (of, Some(since));
                    }
                    head.id = None;
                }
            }
        }
        if let Some((name, version)) = head.sender.take() {
            self.name(name, version);
        }
        self.leave(dir, head, link, took, Body::Message(bytes));
    }

    /// Remembers a request until its answer.
    fn begin(&self, dir: Direction, head: &Head, link: Link) {
        let Some(id) = head.id.clone() else { return };
        let mut open = self.open.locked();
        if open.len() >= MAX_OPEN {
            open.retain(|_, open| !open.is_over);
        }
        if open.len() >= MAX_OPEN {
            open.clear();
        }
        let (method, tool) = (head.method.clone(), head.tool.clone());
        let at = Instant::now();
        open.insert(
            (dir, id),
            Open { link, at, method, tool, fate: None, is_over: false, is_nameless: head.is_nameless },
        );
    }

    /// Finds the request that a message ends, and what it is told by: what it belongs to and how long it took. One that
    /// was taken back is kept, as its answer may still come.
    fn end(&self, request: Direction, head: &mut Head, is_kept: bool) -> Option<(Link, u64)> {
        let mut table = self.open.locked();
        let key = (request, head.id.clone()?);
        let open = table.get_mut(&key)?;
        head.method = head.method.take().or_else(|| open.method.clone());
        head.tool = head.tool.take().or_else(|| open.tool.clone());
        head.status = match open.is_over {
            true => Some(FrameStatus::Late),
            false => open.fate.or(head.status),
        };
        head.is_nameless = open.is_nameless;
        let found = (open.link, nanos(open.at.elapsed()));
        if is_kept {
            open.is_over = true;
        } else {
            table.remove(&key);
        }
        Some(found)
    }

    fn name(&self, name: String, version: Option<String>) {
        let party = self.party.load();
        if party.hop != Hop::Client {
            return;
        }
        let client = party.client.clone().unwrap_or_default();
        if client.name.as_deref() != Some(&name) || client.version != version {
            self.introduce(FrameClient { name: Some(name), version, ..client });
        }
    }

    fn leave(&self, dir: Direction, head: Head, link: Link, took: Option<u64>, body: Body<'_>) {
        let most = self.traffic.body_bytes.load(Ordering::Relaxed);
        let bytes = body.bytes();
        // What is said of a server's life, and its lines, is short and is the whole of the frame.
        let most = if matches!(body, Body::Text(_)) { most.max(4096) } else { most };
        let kept = (most > 0 && !bytes.is_empty()).then(|| bytes[..bytes.len().min(most)].into());
        self.traffic.leave(Captured {
            at: self.traffic.now(),
            party: self.party.load_full(),
            client: link.client,
            dir,
            kind: head.kind,
            method: head.method,
            tool: head.tool,
            id: head.id.filter(|_| !head.is_nameless),
            call: link.call.map(NonZeroU64::get),
            parent: link.parent.map(NonZeroU64::get),
            status: head.status,
            code: head.code,
            bytes: bytes.len() as u64,
            took,
            body: kept,
            is_json: matches!(body, Body::Message(_)) && head.is_json,
        });
    }
}

enum Body<'m> {
    Message(&'m Bytes),
    Text(&'m str),
    None,
}

impl Body<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Message(bytes) => bytes,
            Self::Text(text) => text.as_bytes(),
            Self::None => &[],
        }
    }
}

fn key(dir: Direction, id: &Id) -> Key {
    (dir, id.to_raw().as_str().into())
}
