//! An operator's call as it is shown with the traffic: like that of a client with one request.

use std::num::NonZeroU64;
use std::sync::Arc;

use manifold_admin::FrameClient;
use manifold_engine::{ClientId, Direction, FrameStatus, Gateway, Link, Tap};
use manifold_protocol::{Call, CodeSet, Failure, Id, Reply, dialect::legacy, envelope};

use crate::tap::tap;

pub(super) struct Seen {
    tap: Tap,
    id: Id,
}

impl Seen {
    /// Shows the call to those who watch, if anybody does.
    pub(super) fn if_watched(gateway: &Arc<Gateway>, client: ClientId, call: &Call) -> Option<Self> {
        if !gateway.traffic().is_watched() {
            return None;
        }
        let seen = Self { tap: tap(gateway, Some(client)), id: Id::number(1) };
        seen.tap.introduce(FrameClient {
            id: Some(client.0),
            name: Some("manifold".to_owned()),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        });
        let request = envelope::request(&seen.id, call.method.as_str(), call.params.as_ref());
        seen.tap.heard(&request.into_bytes());
        Some(seen)
    }

    pub(super) fn number(&self) -> Option<NonZeroU64> {
        self.tap.number_of(&self.id)
    }

    pub(super) fn answered(&self, reply: &Reply) {
        let message = match reply {
            Ok(answer) => legacy::answer(&self.id, answer),
            Err(Failure::Peer(error)) => envelope::error(Some(&self.id), error).into(),
            Err(Failure::Fault(fault)) => {
                envelope::error(Some(&self.id), &fault.to_error(CodeSet::Standard)).into()
            }
        };
        self.tap.said(&message, Link::default());
    }

    /// The operator left, or waits no longer. Nothing is shown of one that is answered.
    pub(super) fn left(&self) {
        self.tap.dropped(Direction::In, &self.id, FrameStatus::Cancelled);
    }
}
