//! What is different with a server of the newest revision: each request says who asks, some are answered here because
//! the server knows of no such thing, and over HTTP each goes its own way.

use std::sync::{Arc, OnceLock};

use manifold_engine::Exchange;
use manifold_protocol::dialect::ServerFacts;
use manifold_protocol::dialect::modern::{self, listen};
use manifold_protocol::{Call, Caller, Fault, Id, Method, Outgoing, Raw, envelope, notification};
use tokio::sync::oneshot;

use super::continuation::{Continuation, may_go_on};
use super::dual::Beside;
use super::listening::{Listening, Wanted};
use super::table::{Origin, Pending};
use super::{Connection, tasks};
use crate::era;

pub(super) struct Modern {
    pub(super) listening: Listening,
    /// Who carries requests where they do not share a pipe.
    poster: Option<Arc<dyn Poster>>,
    /// Set where the server speaks the revisions with sessions too.
    pub(super) beside: OnceLock<Beside>,
}

/// Carries requests to the server, each on its own.
pub(crate) trait Poster: Send + Sync {
    /// Starts carrying; must not wait, and must not ask the connection before it returns.
    fn post(&self, post: Post);
}

/// A request on its own way to the server.
pub(crate) struct Post {
    pub(crate) call: u64,
    pub(crate) method: Method,
    pub(crate) params: Raw,
    pub(crate) body: Outgoing,
    /// Resolves once the call is answered or nobody waits for it any more.
    pub(crate) left: oneshot::Receiver<()>,
}

impl Modern {
    pub(super) fn has_poster(&self) -> bool {
        self.poster.is_some()
    }
}

impl Connection {
    /// Speaks the newest revision from now on, and begins to listen for news.
    pub(crate) fn speak_modern(&self, said: &ServerFacts, poster: Option<Arc<dyn Poster>>) {
        let listening = Listening::new(&said.capabilities);
        let modern = Modern { listening, poster, beside: OnceLock::new() };
        if self.modern.set(modern).is_ok()
            && let Some(me) = self.me.upgrade()
        {
            self.spawn(me.keep_listening());
        }
    }

    pub(crate) fn is_modern(&self) -> bool {
        self.modern.get().is_some()
    }

    /// Returns whether requests go over HTTP in the newest revision, with what they say in headers too.
    pub(crate) fn has_headers(&self) -> bool {
        self.modern.get().is_some_and(Modern::has_poster)
    }

    /// Answers what the server's revision has no request for; gives back the rest.
    pub(super) fn answer_here(&self, call: Call, exchange: Exchange) -> Option<(Call, Exchange)> {
        let (mut call, exchange) = self.await_session(call, exchange)?;
        let done = |exchange: Exchange| exchange.finish(Ok(Raw::from_static("{}")));
        let Some(modern) = self.modern_for(&call) else {
            let is_retry = call.caller.as_ref().is_some_and(|caller| caller.is_retry);
            if is_retry && call.params.as_ref().is_none_or(|params| params.get("requestState").is_none()) {
                // Answers without a state belong to no round of ours: what nobody asked for is left out.
                let object = call.params.take().and_then(|params| params.object());
                call.params = object.map(|mut object| {
                    object.remove("inputResponses");
                    object.into_raw()
                });
            } else if is_retry {
                // Sending it would run the tool anew.
                let why = "`requestState` is not of this server, which never asks for input that way";
                exchange.fail(Fault::InvalidParams(why.to_owned()));
                return None;
            }
            if call.method == Method::Listen {
                exchange.fail(Fault::UnknownMethod(call.method.as_str().to_owned()));
                return None;
            }
            return match self.lite.get() {
                Some(lite) => self.answer_for_lite(lite, call, exchange),
                None => Some((call, exchange)),
            };
        };
        match call.method {
            Method::Ping | Method::SetLevel => done(exchange),
            Method::Listen => {
                let task = call.text_param("taskId").map(Wanted::Task);
                modern.listening.wait(task, exchange);
            }
            Method::ResourcesSubscribe => {
                let uri = call.text_param("uri").unwrap_or_default();
                modern.listening.subscribe(self.id(), uri, exchange);
            }
            Method::ResourcesUnsubscribe => {
                modern.listening.changed.notify_one();
                done(exchange);
            }
            _ => return Some((call, exchange)),
        }
        None
    }

    /// Keeps of a call what it takes to go on with it, where it may go on. Returns the call to be written.
    pub(super) fn keep(&self, mut call: Call, pending: &mut Pending) -> Call {
        if self.modern_for(&call).is_none() {
            let known = self.known.load();
            if !known.as_ref().is_some_and(|known| tasks::must_be_task(known, &call)) {
                return call;
            }
            call.set_param("task", Raw::from_static("{}"));
        } else {
            if !may_go_on(&call.method) {
                return call;
            }
            call.caller = Some(self.caller_of(&call));
        }
        pending.kept = Some(Box::new(Continuation::new(call.clone())));
        call
    }

    /// Writes a request of the newest revision: to the pipe, or into the hands of the poster.
    pub(super) fn write_modern<'m>(
        &self,
        revision: &'m Modern,
        id: u64,
        call: Call,
        pending: &mut Pending,
    ) -> Option<(&'m Arc<dyn Poster>, Post)> {
        let caller = match pending.kept {
            Some(_) => call.caller.clone(),
            None => None,
        };
        let caller = caller.unwrap_or_else(|| self.caller_of(&call));
        let Some(poster) = &revision.poster else {
            let body;
            (body, pending.token) = modern::request(id, &call.method, call.params, &caller);
            self.outbox.push(body);
            return None;
        };
        let params;
        (params, pending.token) = modern::seal_numbered(call.params, &caller, Some(id));
        let body = envelope::request(&Id::number(id), call.method.as_str(), Some(&params));
        let (leave, left) = oneshot::channel();
        pending.leave = Some(leave);
        Some((poster, Post { call: id, method: call.method, params, body, left }))
    }

    /// Returns who asks, as the server is told: never more than the asker can do, or we can in its place.
    fn caller_of(&self, call: &Call) -> Arc<Caller> {
        let caller = match &call.caller {
            Some(caller) => Arc::clone(caller),
            None => Arc::new(era::caller(&self.host.client_facts())),
        };
        // Roots of its own in the config are answered by us.
        if self.server.roots.is_empty() || caller.retries || caller.capabilities.get("roots").is_some() {
            return caller;
        }
        let mut capabilities = caller.capabilities.object().unwrap_or_default();
        capabilities.set("roots", Raw::from_static("{}"));
        Arc::new(Caller { capabilities: capabilities.into_raw(), ..(*caller).clone() })
    }

    /// Takes what a listening request brought and gives back the rest, its tag taken off.
    pub(super) fn hear_news(
        &self,
        method: &str,
        params: Option<Raw>,
        call: Option<u64>,
    ) -> Option<Option<Raw>> {
        if self.modern.get().is_none() {
            return Some(params);
        }
        match method {
            notification::ACKNOWLEDGED => {
                let number = |tag: Raw| tag.u64().or_else(|| tag.to_text()?.parse().ok());
                let id = listen::tag_of(params.as_ref()).and_then(number).or(call);
                if let Some(asker) = id.and_then(|id| self.asker_of(id)) {
                    asker.notice(method, params);
                }
                None
            }
            notification::RESOURCE_UPDATED | notification::TASKS => {
                self.host.notice(&self.server.key, method, listen::untag(params));
                None
            }
            notification::CANCELLED => {
                // Some servers end a listening this way rather than by a result.
                let id = params.as_ref().and_then(|params| params.get("requestId")?.u64());
                let listens = |pending: &Pending| pending.origin == Origin::Listening;
                let id = id.filter(|id| self.lock().get(*id).is_some_and(listens));
                if let Some(pending) = id.and_then(|id| self.take(id)) {
                    pending.exchange.finish(Ok(Raw::from_static("{}")));
                    return None;
                }
                // In a session it takes back a question.
                self.has_session_beside().then_some(params)
            }
            _ => Some(params),
        }
    }
}

#[cfg(test)]
mod tests;
