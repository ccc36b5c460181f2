//! Requests and their answers, found among the frames of one side of the gateway.

use std::collections::HashMap;

use manifold_admin::{Direction, Frame, FrameKind, Hop};
use serde_json::value::RawValue;

use crate::message::{Members, Message};
use crate::reader::Recorded;

/// Whose words: what clients and the gateway said to each other, or the gateway and one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Side {
    Client,
    /// The server's id.
    Server(String),
}

/// One request with what came of it.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// The number of the request's frame.
    pub n: u64,
    pub t: u64,
    pub call: Option<u64>,
    pub parent: Option<u64>,
    pub method: String,
    /// The tool as it is called on this side.
    pub tool: Option<String>,
    pub server: Option<String>,
    pub params: Option<Box<RawValue>>,
    /// What else the server's end said until it answered, and how long after the request.
    pub between: Vec<(u64, Said)>,
    /// What it said next, before anybody asked it anything again.
    pub after: Vec<Said>,
    /// `None`: it was not answered, or the answer is not whole.
    pub outcome: Option<Outcome>,
    pub took: u64,
    /// Something was taken out of the request or its answer.
    pub is_redacted: bool,
}

#[derive(Debug, Clone)]
pub enum Outcome {
    Result(Box<RawValue>),
    Error(Box<RawValue>),
}

impl Outcome {
    /// Returns whether it tells of a failure: an error of the protocol, or a result that says so of itself.
    pub fn is_error(&self) -> bool {
        match self {
            Self::Error(_) => true,
            Self::Result(result) => {
                let flag = Members::of(result);
                flag.is_some_and(|it| it.get("isError").is_some_and(|flag| flag.get() == "true"))
            }
        }
    }
}

/// A notification, or a question that wants an answer.
#[derive(Debug, Clone)]
pub struct Said {
    pub method: String,
    pub params: Option<Box<RawValue>>,
    pub is_question: bool,
}

impl Exchange {
    /// Returns whether it is a call of its own: one that was asked something ends in another exchange.
    pub fn is_whole(&self) -> bool {
        let is_retry =
            self.params.as_deref().and_then(Members::of).is_some_and(|it| it.get("inputResponses").is_some());
        let asks = match &self.outcome {
            Some(Outcome::Result(result)) => Members::of(result).and_then(|it| it.text("resultType")),
            _ => None,
        };
        !is_retry && asks.as_deref() != Some("input_required")
    }

    /// Returns the arguments of a tool call.
    pub fn arguments(&self) -> Option<Box<RawValue>> {
        Members::of(self.params.as_deref()?)?.get("arguments").map(ToOwned::to_owned)
    }
}

/// Returns the exchanges of one side in the order of their requests.
pub fn exchanges(recorded: &Recorded, side: &Side) -> Vec<Exchange> {
    let mut found = Found::default();
    for frame in recorded.frames().filter(|frame| is_of(frame, side)) {
        found.take(frame, side);
    }
    found.exchanges
}

#[derive(Default)]
struct Found {
    exchanges: Vec<Exchange>,
    /// The place of each that is not answered yet.
    open: HashMap<(String, String), usize>,
    last_answered: Option<usize>,
}

impl Found {
    fn take(&mut self, frame: &Frame, side: &Side) {
        let asks = match side {
            Side::Client => Direction::In,
            Side::Server(_) => Direction::Out,
        };
        let body = frame.body.as_ref().and_then(|body| Message::parse(body.get()));
        match (frame.kind, frame.dir == asks) {
            (FrameKind::Request, true) => self.ask(frame, body.as_ref()),
            (FrameKind::Response | FrameKind::Error, false) => self.answer(frame, body.as_ref()),
            (FrameKind::Request | FrameKind::Notification, false) => self.say(frame, body.as_ref()),
            _ => {}
        }
    }

    fn ask(&mut self, frame: &Frame, message: Option<&Message<'_>>) {
        let Some(message) = message else { return };
        let method = message.method.as_deref().or(frame.method.as_deref()).unwrap_or_default().to_owned();
        let params = message.params.map(ToOwned::to_owned);
        let named = || Members::of(params.as_deref()?)?.text("name");
        let tool = frame.tool.clone().or_else(|| named().filter(|_| method == "tools/call"));
        self.open.insert(key(frame), self.exchanges.len());
        self.exchanges.push(Exchange {
            n: frame.n,
            t: frame.t,
            call: frame.call,
            parent: frame.parent,
            method,
            tool,
            server: frame.server.clone(),
            params,
            between: Vec::new(),
            after: Vec::new(),
            outcome: None,
            took: 0,
            is_redacted: frame.redacted,
        });
    }

    fn answer(&mut self, frame: &Frame, message: Option<&Message<'_>>) {
        let Some(place) = self.open.remove(&key(frame)) else { return };
        let Some(exchange) = self.exchanges.get_mut(place) else { return };
        exchange.took = frame.took.unwrap_or(frame.t.saturating_sub(exchange.t));
        exchange.is_redacted |= frame.redacted;
        if exchange.server.is_none() {
            exchange.server.clone_from(&frame.server);
        }
        exchange.outcome = message.and_then(|message| match (message.result, message.error) {
            (Some(result), _) => Some(Outcome::Result(result.to_owned())),
            (None, Some(error)) => Some(Outcome::Error(error.to_owned())),
            (None, None) => None,
        });
        self.last_answered = Some(place);
    }

    /// Keeps what was said at its place: in the call it belongs to, in the only one there is, or after the last.
    fn say(&mut self, frame: &Frame, message: Option<&Message<'_>>) {
        let Some(message) = message else { return };
        let Some(method) = message.method.as_deref() else { return };
        let said = Said {
            method: method.to_owned(),
            params: message.params.map(ToOwned::to_owned),
            is_question: frame.kind == FrameKind::Request,
        };
        let of_call = |place: &&usize| {
            let exchange = self.exchanges.get(**place);
            frame.call.is_some() && exchange.is_some_and(|exchange| exchange.call == frame.call)
        };
        let open = self.open.values().find(of_call).copied();
        let only = self.open.values().next().copied().filter(|_| self.open.len() == 1);
        if let Some(exchange) = open.or(only).and_then(|place| self.exchanges.get_mut(place)) {
            exchange.between.push((frame.t.saturating_sub(exchange.t), said));
        } else if let Some(exchange) = self.last_answered.and_then(|place| self.exchanges.get_mut(place))
            && !said.is_question
        {
            exchange.after.push(said);
        }
    }
}

fn is_of(frame: &Frame, side: &Side) -> bool {
    match side {
        Side::Client => frame.hop == Hop::Client,
        Side::Server(id) => frame.hop == Hop::Server && frame.server.as_ref() == Some(id),
    }
}

/// Tells requests apart that wait for an answer: each connection numbers its own.
fn key(frame: &Frame) -> (String, String) {
    let connection = match frame.hop {
        Hop::Client => format!("{:?}", frame.client.as_ref().and_then(|client| client.id)),
        Hop::Server | Hop::Other => format!("{:?} {:?}", frame.instance, frame.generation),
    };
    let id = frame.id.as_ref().map(|id| id.get().to_owned());
    (connection, id.unwrap_or_else(|| format!("call {:?}", frame.call)))
}
