//! The revisions with sessions. What a caller says of itself was said once, in the handshake; the server asks by
//! requests of its own.

use manifold_engine::Exchange;
use manifold_protocol::dialect::legacy;
use manifold_protocol::envelope::{self, Outcome};
use manifold_protocol::{
    Call, CodeSet, Era, Failure, Fault, Id, Method, Outgoing, Raw, RawObject, Reply, notification,
};

use super::{Written, tasks};
use crate::connection::Connection;
use crate::connection::continuation::Continuation;
use crate::connection::table::{Origin, Pending};

/// Refuses what only servers of the other era have a request for; gives back the rest.
pub(super) fn intercept(mut call: Call, exchange: Exchange) -> Option<(Call, Exchange)> {
    if call.caller.as_ref().is_some_and(|caller| caller.is_retry) {
        if call.params.as_ref().is_some_and(|params| params.get("requestState").is_some()) {
            // Sending it would run the tool anew.
            let why = "`requestState` is not of this server, which never asks for input that way";
            exchange.fail(Fault::InvalidParams(why.to_owned()));
            return None;
        }
        // Answers without a state belong to no round of ours: what nobody asked for is left out.
        let object = call.params.take().and_then(|params| params.object());
        call.params = object.map(|mut object| {
            object.remove("inputResponses");
            object.into_raw()
        });
    }
    if call.method == Method::Listen {
        exchange.fail(Fault::UnknownMethod(call.method.as_str().to_owned()));
        return None;
    }
    Some((call, exchange))
}

/// Writes a request; a tool that only runs as a task is called as one.
pub(super) fn write<'d>(
    connection: &Connection,
    id: u64,
    mut call: Call,
    pending: &mut Pending,
) -> Written<'d> {
    pending.in_session = true;
    if pending.origin == Origin::Client && tasks::must_be_task(connection, &call) {
        call.set_param("task", Raw::from_static("{}"));
        pending.kept = Some(Box::new(Continuation::new(call.clone())));
    }
    let params;
    (params, pending.token) = retag(call.params, id);
    Written::Message(envelope::request(&Id::number(id), call.method.as_str(), params.as_ref()))
}

/// Takes the answer to a call that was made as a task.
pub(super) fn go_on(connection: &Connection, id: u64, outcome: Outcome) {
    let reply = match outcome {
        Outcome::Error(error) => Err(Failure::Peer(error)),
        Outcome::Result(body) => match body.get("task") {
            Some(task) => return connection.follow_task(id, task.detached(), Era::Legacy),
            None => Ok(body.into()),
        },
    };
    connection.finish_kept(id, reply);
}

/// Returns what tells a server that nobody waits for a request of ours; both eras say it so on a pipe.
pub(super) fn cancelled(id: u64, reason: Option<Raw>) -> Outgoing {
    let mut params = RawObject::default();
    params.set("requestId", Raw::number(id));
    if let Some(reason) = reason {
        params.set("reason", reason);
    }
    envelope::notification(notification::CANCELLED, Some(&params.into_raw())).into()
}

/// Writes the answer to a request of the server's.
pub(in crate::connection) fn answer_question(id: &Id, reply: Reply) -> Outgoing {
    match reply {
        Ok(answer) => legacy::answer(id, &answer),
        Err(Failure::Peer(error)) => envelope::error(Some(id), &error).into(),
        Err(Failure::Fault(fault)) => envelope::error(Some(id), &fault.to_error(CodeSet::Standard)).into(),
    }
}

/// Puts our number in the place of the client's progress token: tokens of several clients may be equal.
fn retag(params: Option<Raw>, id: u64) -> (Option<Raw>, Option<Raw>) {
    let replaced = || {
        let params = params.as_ref()?;
        let meta = params.get("_meta")?;
        let token = meta.get("progressToken")?;
        let mut meta = meta.object()?;
        meta.set("progressToken", Raw::number(id));
        let mut object = params.object()?;
        object.set("_meta", meta.into_raw());
        Some((object.into_raw(), token))
    };
    match replaced() {
        Some((params, token)) => (Some(params), Some(token)),
        None => (params, None),
    }
}

#[cfg(test)]
mod tests;
