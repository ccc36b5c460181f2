//! The way back from what a client sees to the server that has it.

use std::sync::Arc;

use manifold_protocol::Raw;

use super::template::Template;
use crate::arguments::Arguments;
use crate::exchange::Target;
use crate::policy::{self, Decision, Decisions};
use crate::principal::Principal;

/// The way from an exposed tool to its owner.
pub(crate) struct ToolRoute {
    pub(crate) member: usize,
    pub(crate) original: Raw,
    pub(crate) target: Arc<Target>,
    pub(crate) decisions: Decisions,
    pub(crate) arguments: Arguments,
    pub(crate) input_schema: Option<Raw>,
    /// Its structured content may be something else than an object.
    pub(crate) is_loose: bool,
}

/// The way from an exposed prompt or resource to its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ItemRoute {
    pub(crate) member: usize,
    pub(crate) original: String,
    pub(crate) decisions: Decisions,
}

pub(super) struct TemplateRoute {
    pub(super) template: Template,
    pub(super) exposed: String,
    pub(super) route: ItemRoute,
}

impl TemplateRoute {
    /// Returns what was put before the template because another server has the same one.
    pub(super) fn prefix(&self) -> &str {
        self.exposed.strip_suffix(self.route.original.as_str()).unwrap_or_default()
    }
}

/// Where a URI leads.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ResourceOwner {
    One(ItemRoute),
    /// Not listed: whoever has others of its scheme may know it, in this order.
    Perhaps(Vec<usize>),
}

impl ToolRoute {
    /// Returns whether it is there for whoever asks.
    pub(crate) fn is_shown_to(&self, principal: &Principal) -> bool {
        policy::decide(principal, self.decisions) != Decision::Hide
    }
}

impl ItemRoute {
    /// Returns whether it is there for whoever asks.
    pub(crate) fn is_shown_to(&self, principal: &Principal) -> bool {
        policy::decide(principal, self.decisions) != Decision::Hide
    }
}

impl ResourceOwner {
    /// Returns the owner as far as whoever asks may know of it.
    pub(crate) fn shown_to(self, principal: &Principal) -> Self {
        match self {
            Self::One(route) if !route.is_shown_to(principal) => Self::Perhaps(Vec::new()),
            owner => owner,
        }
    }
}
