//! Who is at the other end of a connection: a client of its own where it has no session.

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use manifold_config::ClientLimits;
use manifold_engine::{Budget, ClientId, Requester};
use manifold_protocol::Fault;

use super::admission::{Admitted, Comer};
use super::site::Site;
use super::tally::{Entered, Tally};
use crate::session::batch_too_large;

/// The other end of one connection, for as long as that lasts.
pub(super) struct Peer {
    /// Where it comes from.
    pub(super) address: IpAddr,
    /// Who asks, where no session says.
    pub(super) client: ClientId,
    /// What is held for it, of what all may hold.
    pub(super) budget: Budget,
    limits: ClientLimits,
    calls: Arc<Tally>,
    streams: Arc<Tally>,
    /// Whose certificate it has shown, once TLS is agreed on.
    certificate: OnceLock<Arc<str>>,
}

impl Peer {
    pub(super) fn new(address: IpAddr, site: &Site) -> Arc<Self> {
        Arc::new(Self {
            address,
            client: ClientId::fresh(),
            budget: site.share_of_one(usize::MAX),
            limits: site.limits,
            calls: Arc::default(),
            streams: Arc::default(),
            certificate: OnceLock::new(),
        })
    }

    /// Notes whose certificate it has shown.
    pub(super) fn showed(&self, subject: Arc<str>) {
        let _ = self.certificate.set(subject);
    }

    pub(super) fn comer(&self) -> Comer<'_> {
        Comer { address: self.address, certificate: self.certificate.get(), is_forwarded: false }
    }

    /// Counts calls in flight that belong to no session, for as long as what is returned is held (M8).
    pub(super) fn begin(&self, calls: usize) -> Result<Entered, Fault> {
        if calls > self.limits.calls {
            return Err(batch_too_large(calls, self.limits.calls));
        }
        self.calls.enter(calls, self.limits.calls).ok_or_else(|| too_many_calls(&self.limits))
    }

    /// Counts a stream that is only listened on and belongs to no session.
    pub(super) fn listen(&self) -> Result<Entered, Fault> {
        self.streams.enter(1, self.limits.streams).ok_or_else(|| too_many_streams(&self.limits))
    }
}

/// Where a request comes from: the connection, and who was let in with it.
#[derive(Clone, Copy)]
pub(super) struct Origin<'r> {
    pub(super) peer: &'r Arc<Peer>,
    pub(super) admitted: &'r Admitted,
    pub(super) requester: &'r Arc<Requester>,
}

impl<'r> Origin<'r> {
    pub(super) fn new(peer: &'r Arc<Peer>, admitted: &'r Admitted) -> Self {
        Self { peer, admitted, requester: &admitted.requester }
    }
}

/// Says that a client has as many calls in flight as it may.
pub(super) fn too_many_calls(limits: &ClientLimits) -> Fault {
    let what = "calls of this client are in flight".to_owned();
    Fault::OverLimit { what, limit: limits.calls, setting: "callsPerClient" }
}

pub(super) fn too_many_streams(limits: &ClientLimits) -> Fault {
    let what = "streams of this client are open".to_owned();
    Fault::OverLimit { what, limit: limits.streams, setting: "streamsPerClient" }
}
