//! One word of a filter, and what it is true of.

use regex::Regex;

use super::super::{Direction, Frame, FrameKind, FrameStatus, Hop};

/// What must be so of a frame; or must not, with a `!` before it.
#[derive(Debug, Clone)]
pub(super) struct Word {
    pub(super) is_negated: bool,
    pub(super) test: Test,
}

#[derive(Debug, Clone)]
pub(super) enum Test {
    Server(Vec<Pattern>),
    Tool(Vec<Pattern>),
    Method(Vec<Pattern>),
    Client(Vec<Pattern>),
    Id(Vec<Pattern>),
    Hop(Vec<Hop>),
    Dir(Vec<Direction>),
    Kind(Vec<FrameKind>),
    Status(Vec<Status>),
    Took(Comparison),
    Size(Comparison),
    Call(Vec<u64>),
    /// Nanoseconds back from now.
    Since(u64),
    Text(Vec<Pattern>),
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Status {
    Ended(FrameStatus),
    /// A request, for nobody knows yet how it ends.
    Pending,
    Code(i64),
}

/// A name, with `*` for anything; or a regular expression.
#[derive(Debug, Clone)]
pub(super) enum Pattern {
    Literal(String),
    Regex(Regex),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Comparison {
    pub(super) order: Order,
    pub(super) limit: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Above,
    AtLeast,
    Below,
    AtMost,
    Equal,
}

/// What other frames of the same call have told.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    servers: Vec<String>,
    clients: Vec<String>,
    /// As clients call it, then as the server does.
    shown_tool: Option<String>,
    own_tool: Option<String>,
    /// Of the request on each hop.
    methods: [Option<String>; 2],
}

impl Known {
    pub(super) fn note(&mut self, frame: &Frame) {
        note(&mut self.servers, frame.server.as_ref());
        if let Some(client) = &frame.client {
            note(&mut self.clients, client.name.as_ref());
            note(&mut self.clients, client.id.map(|id| id.to_string()).as_ref());
        }
        if let Some(tool) = &frame.tool {
            match frame.hop {
                Hop::Client => self.shown_tool = Some(tool.clone()),
                Hop::Server | Hop::Other => self.own_tool = Some(tool.clone()),
            }
        }
        if frame.kind == FrameKind::Request
            && let (Some(slot), Some(method)) = (self.methods.get_mut(slot(frame.hop)), &frame.method)
            // A question in the midst of a call is not what the call is.
            && slot.is_none()
        {
            *slot = Some(method.clone());
        }
    }

    pub(super) fn note_tool(&mut self, own: &str) {
        self.own_tool.get_or_insert_with(|| own.to_owned());
    }

    pub(super) fn note_server(&mut self, server: &String) {
        note(&mut self.servers, Some(server));
    }

    pub(super) fn both_names(&self) -> Option<(String, String)> {
        self.shown_tool.clone().zip(self.own_tool.clone())
    }
}

fn note(list: &mut Vec<String>, value: Option<&String>) {
    if let Some(value) = value
        && !list.contains(value)
    {
        list.push(value.clone());
    }
}

fn slot(hop: Hop) -> usize {
    usize::from(hop != Hop::Client)
}

impl Word {
    pub(super) fn fits(&self, frame: &Frame, known: &Known, now: u64) -> bool {
        self.test.is_true(frame, known, now) != self.is_negated
    }

    pub(super) fn reads_bodies(&self) -> bool {
        matches!(self.test, Test::Text(_))
    }

    pub(super) fn looks_back(&self) -> bool {
        !self.is_negated && matches!(self.test, Test::Since(_))
    }
}

impl Test {
    fn is_true(&self, frame: &Frame, known: &Known, now: u64) -> bool {
        match self {
            Self::Server(patterns) => {
                let named = frame.server.iter().chain(&known.servers);
                // A client's request is seen before the one to the server: it tells the server by the name of its tool.
                let by_prefix =
                    frame.tool.as_deref().filter(|_| known.servers.is_empty() && frame.hop == Hop::Client);
                any(patterns, named) || any(patterns, by_prefix.and_then(prefix))
            }
            Self::Tool(patterns) => {
                let names = frame.tool.iter().chain(&known.shown_tool).chain(&known.own_tool);
                any(patterns, names.clone()) || any(patterns, names.filter_map(|name| without_prefix(name)))
            }
            Self::Method(patterns) => {
                let of_request = known.methods.get(slot(frame.hop)).and_then(Option::as_ref);
                any(patterns, frame.method.as_ref().or(of_request))
            }
            Self::Client(patterns) => {
                let client = frame.client.as_ref();
                let id = client.and_then(|client| client.id).map(|id| id.to_string());
                let name = client.and_then(|client| client.name.as_ref());
                any(patterns, name.into_iter().chain(&id).chain(&known.clients))
            }
            Self::Id(patterns) => frame.id.as_ref().is_some_and(|id| {
                let bare = id.get().trim_matches('"');
                any(patterns, [id.get(), bare])
            }),
            Self::Hop(hops) => hops.contains(&frame.hop),
            Self::Dir(dirs) => dirs.contains(&frame.dir),
            Self::Kind(kinds) => kinds.contains(&frame.kind),
            Self::Status(statuses) => statuses.iter().any(|status| status.is_of(frame)),
            Self::Took(comparison) => frame.took.is_some_and(|took| comparison.holds(took)),
            Self::Size(comparison) => comparison.holds(frame.bytes),
            Self::Call(calls) => [frame.call, frame.parent].iter().flatten().any(|call| calls.contains(call)),
            Self::Since(back) => frame.t >= now.saturating_sub(*back),
            Self::Text(patterns) => patterns.iter().any(|pattern| is_in(pattern, frame)),
        }
    }
}

impl Status {
    fn is_of(self, frame: &Frame) -> bool {
        match self {
            Self::Ended(status) => frame.status == Some(status),
            Self::Pending => frame.kind == FrameKind::Request && frame.status.is_none(),
            Self::Code(code) => frame.code == Some(code),
        }
    }
}

impl Comparison {
    fn holds(self, value: u64) -> bool {
        match self.order {
            Order::Above => value > self.limit,
            Order::AtLeast => value >= self.limit,
            Order::Below => value < self.limit,
            Order::AtMost => value <= self.limit,
            Order::Equal => value == self.limit,
        }
    }
}

impl Pattern {
    /// Returns whether it is this name, whole.
    fn is(&self, name: &str) -> bool {
        match self {
            Self::Literal(literal) => wildcard(literal.as_bytes(), name.as_bytes()),
            Self::Regex(regex) => regex.is_match(name),
        }
    }

    /// Returns whether it stands anywhere in a text.
    fn is_within(&self, text: &str) -> bool {
        match self {
            Self::Literal(literal) if literal.is_ascii() => {
                literal.is_empty()
                    || text
                        .as_bytes()
                        .windows(literal.len())
                        .any(|part| part.eq_ignore_ascii_case(literal.as_bytes()))
            }
            Self::Literal(literal) => text.to_lowercase().contains(&literal.to_lowercase()),
            Self::Regex(regex) => regex.is_match(text),
        }
    }
}

fn any<S: AsRef<str>>(patterns: &[Pattern], names: impl IntoIterator<Item = S>) -> bool {
    names.into_iter().any(|name| patterns.iter().any(|pattern| pattern.is(name.as_ref())))
}

fn is_in(pattern: &Pattern, frame: &Frame) -> bool {
    let texts = [
        frame.body.as_ref().map(|body| body.get()),
        frame.text.as_deref(),
        frame.method.as_deref(),
        frame.tool.as_deref(),
        frame.server.as_deref(),
        frame.client.as_ref().and_then(|client| client.name.as_deref()),
    ];
    texts.into_iter().flatten().any(|text| pattern.is_within(text))
}

/// Returns what clients see without the server's prefix, as prefixes are by default: the request of a client is seen
/// before the one to the server, which has the server's own name.
fn without_prefix(shown: &str) -> Option<&str> {
    shown.split_once("__").map(|(_, own)| own)
}

/// Returns the server's prefix in what clients see, as prefixes are by default.
fn prefix(shown: &str) -> Option<&str> {
    shown.split_once("__").map(|(server, _)| server)
}

/// Compares with `*` for any run of bytes. Linear but for the one star that is tried again.
fn wildcard(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        if pattern.get(p) == Some(&b'*') {
            star = Some((p, n));
            p += 1;
        } else if pattern.get(p) == name.get(n) {
            p += 1;
            n += 1;
        } else if let Some((at, from)) = star {
            star = Some((at, from + 1));
            p = at + 1;
            n = from + 1;
        } else {
            return false;
        }
    }
    pattern.get(p..).is_some_and(|rest| rest.iter().all(|byte| *byte == b'*'))
}
