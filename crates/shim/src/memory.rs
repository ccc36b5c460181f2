//! What a new daemon must be told so that the client's session goes on.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use foldhash::HashMap;
use manifold_protocol::Id;

use crate::class::ListKind;
use crate::recent_ids::RecentIds;

/// What the client and the daemons before have agreed on. Only what the client was told had succeeded is in it.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// The client's `initialize`.
    pub(crate) initialize: Option<Bytes>,
    /// The client's `notifications/initialized`.
    pub(crate) initialized: Option<Bytes>,
    /// Its last `logging/setLevel`.
    pub(crate) level: Option<Bytes>,
    /// Its `resources/subscribe`, by the URI.
    pub(crate) subscriptions: BTreeMap<Bytes, Bytes>,
    /// What the lists were when it asked for them, as a hash.
    pub(crate) lists: HashMap<ListKind, u64>,
    /// Questions that it has not answered.
    pub(crate) questions: BTreeSet<Vec<u8>>,
    /// How many it was asked in all.
    pub(crate) questions_asked: u64,
    /// What a LiteMCP client may not ask by again.
    pub(crate) used_ids: RecentIds,
}

impl Memory {
    /// Returns whether a question with this id is open, and notes that it no longer is.
    pub(crate) fn answered(&mut self, id: &Id) -> bool {
        self.questions.remove(id.to_raw().as_bytes())
    }

    pub(crate) fn asked(&mut self, id: &Id) {
        self.questions_asked += 1;
        self.questions.insert(id.to_raw().as_bytes().to_vec());
    }
}
