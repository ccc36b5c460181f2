//! A message as it was seen, before anything is made of it.

use std::sync::Arc;

use manifold_admin::{Direction, FrameKind, FrameStatus};

use super::tap::Party;

/// What is noted of a message while it passes. Its texts are its own: a slice would keep the buffer it was read into.
pub(super) struct Captured {
    /// Nanoseconds since the gateway began.
    pub(super) at: u64,
    pub(super) party: Arc<Party>,
    pub(super) client: Option<u64>,
    pub(super) dir: Direction,
    pub(super) kind: FrameKind,
    pub(super) method: Option<Box<str>>,
    pub(super) tool: Option<Box<str>>,
    pub(super) id: Option<Box<str>>,
    pub(super) call: Option<u64>,
    pub(super) parent: Option<u64>,
    pub(super) status: Option<FrameStatus>,
    pub(super) code: Option<i64>,
    pub(super) bytes: u64,
    pub(super) took: Option<u64>,
    /// The message or its beginning, where anybody wants it.
    pub(super) body: Option<Box<[u8]>>,
    pub(super) is_json: bool,
}

impl Captured {
    /// Returns whether it is a message, and not a line or what became of a server.
    pub(super) fn is_message(&self) -> bool {
        !matches!(self.kind, FrameKind::Stderr | FrameKind::Life)
    }

    /// Returns what it takes up, about.
    pub(super) fn size_bytes(&self) -> usize {
        let text = |text: &Option<Box<str>>| text.as_ref().map_or(0, |text| text.len());
        let body = self.body.as_ref().map_or(0, |body| body.len());
        size_of::<Self>() + text(&self.method) + text(&self.tool) + text(&self.id) + body
    }
}
