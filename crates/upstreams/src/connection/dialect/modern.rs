//! The newest revision: each request says who asks, some are answered here because the server knows of no such thing, and
//! over HTTP each goes its own way.

mod listening;
mod rounds;

use std::sync::Arc;

use manifold_engine::Exchange;
use manifold_protocol::dialect::ServerFacts;
use manifold_protocol::dialect::modern::rounds::{InputRequired, flaw};
use manifold_protocol::dialect::modern::{self, listen};
use manifold_protocol::envelope::{self, Outcome};
use manifold_protocol::{Answer, Call, Caller, Era, Failure, Id, Mark, Method, Raw, Reply, notification};
use tokio::sync::oneshot;

use super::{Heard, Written};
use crate::connection::Connection;
use crate::connection::continuation::Continuation;
use crate::connection::post::{Post, Poster};
use crate::connection::table::{Origin, Pending};
use crate::era;
use listening::{Listening, Wanted};

pub(crate) struct Modern {
    listening: Listening,
    /// Who carries requests where they do not share a pipe.
    poster: Option<Arc<dyn Poster>>,
}

impl Modern {
    pub(super) fn new(said: &ServerFacts, poster: Option<Arc<dyn Poster>>) -> Self {
        Self { listening: Listening::new(&said.capabilities), poster }
    }

    /// Goes on after another program: what the server said in between nobody has heard.
    pub(super) fn resumed(self) -> Self {
        Self { listening: self.listening.resumed(), ..self }
    }

    /// Lets go of those who wait to hear that they will be told of changes.
    pub(super) fn leave_listeners(&self) {
        self.listening.leave_waiting();
    }

    pub(super) fn has_poster(&self) -> bool {
        self.poster.is_some()
    }

    /// Answers what the revision has no request for; gives back the rest.
    pub(super) fn intercept(
        &self,
        connection: &Connection,
        call: Call,
        exchange: Exchange,
    ) -> Option<(Call, Exchange)> {
        let done = |exchange: Exchange| exchange.finish(Ok(Raw::from_static("{}")));
        match call.method {
            Method::Ping | Method::SetLevel => done(exchange),
            Method::Listen => {
                let task = call.text_param("taskId").map(Wanted::Task);
                self.listening.wait(connection.id(), task, exchange);
            }
            Method::ResourcesSubscribe => {
                let uri = call.text_param("uri").unwrap_or_default();
                self.listening.subscribe(connection.id(), uri, exchange);
            }
            Method::ResourcesUnsubscribe => {
                self.listening.changed.notify_one();
                done(exchange);
            }
            _ => return Some((call, exchange)),
        }
        None
    }

    /// Writes a request: to the pipe, or into the hands of the poster.
    pub(super) fn write(
        &self,
        connection: &Connection,
        id: u64,
        mut call: Call,
        pending: &mut Pending,
    ) -> Written<'_> {
        let caller = match &call.caller {
            // Sent again, it says of its caller what it said before.
            Some(caller) if pending.kept.is_some() => Arc::clone(caller),
            _ => caller_of(connection, &call),
        };
        if pending.origin == Origin::Client && pending.kept.is_none() && may_go_on(&call.method) {
            call.caller = Some(Arc::clone(&caller));
            pending.kept = Some(Box::new(Continuation::new(call.clone())));
        }
        let Some(poster) = &self.poster else {
            let body;
            (body, pending.token) = modern::request(id, &call.method, call.params, &caller);
            return Written::Message(body);
        };
        let params;
        (params, pending.token) = modern::seal_numbered(call.params, &caller, Some(id));
        let body = envelope::request(&Id::number(id), call.method.as_str(), Some(&params));
        let (leave, left) = oneshot::channel();
        pending.leave = Some(leave);
        Written::Post(&**poster, Post { call: id, method: call.method, params, body, left })
    }
}

/// What follows the answer to a call that may go on.
enum Step {
    Finish(Reply),
    Ask(InputRequired),
    Follow(Raw),
    DeclareTasks,
}

/// Takes the answer to a call that may go on.
pub(super) fn go_on(connection: &Connection, id: u64, caller: Option<&Arc<Caller>>, outcome: Outcome) {
    match step(connection, caller, outcome) {
        Step::Finish(reply) => connection.finish_kept(id, reply),
        Step::Ask(round) => connection.ask_round(id, round),
        Step::Follow(task) => connection.follow_task(id, task, Era::Modern),
        Step::DeclareTasks => connection.send_again(id, |kept| {
            let caller = kept.call.caller.as_ref()?;
            let capabilities = modern::with_tasks(&caller.capabilities);
            kept.call.caller = Some(Arc::new(Caller { capabilities, ..(**caller).clone() }));
            Some(kept.call.clone())
        }),
    }
}

fn step(connection: &Connection, caller: Option<&Arc<Caller>>, outcome: Outcome) -> Step {
    let retries = caller.is_some_and(|caller| caller.retries);
    let declares_tasks = || caller.is_some_and(|caller| modern::declares_tasks(&caller.capabilities));
    // A task is the affair of an asker who knows what that is.
    let takes_tasks = || retries && declares_tasks();
    let result = match outcome {
        Outcome::Error(error) if !retries && modern::wants_only_tasks(&error) && !declares_tasks() => {
            return Step::DeclareTasks;
        }
        Outcome::Error(error) => return Step::Finish(Err(Failure::Peer(error))),
        Outcome::Result(result) => result,
    };
    match read_result(connection, result) {
        Ok(answer) if answer.mark() == Mark::InputRequired && !retries => {
            match InputRequired::read(&answer.into_body()) {
                Some(round) => Step::Ask(round),
                None => Step::Finish(Err(connection.malformed("it asks for input, but for none").into())),
            }
        }
        Ok(answer) if answer.mark() == Mark::Extension && !takes_tasks() => {
            Step::Follow(answer.into_body().detached())
        }
        reply => Step::Finish(reply),
    }
}

/// Reads a result for its mark.
pub(super) fn read_result(connection: &Connection, body: Raw) -> Reply {
    match modern::mark_of(&body) {
        Some(Mark::InputRequired) => match flaw(&body) {
            None => Ok(Answer::marked(body, Mark::InputRequired)),
            Some(flaw) => Err(connection.malformed(&format!("its questions cannot be read: {flaw}")).into()),
        },
        Some(mark) => Ok(Answer::marked(body, mark)),
        None => {
            let kind = body.get("resultType").unwrap_or_else(Raw::null);
            Err(connection.malformed(&format!("its `resultType` is {kind}, which nobody knows")).into())
        }
    }
}

/// Takes what a listening request brought, its tag taken off.
pub(super) fn hear_notification(
    connection: &Connection,
    method: &str,
    params: Option<Raw>,
    within: Option<u64>,
) -> Heard {
    match method {
        notification::ACKNOWLEDGED => {
            let number = |tag: Raw| tag.u64().or_else(|| tag.to_text()?.parse().ok());
            let id = listen::tag_of(params.as_ref()).and_then(number).or(within);
            if let Some(asker) = id.and_then(|id| connection.asker_of(id)) {
                asker.notice(method, params);
            }
        }
        notification::RESOURCE_UPDATED | notification::TASKS => {
            connection.host.notice(&connection.server.key, method, listen::untag(params));
        }
        notification::CANCELLED => {
            end_listening(connection, params.as_ref());
        }
        _ => return Heard::Left(params),
    }
    Heard::Taken
}

/// Ends the listening that a server takes back: some do so rather than answer. Returns whether it was one.
pub(super) fn end_listening(connection: &Connection, params: Option<&Raw>) -> bool {
    let id = params.and_then(|params| params.get("requestId")?.u64());
    let listens = |pending: &Pending| pending.origin == Origin::Listening;
    let id = id.filter(|id| connection.lock().get(*id).is_some_and(listens));
    match id.and_then(|id| connection.take(id)) {
        Some(pending) => {
            pending.exchange.finish(Ok(Raw::from_static("{}")));
            true
        }
        None => false,
    }
}

/// Returns whether a method may be answered with more than a result.
fn may_go_on(method: &Method) -> bool {
    matches!(method, Method::ToolsCall | Method::PromptsGet | Method::ResourcesRead)
}

/// Returns who asks, as the server is told: never more than the asker can do, or we can in its place.
fn caller_of(connection: &Connection, call: &Call) -> Arc<Caller> {
    let caller = match &call.caller {
        Some(caller) => Arc::clone(caller),
        None => Arc::new(era::caller(&connection.host.client_facts())),
    };
    // Roots of its own in the config are answered by us.
    if connection.server.roots.is_empty() || caller.retries || caller.capabilities.get("roots").is_some() {
        return caller;
    }
    let mut capabilities = caller.capabilities.object().unwrap_or_default();
    capabilities.set("roots", Raw::from_static("{}"));
    Arc::new(Caller { capabilities: capabilities.into_raw(), ..(*caller).clone() })
}

#[cfg(test)]
mod tests;
