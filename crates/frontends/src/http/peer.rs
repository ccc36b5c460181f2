//! Who is at the other end of a connection: a client of its own where it has no session.

use std::net::IpAddr;
use std::sync::Arc;

use manifold_engine::{Budget, ClientId};

use super::Site;

/// The other end of one connection, for as long as that lasts.
pub(super) struct Peer {
    /// Where it comes from.
    pub(super) address: IpAddr,
    /// Who asks, where no session says.
    pub(super) client: ClientId,
    /// What is held for it, of what all may hold.
    pub(super) budget: Budget,
}

impl Peer {
    pub(super) fn new(address: IpAddr, site: &Site) -> Arc<Self> {
        Arc::new(Self { address, client: ClientId::fresh(), budget: site.share_of_one() })
    }
}
