//! Frames as they come, and what of them is shown.

use std::collections::VecDeque;

use manifold_admin::{Frame, Hop, TrafficItem};

/// So many frames are kept, and so much of their bodies.
pub(crate) const MAX_FRAMES: usize = 2000;
const MAX_BODY_BYTES: usize = 16 << 20;

#[derive(Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) frames: VecDeque<Frame>,
    /// What came while the view stands still.
    pub(crate) held: VecDeque<Frame>,
    pub(crate) is_paused: bool,
    pub(crate) stream: Stream,
    /// Frames that were lost on the way here.
    pub(crate) lost: u64,
    bytes: usize,
}

/// How the stream of frames is doing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Stream {
    #[default]
    NotAsked,
    Asked,
    Open,
    /// The gateway has no such thing.
    Missing,
    /// The filter is wrong, or something else is.
    Refused(String),
}

impl Traffic {
    pub(crate) fn add(&mut self, item: TrafficItem) {
        match item {
            TrafficItem::Gap { gap } => self.lost += gap,
            TrafficItem::Frame(frame) => {
                self.bytes += body_bytes(&frame);
                let into = if self.is_paused { &mut self.held } else { &mut self.frames };
                into.push_back(*frame);
                self.trim();
            }
        }
    }

    fn trim(&mut self) {
        while self.held.len() > MAX_FRAMES {
            self.lost += 1;
            self.forget(true);
        }
        while self.frames.len() > MAX_FRAMES || (self.bytes > MAX_BODY_BYTES && !self.frames.is_empty()) {
            self.forget(false);
        }
    }

    fn forget(&mut self, held: bool) {
        let from = if held { &mut self.held } else { &mut self.frames };
        if let Some(oldest) = from.pop_front() {
            self.bytes = self.bytes.saturating_sub(body_bytes(&oldest));
        }
    }

    pub(crate) fn pause(&mut self, is_paused: bool) {
        self.is_paused = is_paused;
        if !is_paused {
            self.frames.append(&mut self.held);
            self.trim();
        }
    }

    pub(crate) fn clear(&mut self) {
        *self = Self { is_paused: self.is_paused, ..Self::default() };
    }

    pub(crate) fn find(&self, n: u64) -> Option<&Frame> {
        self.frames.iter().find(|frame| frame.n == n)
    }

    /// Returns the request of the call that a frame belongs to, as the client made it.
    pub(crate) fn request_of(&self, frame: &Frame) -> Option<&Frame> {
        let call = frame.call?;
        let is_request = |one: &&Frame| {
            one.call == Some(call) && one.kind == manifold_admin::FrameKind::Request && one.hop == Hop::Client
        };
        self.frames.iter().find(is_request)
    }
}

fn body_bytes(frame: &Frame) -> usize {
    frame.body.as_ref().map_or(0, |body| body.get().len()) + frame.text.as_ref().map_or(0, String::len)
}
