//! Calls that are counted before they go on.

use std::sync::Arc;
use std::time::Duration;

use manifold_config::RateScope;
use manifold_protocol::{Call, Fault, Method, Raw, RawObject};

use super::Gateway;
use crate::catalog::ResourceOwner;
use crate::exchange::Exchange;
use crate::principal::Principal;
use crate::rate::{Counted, RateVerdict};
use crate::router::{self, Found};

impl Gateway {
    /// Sends a call on unless there were too many before it.
    pub(super) fn send_counted(self: &Arc<Self>, call: Call, exchange: Exchange) {
        let rates = self.fleet.rates();
        if *exchange.principal() == Principal::Gateway || call.method == Method::Ping {
            return self.send_guarded(call, exchange);
        }
        let (principal, target) =
            (exchange.principal().to_string(), self.bound_for(&call, exchange.principal()));
        let target = target.as_ref().map(|(server, tool)| (server.as_str(), tool.as_deref()));
        let asks = rates.asks(Counted { principal: &principal, namespace: self.namespace(), target });
        if asks.is_empty() {
            return self.send_guarded(call, exchange);
        }
        let Some(store) = rates.shared() else {
            let verdict = rates.take_here(&asks);
            return self.go_on(verdict, call, exchange);
        };
        let (gateway, store) = (Arc::clone(self), Arc::clone(store));
        self.fleet.tasks().spawn(async move {
            let verdict = gateway.fleet.rates().take_shared(&*store, asks).await;
            if !exchange.is_cancelled() {
                gateway.go_on(verdict, call, exchange);
            }
        });
    }

    fn go_on(self: &Arc<Self>, verdict: RateVerdict, call: Call, exchange: Exchange) {
        let RateVerdict::Limited { ask, retry_after } = verdict else {
            return self.send_guarded(call, exchange);
        };
        let fault = Fault::RateLimited {
            per: ask.per.as_str(),
            limit: ask.limit,
            window: ask.window,
            retry_after: whole_seconds(retry_after),
        };
        let is_inside = matches!(ask.per, RateScope::Server | RateScope::Tool);
        match is_inside && call.method == Method::ToolsCall {
            // A model reads it, and can wait.
            true => exchange.finish(Ok(tool_error(&fault.message()))),
            false => exchange.fail(fault),
        }
    }

    /// Returns the server that a call is for, and the tool's own name, as far as can be told without asking anybody.
    fn bound_for(&self, call: &Call, who: &Principal) -> Option<(String, Option<String>)> {
        let catalog = self.catalog.load();
        let of = |at: usize| {
            let member = catalog.member(at);
            member.server.as_ref().map(|server| server.key.id.clone())
        };
        match call.method {
            Method::ToolsCall => {
                match router::find_tool(&catalog, who, &call.text_param("name")?, true).ok()? {
                    Found::Tool(route) => Some((of(route.member)?, route.target.tool.clone())),
                    Found::Unlisted { member, original } => Some((of(member)?, Some(original))),
                    Found::AskFirst(_) | Found::AskAll => None,
                }
            }
            Method::PromptsGet => {
                let route = catalog.prompt(&call.text_param("name")?)?;
                Some((of(route.member)?, None))
            }
            Method::ResourcesRead | Method::ResourcesSubscribe => {
                match catalog.resource(&call.text_param("uri")?) {
                    ResourceOwner::One(route) => Some((of(route.member)?, None)),
                    ResourceOwner::Perhaps(_) => None,
                }
            }
            _ => None,
        }
    }
}

/// Nobody comes back too early for having been told half of it.
fn whole_seconds(wait: Duration) -> Duration {
    Duration::from_secs(wait.as_secs() + u64::from(wait.subsec_nanos() > 0))
}

fn tool_error(why: &str) -> Raw {
    let mut text = RawObject::default();
    text.set("type", Raw::from_static(r#""text""#));
    text.set("text", Raw::string(why));
    let mut result = RawObject::default();
    result.set("content", Raw::array(&[text.into_raw()]));
    result.set("isError", Raw::boolean(true));
    result.into_raw()
}
