//! Calls that are counted before they go on.

use std::sync::Arc;
use std::time::Duration;

use manifold_config::RateScope;
use manifold_protocol::{Call, Fault, Method, Raw, RawObject};

use super::{Gateway, completion, extensions, subscriptions};
use crate::catalog::ResourceOwner;
use crate::exchange::Exchange;
use crate::principal::Principal;
use crate::rate::{Counted, RateAsk, RateVerdict};
use crate::router::{self, Found};

/// Where a call goes, as far as rules for servers and tools have to know.
enum Bound {
    /// To these servers, and the tool by the server's own name. Of a resource that nobody lists each may be asked.
    To(Vec<(String, Option<String>)>),
    /// Only the lists of these servers can tell, or those of all.
    Unknown(Option<Vec<usize>>),
}

impl Bound {
    const NOWHERE: Self = Self::To(Vec::new());
}

impl Gateway {
    /// Sends a call on unless there were too many before it.
    pub(super) fn send_counted(self: &Arc<Self>, call: Call, exchange: Exchange) {
        if *exchange.principal() == Principal::Gateway || call.method == Method::Ping {
            return self.send_guarded(call, exchange);
        }
        let rates = self.fleet.rates();
        let who = exchange.principal().to_string();
        let bound = match rates.concern_servers() {
            true => self.bound_for(&call, exchange.principal(), false),
            false => Bound::NOWHERE,
        };
        let asks = |targets: &[(String, Option<String>)]| {
            rates.asks(Counted { who: Some((&who, self.namespace())), targets })
        };
        match bound {
            Bound::To(targets) => {
                let asks = asks(&targets);
                self.count(asks, call, exchange, |gateway, call, exchange| {
                    gateway.send_guarded(call, exchange);
                });
            }
            // Who may not ask at all has no server asked for its sake.
            Bound::Unknown(members) => {
                let asks = asks(&[]);
                self.count(asks, call, exchange, |gateway, call, exchange| {
                    gateway.count_once_known(members, call, exchange);
                });
            }
        }
    }

    /// Learns which server a call is for, has it counted there, and sends it on.
    fn count_once_known(self: &Arc<Self>, members: Option<Vec<usize>>, call: Call, exchange: Exchange) {
        let go_on = move |gateway: &Arc<Self>, exchange: Exchange| {
            let targets = match gateway.bound_for(&call, exchange.principal(), true) {
                Bound::To(targets) => targets,
                Bound::Unknown(_) => Vec::new(),
            };
            let asks = gateway.fleet.rates().asks(Counted { who: None, targets: &targets });
            gateway.count(asks, call, exchange, |gateway, call, exchange| {
                gateway.send_guarded(call, exchange);
            });
        };
        match members {
            None => self.with_listings(exchange, go_on),
            Some(members) => self.after_asking(&self.catalog.load(), &members, exchange, go_on),
        }
    }

    /// Goes on with a call that is not turned away.
    fn count(
        self: &Arc<Self>,
        asks: Vec<RateAsk>,
        call: Call,
        exchange: Exchange,
        go_on: impl FnOnce(&Arc<Self>, Call, Exchange) + Send + 'static,
    ) {
        if asks.is_empty() {
            return go_on(self, call, exchange);
        }
        let rates = self.fleet.rates();
        let Some(store) = rates.shared() else {
            return match rates.take_here(&asks) {
                RateVerdict::Allowed => go_on(self, call, exchange),
                RateVerdict::Limited { ask, retry_after } => turn_away(&ask, retry_after, &call, exchange),
            };
        };
        let (gateway, store) = (Arc::clone(self), Arc::clone(store));
        self.fleet.tasks().spawn(async move {
            let verdict = gateway.fleet.rates().take_shared(&*store, asks).await;
            match verdict {
                _ if exchange.is_cancelled() => {}
                RateVerdict::Allowed => go_on(&gateway, call, exchange),
                RateVerdict::Limited { ask, retry_after } => turn_away(&ask, retry_after, &call, exchange),
            }
        });
    }

    /// Returns the servers that a call is for, and the tool's own name. `asked` says that unknown lists were asked for.
    fn bound_for(&self, call: &Call, who: &Principal, asked: bool) -> Bound {
        let catalog = self.catalog.load();
        let id = |at: usize| catalog.member(at).server.as_ref().map(|server| server.key.id.clone());
        let to = |at: usize, tool: Option<&str>| {
            Bound::To(id(at).map(|id| (id, tool.map(str::to_owned))).into_iter().collect())
        };
        let unknown = || if asked { Bound::NOWHERE } else { Bound::Unknown(None) };
        let text = |key: &str| call.text_param(key).unwrap_or_default();
        let of_resource = |owner: ResourceOwner| match owner {
            ResourceOwner::One(route) => to(route.member, None),
            ResourceOwner::Perhaps(_) if !asked => Bound::Unknown(None),
            ResourceOwner::Perhaps(members) => {
                Bound::To(members.into_iter().filter_map(|at| Some((id(at)?, None))).collect())
            }
        };
        match &call.method {
            Method::ToolsCall => match router::find_tool(&catalog, who, &text("name"), asked) {
                Ok(Found::Tool(route)) => to(route.member, route.target.tool.as_deref()),
                Ok(Found::Unlisted { member, original }) => to(member, Some(&original)),
                Ok(Found::AskFirst(members)) => Bound::Unknown(Some(members)),
                Ok(Found::AskAll) => Bound::Unknown(None),
                Err(_) if !asked && self.catch_up(&catalog) => self.bound_for(call, who, true),
                Err(_) => Bound::NOWHERE,
            },
            Method::PromptsGet => match catalog.prompt(&text("name")) {
                Some(route) => to(route.member, None),
                None => unknown(),
            },
            Method::ResourcesRead | Method::ResourcesSubscribe => of_resource(catalog.resource(&text("uri"))),
            Method::ResourcesUnsubscribe => of_resource(subscriptions::owner(&catalog, &text("uri"))),
            Method::Complete => match completion::of(&catalog, call) {
                Some(route) => to(route.member, None),
                None => unknown(),
            },
            Method::TasksGet | Method::TasksUpdate | Method::TasksCancel => {
                self.task_owner(&catalog, &text("taskId")).map_or(Bound::NOWHERE, |(at, _)| to(at, None))
            }
            Method::SkillsList | Method::SkillsGet | Method::DirectoryRead | Method::Other(_) => {
                match extensions::able(&catalog, call) {
                    (Some(at), None) => to(at, None),
                    (None, _) if self.may_have_extensions(&catalog, call) => unknown(),
                    _ => Bound::NOWHERE,
                }
            }
            _ => Bound::NOWHERE,
        }
    }
}

fn turn_away(ask: &RateAsk, retry_after: Duration, call: &Call, exchange: Exchange) {
    let per = ask.per.as_str();
    exchange.note_refusal(|| Some(format!("`limits.rate`: {} in {:?} per {per}", ask.limit, ask.window)));
    let retry_after = whole_seconds(retry_after);
    let fault = Fault::RateLimited { per, limit: ask.limit, window: ask.window, retry_after };
    let is_inside = matches!(ask.per, RateScope::Server | RateScope::Tool);
    match is_inside && call.method == Method::ToolsCall {
        // A model reads it, and can wait.
        true => exchange.finish(Ok(tool_error(&fault.message()))),
        false => exchange.fail(fault),
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
