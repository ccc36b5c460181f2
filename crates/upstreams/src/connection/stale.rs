//! Which lists the server has said are out of date.

use std::sync::{Mutex, PoisonError};

use manifold_protocol::Kind;
use tokio::sync::Notify;

#[derive(Default)]
pub(crate) struct Stale {
    kinds: Mutex<Vec<Kind>>,
    pub(crate) marked: Notify,
}

impl Stale {
    pub(crate) fn mark(&self, kinds: &[Kind]) {
        let mut marked = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        for kind in kinds {
            if !marked.contains(kind) {
                marked.push(*kind);
            }
        }
        drop(marked);
        self.marked.notify_one();
    }

    /// Notes that nothing known of the server is certain any more.
    pub(crate) fn mark_all(&self) {
        self.mark(&Kind::ALL);
    }

    pub(crate) fn take(&self) -> Vec<Kind> {
        std::mem::take(&mut *self.kinds.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
