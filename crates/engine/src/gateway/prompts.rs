//! Prompts, each at the server that has it.

use std::sync::Arc;

use manifold_protocol::{Call, Fault, Kind, Raw};

use super::Gateway;
use crate::exchange::Exchange;
use crate::policy;

impl Gateway {
    pub(super) fn get_prompt(self: &Arc<Self>, mut call: Call, mut exchange: Exchange, asked: bool) {
        let Some(name) = call.text_param("name") else {
            return exchange.fail(Fault::InvalidParams("`name` must be the name of a prompt".to_owned()));
        };
        let catalog = self.catalog.load();
        match catalog.prompt(&name).filter(|route| route.is_shown_to(exchange.principal())) {
            Some(route) => {
                if let Some(fault) =
                    policy::refusal(exchange.principal(), route.decisions, Kind::Prompts, &name)
                {
                    return exchange.fail(fault);
                }
                let member = catalog.member(route.member);
                if route.original != name {
                    call.set_param("name", Raw::string(&route.original));
                }
                exchange.set_target_of(&mut call, Arc::clone(&member.target), member);
                self.deliver(member, call, exchange);
            }
            None if asked => {
                exchange.note_refusal(|| self.why_denied(Kind::Prompts, &name));
                exchange.fail(Fault::UnknownPrompt(name));
            }
            None => self
                .with_listings(exchange, move |gateway, exchange| gateway.get_prompt(call, exchange, true)),
        }
    }
}
