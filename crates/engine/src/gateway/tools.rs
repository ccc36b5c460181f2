//! Calls of tools: found in the catalog, or asked for first.

use std::sync::Arc;

use manifold_protocol::{Answer, Call, Fault, Kind, Method, Raw};
use tracing::debug;

use super::{Gateway, extensions};
use crate::catalog::Catalog;
use crate::changes::ClientId;
use crate::exchange::{AnswerStep, Exchange, Target};
use crate::policy;
use crate::router::{self, Found};
use crate::upstream::{Phase, Upstream};

impl Gateway {
    pub(super) fn call_tool(self: &Arc<Self>, mut call: Call, mut exchange: Exchange, asked: bool) {
        let Some((place, name)) = call.find_text_param("name") else {
            return exchange.fail(Fault::InvalidParams("`name` must be the name of a tool".to_owned()));
        };
        let catalog = self.catalog.load();
        let found = match router::find_tool(&catalog, exchange.principal(), &name, asked) {
            Ok(found) => found,
            Err(_) if !asked && self.catch_up(&catalog) => return self.call_tool(call, exchange, true),
            Err(fault) => {
                exchange.note_refusal(|| self.why_denied(Kind::Tools, &name));
                return exchange.fail(fault);
            }
        };
        let found = match exchange.grants() {
            None => found,
            Some(grants) => match self.granted_tool(&catalog, (&name, found), &grants, asked) {
                Ok(found) => found,
                Err(fault) => {
                    exchange.note_refusal(|| Some("the scopes of the credential".to_owned()));
                    return exchange.fail(fault);
                }
            },
        };
        match found {
            Found::Tool(route) => {
                if let Some(fault) =
                    policy::refusal(exchange.principal(), route.decisions, Kind::Tools, &name)
                {
                    return exchange.fail(fault);
                }
                if let Err(fault) = route.arguments.check(&name, call.params.as_ref()) {
                    return exchange.fail(fault);
                }
                debug!(tool = ?name, server = %route.target.server, "call");
                call.replace_param(place, &route.original);
                let member = catalog.member(route.member);
                exchange.set_target_of(&mut call, Arc::clone(&route.target), member);
                if extensions::may_be_task(&call) {
                    exchange = self.naming_tasks(member, exchange);
                }
                if route.is_loose {
                    exchange = exchange.then_step(AnswerStep::AllowAnyStructured, |reply, outer| {
                        outer.finish(reply.map(Answer::allow_any_structured));
                    });
                }
                self.deliver(member, call, exchange);
            }
            Found::Unlisted { member, original } => {
                let member = catalog.member(member);
                debug!(tool = ?name, server = %member.key.id, "call to a server not listed yet");
                call.replace_param(place, &Raw::string(&original));
                let target = Arc::new(Target { tool: Some(original), ..(*member.target).clone() });
                exchange.set_target_of(&mut call, target, member);
                if extensions::may_be_task(&call) {
                    exchange = self.naming_tasks(member, exchange);
                }
                self.deliver(member, call, exchange);
            }
            Found::AskAll => {
                drop(catalog);
                self.with_listings(exchange, move |gateway, exchange| {
                    gateway.call_tool(call, exchange, true)
                });
            }
            Found::AskFirst(members) => {
                self.after_asking(&catalog, &members, exchange, move |gateway, exchange| {
                    gateway.call_tool(call, exchange, true);
                });
            }
        }
    }

    /// Goes on once these servers were asked for their lists.
    #[cold]
    #[inline(never)]
    pub(super) fn after_asking(
        self: &Arc<Self>,
        catalog: &Catalog,
        members: &[usize],
        exchange: Exchange,
        go_on: impl FnOnce(&Arc<Self>, Exchange) + Send + 'static,
    ) {
        let asked =
            members.iter().map(|at| (Arc::clone(&catalog.member(*at).upstream), catalog.denies_tools(*at)));
        let asked: Vec<_> = asked.collect();
        let (gateway, client) = (Arc::clone(self), exchange.client());
        // A call never waits behind the discovery of others: only its own server is asked.
        self.fleet.tasks().spawn(async move {
            for (upstream, is_guarded) in asked {
                if is_guarded {
                    rouse(&*upstream, client).await;
                }
                upstream.discover().await;
            }
            gateway.catch_up(&gateway.catalog.load());
            go_on(&gateway, exchange);
        });
    }
}

/// Has a server tried again that has failed: no list starts it, but a call does, and this stands for one (D4).
async fn rouse(upstream: &dyn Upstream, client: Option<ClientId>) {
    if matches!(upstream.status().phase, Phase::Failed(_)) {
        let (exchange, answer) = client.map_or_else(Exchange::answered, Exchange::answered_to);
        upstream.send(Call::new(Method::Ping, None), exchange);
        // Its status says what came of it.
        let _ = answer.await;
    }
}
