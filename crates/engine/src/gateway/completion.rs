//! Completion: the server that has the prompt or the resource is asked.

use std::sync::Arc;

use manifold_protocol::{Call, Fault, Kind, Raw, RawObject};

use super::Gateway;
use crate::catalog::ResourceOwner;
use crate::exchange::Exchange;
use crate::policy;

impl Gateway {
    pub(super) fn complete(self: &Arc<Self>, mut call: Call, mut exchange: Exchange, asked: bool) {
        let reference =
            call.params.as_ref().and_then(|params| params.get("ref")).and_then(|raw| raw.object());
        let Some(mut reference) = reference else {
            return exchange.fail(Fault::InvalidParams("`ref` must name a prompt or a resource".to_owned()));
        };
        let text =
            |object: &RawObject, key: &str| object.get(key).and_then(|raw| Some(raw.to_text()?.into_owned()));
        let catalog = self.catalog.load();
        let (key, kind, label, route) = match text(&reference, "type").as_deref() {
            Some("ref/prompt") => {
                let name = text(&reference, "name").unwrap_or_default();
                let route = catalog.prompt(&name);
                ("name", Kind::Prompts, name, route)
            }
            Some("ref/resource") => {
                let uri = text(&reference, "uri").unwrap_or_default();
                let route = match catalog.resource(&uri) {
                    ResourceOwner::One(route) => Some(route),
                    ResourceOwner::Perhaps(_) => None,
                };
                ("uri", Kind::Resources, uri, route)
            }
            _ => {
                let why = "`ref.type` must be `ref/prompt` or `ref/resource`".to_owned();
                return exchange.fail(Fault::InvalidParams(why));
            }
        };
        match route.filter(|route| route.is_shown_to(exchange.principal())) {
            Some(route) => {
                if let Some(fault) = policy::refusal(exchange.principal(), route.decisions, kind, &label) {
                    return exchange.fail(fault);
                }
                if route.original != label {
                    reference.set(key, Raw::string(&route.original));
                    call.set_param("ref", reference.into_raw());
                }
                let member = catalog.member(route.member);
                exchange.set_target_of(&mut call, Arc::clone(&member.target), member);
                member.upstream.send(call, exchange);
            }
            None if !asked => {
                self.with_listings(exchange, move |gateway, exchange| gateway.complete(call, exchange, true));
            }
            None if key == "name" => exchange.fail(Fault::UnknownPrompt(label)),
            None => exchange.fail(Fault::UnknownResource(label)),
        }
    }
}
