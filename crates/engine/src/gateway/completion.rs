//! Completion: the server that has the prompt or the resource is asked.

use std::sync::Arc;

use manifold_protocol::{Call, Fault, Kind, Raw, RawObject};

use super::Gateway;
use crate::catalog::{Catalog, ItemRoute, ResourceOwner};
use crate::exchange::Exchange;
use crate::policy;

/// What a completion is about, as clients name it.
struct Reference {
    object: RawObject,
    /// The member of it that names a prompt or a resource.
    key: &'static str,
    kind: Kind,
    label: String,
}

impl Reference {
    fn of(call: &Call) -> Result<Self, &'static str> {
        let object = call.params.as_ref().and_then(|params| params.get("ref")).and_then(|raw| raw.object());
        let object = object.ok_or("`ref` must name a prompt or a resource")?;
        let text = |key: &str| object.get(key).and_then(|raw| Some(raw.to_text()?.into_owned()));
        let (key, kind) = match text("type").as_deref() {
            Some("ref/prompt") => ("name", Kind::Prompts),
            Some("ref/resource") => ("uri", Kind::Resources),
            _ => return Err("`ref.type` must be `ref/prompt` or `ref/resource`"),
        };
        let label = text(key).unwrap_or_default();
        Ok(Self { object, key, kind, label })
    }

    fn route(&self, catalog: &Catalog) -> Option<ItemRoute> {
        match self.kind {
            Kind::Prompts => catalog.prompt(&self.label),
            _ => match catalog.resource(&self.label) {
                ResourceOwner::One(route) => Some(route),
                ResourceOwner::Perhaps(_) => None,
            },
        }
    }
}

/// Returns where the prompt or resource is that a completion is about, as far as lists are known.
pub(super) fn of(catalog: &Catalog, call: &Call) -> Option<ItemRoute> {
    Reference::of(call).ok()?.route(catalog)
}

impl Gateway {
    pub(super) fn complete(self: &Arc<Self>, mut call: Call, mut exchange: Exchange, asked: bool) {
        let mut reference = match Reference::of(&call) {
            Ok(reference) => reference,
            Err(why) => return exchange.fail(Fault::InvalidParams(why.to_owned())),
        };
        let catalog = self.catalog.load();
        let route = reference.route(&catalog).filter(|route| route.is_shown_to(exchange.principal()));
        let (kind, label) = (reference.kind, reference.label);
        match route {
            Some(route) => {
                if let Some(fault) = policy::refusal(exchange.principal(), route.decisions, kind, &label) {
                    return exchange.fail(fault);
                }
                if route.original != label {
                    reference.object.set(reference.key, Raw::string(&route.original));
                    call.set_param("ref", reference.object.into_raw());
                }
                let member = catalog.member(route.member);
                exchange.set_target_of(&mut call, Arc::clone(&member.target), member);
                member.upstream.send(call, exchange);
            }
            None if !asked => {
                self.with_listings(exchange, move |gateway, exchange| gateway.complete(call, exchange, true));
            }
            None => {
                exchange.note_refusal(|| self.why_denied(kind, &label));
                exchange.fail(match kind {
                    Kind::Prompts => Fault::UnknownPrompt(label),
                    _ => Fault::UnknownResource(label),
                });
            }
        }
    }
}
