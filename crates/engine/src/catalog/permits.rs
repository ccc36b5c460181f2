//! What the rules of a namespace permit of a server.

use manifold_config::{Permissions, Server};
use manifold_protocol::Kind;

use super::Catalog;
use crate::policy::{self, Decisions};

impl Catalog {
    /// Returns whether a member's item may be seen and used, by its own name or URI. The manager's tools always may.
    pub(crate) fn permits(&self, member: usize, kind: Kind, label: &str) -> bool {
        self.judge(member, |permissions, server| policy::permits(permissions, server, kind, label))
    }

    /// Returns whether a client may ask a member for a URI that it spells itself. One that the member lists is meant as it
    /// stands.
    pub(crate) fn permits_uri(&self, member: usize, uri: &str) -> bool {
        let is_listed = || {
            let listing = self.listings[member].as_ref();
            listing.is_some_and(|listing| listing.resources.iter().any(|item| item.label == uri))
        };
        self.permits(member, Kind::Resources, uri)
            && (policy::can_be_judged(&self.view.permissions, uri) || is_listed())
    }

    /// Returns whether a member that could be started has tools that are named to be denied.
    pub(crate) fn denies_tools(&self, member: usize) -> bool {
        let server = self.member(member).server.as_deref();
        server.is_some_and(|server| {
            server.enabled && server.fault.is_none() && policy::denies_tools(&self.view.permissions, server)
        })
    }

    /// Returns what the rules come to for a member's item.
    pub(super) fn decisions(&self, member: usize, kind: Kind, label: &str) -> Decisions {
        if self.permits(member, kind, label) { Decisions::ALLOW } else { Decisions::HIDE }
    }

    /// Returns whether a tool of a member may be called whose list is not known.
    pub(crate) fn permits_unlisted_tool(&self, member: usize, tool: &str) -> bool {
        self.judge(member, |permissions, server| policy::permits_unlisted_tool(permissions, server, tool))
    }

    /// Returns whether a member's page (MCP Apps) may be read. A tool that may be called brings its page with it.
    pub(super) fn permits_page(&self, member: usize, address: &str) -> bool {
        let is_ruled = |permissions: &Permissions, server: &Server| {
            policy::ruled(permissions, server, Kind::Resources, address).unwrap_or(true)
        };
        self.judge(member, is_ruled)
    }

    /// Returns whether what has no name that a rule could bear may be used of a member.
    pub(crate) fn permits_unnamed(&self, member: usize) -> bool {
        self.judge(member, policy::permits_unnamed)
    }

    fn judge(&self, member: usize, verdict: impl FnOnce(&Permissions, &Server) -> bool) -> bool {
        let server = self.member(member).server.as_deref();
        server.is_none_or(|server| verdict(&self.view.permissions, server))
    }
}
