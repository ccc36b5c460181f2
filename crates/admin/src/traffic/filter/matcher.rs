//! A filter that reads a stream: what one frame tells of a call holds for the others of that call.

use std::collections::{HashMap, VecDeque};

use super::super::{Direction, Frame, FrameKind, Hop};
use super::Filter;
use super::word::Known;

/// How many calls are remembered. One that is older is judged by its frames alone.
const REMEMBERED_CALLS: usize = 16_384;

/// How many tools are remembered by both of their names.
const REMEMBERED_NAMES: usize = 4_096;

/// Reads frames in their order. An answer names neither tool nor method, and each hop has its own name of a tool:
/// those are taken over from the other frames of the same call.
#[derive(Debug, Clone)]
pub struct Matcher {
    filter: Filter,
    calls: HashMap<u64, Known>,
    order: VecDeque<u64>,
    /// The server's own name of a tool, by the name that clients see.
    own_names: HashMap<String, String>,
    /// Which server has a tool, by the name that clients see.
    servers: HashMap<String, String>,
}

impl Matcher {
    pub(super) fn new(filter: Filter) -> Self {
        let (own_names, servers) = (HashMap::new(), HashMap::new());
        Self { filter, calls: HashMap::new(), order: VecDeque::new(), own_names, servers }
    }

    /// Tells it how a tool that clients see is called by its server. What it is not told it learns from the calls.
    pub fn learn(&mut self, shown: &str, own: &str) {
        if self.own_names.len() < REMEMBERED_NAMES && shown != own {
            self.own_names.insert(shown.to_owned(), own.to_owned());
        }
    }

    /// Returns whether the next frame of the stream fits. `now` is in nanoseconds since the gateway began.
    pub fn matches(&mut self, frame: &Frame, now: u64) -> bool {
        let Some(call) = frame.parent.or(frame.call) else {
            return self.filter.matches(frame, now);
        };
        if !self.calls.contains_key(&call) {
            if self.order.len() >= REMEMBERED_CALLS
                && let Some(oldest) = self.order.pop_front()
            {
                self.calls.remove(&oldest);
            }
            self.order.push_back(call);
        }
        let known = self.calls.entry(call).or_default();
        known.note(frame);
        let shown = frame.tool.as_ref().filter(|_| frame.hop == Hop::Client);
        if let Some(own) = shown.and_then(|shown| self.own_names.get(shown)) {
            known.note_tool(own);
        }
        if let Some(server) = shown.and_then(|shown| self.servers.get(shown)) {
            known.note_server(server);
        }
        let names = if is_request_of(frame, Hop::Server, Direction::Out) { known.both_names() } else { None };
        let fits = self.filter.fits(frame, known, now);
        if let Some((shown, own)) = names {
            if self.servers.len() < REMEMBERED_NAMES
                && let Some(server) = &frame.server
            {
                self.servers.insert(shown.clone(), server.clone());
            }
            self.learn(&shown, &own);
        }
        fits
    }

    #[cfg(test)]
    pub(super) fn remembered(&self) -> usize {
        self.calls.len().max(self.order.len())
    }
}

fn is_request_of(frame: &Frame, hop: Hop, dir: Direction) -> bool {
    frame.kind == FrameKind::Request && frame.hop == hop && frame.dir == dir
}
