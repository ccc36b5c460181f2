//! The requests without an answer, by slot.

use std::ops::Range;

use bytes::Bytes;
use manifold_protocol::{Id, Raw};

use crate::class::{Class, Lasting};

/// So much is kept of requests to be asked again; those beyond fail after a crash, and the client can ask again.
const MAX_KEPT_BYTES: usize = 4 << 20;

/// One request, or a batch of them that is answered as one.
#[derive(Debug)]
pub(crate) struct Request {
    /// In the order they came.
    pub(crate) number: u64,
    pub(crate) ids: Ids,
    pub(crate) class: Class,
    pub(crate) lasting: Option<Lasting>,
    /// The whole message, where it is kept.
    pub(crate) message: Option<Bytes>,
    pub(crate) was_asked_again: bool,
    /// A daemon that took another's place was told of it, and waits for its answer.
    pub(crate) is_kept: bool,
    /// Whether the client was told that it is listened for, where that is what it asked.
    pub(crate) is_acknowledged: bool,
    pub(crate) asker: Asker,
}

/// The ids of a request: where they are written, until somebody wants to know them.
#[derive(Debug)]
pub(crate) enum Ids {
    /// One, at this place of the message that is kept.
    Written(Range<usize>),
    Read(Vec<Id>),
}

impl Request {
    /// Returns the ids to answer to.
    pub(crate) fn ids(&self) -> Vec<Id> {
        let place = match &self.ids {
            Ids::Read(ids) => return ids.clone(),
            Ids::Written(place) => place.clone(),
        };
        let message = self.message.as_ref();
        message.and_then(|message| read_id(message.get(place)?)).into_iter().collect()
    }

    /// Returns whether it is several in one.
    pub(crate) fn is_batch(&self) -> bool {
        matches!(&self.ids, Ids::Read(ids) if ids.len() != 1)
    }

    fn kept_bytes(&self) -> usize {
        self.message.as_ref().map_or(0, Bytes::len)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asker {
    Client,
    /// The client has cancelled it: whatever comes is dropped.
    Nobody,
    /// We ourselves, to tell a new daemon what the old one knew.
    Ourselves,
}

/// Reads an id as it is written.
pub(crate) fn read_id(written: &[u8]) -> Option<Id> {
    Id::from_raw(&Raw::parse(written.to_vec()).ok()?)
}

/// The table of requests. Slot zero stands for none.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    slots: Vec<Option<Request>>,
    free: Vec<u16>,
    count: usize,
    /// How many of them end only with the client.
    listening: usize,
    numbers: u64,
    kept_bytes: usize,
}

impl InFlight {
    /// Returns whether another request can be taken in.
    pub(crate) fn has_room(&self) -> bool {
        !self.free.is_empty() || self.slots.len() < usize::from(u16::MAX)
    }

    /// Returns a copy of a request to be kept, where there is room for it: what was read together with it is not kept for
    /// its sake.
    pub(crate) fn copy(&self, message: &Bytes) -> Option<Bytes> {
        (self.kept_bytes + message.len() <= MAX_KEPT_BYTES).then(|| Bytes::copy_from_slice(message))
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Returns whether one of them should be answered some time.
    pub(crate) fn has_awaited(&self) -> bool {
        self.count > self.listening
    }

    /// Takes in a request. Returns its slot, which is zero where there is no room.
    pub(crate) fn insert(&mut self, mut request: Request) -> u16 {
        self.numbers += 1;
        request.number = self.numbers;
        let at = match self.free.pop() {
            Some(slot) => usize::from(slot) - 1,
            None if self.has_room() => {
                self.slots.push(None);
                self.slots.len() - 1
            }
            None => return 0,
        };
        let Some(place) = self.slots.get_mut(at) else { return 0 };
        self.kept_bytes += request.kept_bytes();
        self.listening += usize::from(request.class == Class::Listens);
        *place = Some(request);
        self.count += 1;
        u16::try_from(at + 1).unwrap_or(0)
    }

    pub(crate) fn remove(&mut self, slot: u16) -> Option<Request> {
        let at = usize::from(slot).checked_sub(1)?;
        let request = self.slots.get_mut(at)?.take()?;
        self.free.push(slot);
        self.count -= 1;
        self.listening -= usize::from(request.class == Class::Listens);
        self.kept_bytes -= request.kept_bytes();
        Some(request)
    }

    pub(crate) fn get_mut(&mut self, slot: u16) -> Option<&mut Request> {
        self.slots.get_mut(usize::from(slot).checked_sub(1)?)?.as_mut()
    }

    /// Returns the slot of the client's request with this id.
    pub(crate) fn find(&self, id: &Id) -> Option<u16> {
        let is_it = |request: &&Option<Request>| {
            request.as_ref().is_some_and(|one| one.asker == Asker::Client && one.ids().contains(id))
        };
        let at = self.slots.iter().position(|one| is_it(&one))?;
        u16::try_from(at + 1).ok()
    }

    /// Returns all slots in use, in the order their requests came.
    pub(crate) fn slots(&self) -> Vec<u16> {
        let mut slots: Vec<(u64, u16)> = self
            .slots
            .iter()
            .zip(1_u16..)
            .filter_map(|(request, slot)| Some((request.as_ref()?.number, slot)))
            .collect();
        slots.sort_unstable();
        slots.into_iter().map(|(_, slot)| slot).collect()
    }
}
