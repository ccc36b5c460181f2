//! How one server is spoken to. A connection asks its dialect what becomes of a call and of what the server says; to
//! number, match, time and cancel calls is its own affair, and the same for all dialects.

mod dual;
mod handover;
mod legacy;
mod litemcp;
mod modern;
mod tasks;
mod tool_facts;

use std::sync::Arc;

use bytes::Bytes;
use manifold_engine::Exchange;
use manifold_protocol::dialect::ServerFacts;
use manifold_protocol::envelope::Outcome;
use manifold_protocol::{Call, Caller, Era, Failure, Method, Outgoing, Raw, Reply};

use super::Connection;
use super::continuation::Stage;
use super::post::{Post, Poster};
use super::table::{Origin, Pending};
use dual::Dual;
pub(super) use legacy::answer_question;
use litemcp::LiteMcp;
pub(crate) use litemcp::Way;
use modern::Modern;
pub(super) use tool_facts::KnownTools;
pub(crate) use tool_facts::ToolFacts;

pub(crate) enum Dialect {
    /// The revisions with sessions, whose words every server hears first unless it is known to speak others.
    Legacy,
    /// The revision without sessions.
    Modern(Box<Modern>),
    /// Both on one table: each call is written as its caller speaks.
    Dual(Box<Dual>),
    LiteMcp(Box<LiteMcp>),
}

/// A call as the server is to get it.
pub(super) enum Written<'d> {
    Message(Outgoing),
    Post(&'d dyn Poster, Post),
}

/// What became of a notification.
pub(super) enum Heard {
    /// It was the dialect's own.
    Taken,
    Left(Option<Raw>),
}

impl Dialect {
    /// Spoken before the handshake has found another.
    pub(super) const DEFAULT: Self = Self::Legacy;

    /// Returns the revision without sessions; requests are posted one by one where there is a poster.
    pub(crate) fn modern(said: &ServerFacts, poster: Option<Arc<dyn Poster>>) -> Self {
        Self::Modern(Box::new(Modern::new(said, poster)))
    }

    /// Returns both eras, once `Connection::settle_session` has said that there is a session.
    pub(crate) fn dual(said: &ServerFacts, poster: Option<Arc<dyn Poster>>) -> Self {
        Self::Dual(Box::new(Dual::new(Modern::new(said, poster))))
    }

    pub(crate) fn litemcp(way: Way) -> Self {
        Self::LiteMcp(Box::new(LiteMcp::new(way)))
    }

    /// Returns the era of what has no caller, such as the lists.
    pub(crate) fn era(&self) -> Era {
        match self {
            Self::Legacy | Self::LiteMcp(_) => Era::Legacy,
            Self::Modern(_) | Self::Dual(_) => Era::Modern,
        }
    }

    /// Starts what goes on for as long as the dialect is spoken.
    pub(super) fn begin(&self, connection: &Connection) {
        if let (Some(_), Some(me)) = (self.without_sessions(), connection.me.upgrade()) {
            connection.spawn(me.keep_listening());
        }
    }

    /// Answers what is not for the server, or must wait; gives back the rest.
    pub(super) fn intercept(
        &self,
        connection: &Connection,
        call: Call,
        exchange: Exchange,
    ) -> Option<(Call, Exchange)> {
        match self {
            Self::Legacy => legacy::intercept(call, exchange),
            Self::Modern(modern) => modern.intercept(connection, call, exchange),
            Self::Dual(dual) => dual.intercept(connection, call, exchange),
            Self::LiteMcp(lite) => lite.intercept(call, exchange),
        }
    }

    /// Answers one of our own requests, where the server need not be asked.
    pub(super) fn answer_own(&self, call: &Call) -> Option<Raw> {
        match self {
            Self::LiteMcp(lite) => lite.answer_own(call),
            Self::Legacy | Self::Modern(_) | Self::Dual(_) => None,
        }
    }

    /// Writes a call under its number. Called with the table locked.
    pub(super) fn write(
        &self,
        connection: &Connection,
        id: u64,
        call: Call,
        pending: &mut Pending,
    ) -> Written<'_> {
        match self {
            Self::Legacy => legacy::write(connection, id, call, pending),
            Self::Modern(modern) => modern.write(connection, id, call, pending),
            Self::Dual(dual) => dual.write(connection, id, call, pending),
            Self::LiteMcp(lite) => lite.write(id, call, pending),
        }
    }

    /// Takes one message of the server's.
    pub(super) fn hear(&self, connection: &Connection, message: Bytes, within: Option<u64>) {
        match self {
            Self::Legacy | Self::Modern(_) | Self::Dual(_) => connection.hear_json_rpc(message, within),
            Self::LiteMcp(lite) => lite.hear(connection, message),
        }
    }

    /// Returns whether the server may ask something by request now.
    pub(super) fn may_ask(&self, connection: &Connection, within: Option<u64>) -> bool {
        match self {
            Self::Legacy => true,
            Self::Dual(dual) => dual.may_ask(connection, within),
            Self::Modern(_) | Self::LiteMcp(_) => false,
        }
    }

    /// Takes a notification that is the dialect's own affair.
    pub(super) fn hear_notification(
        &self,
        connection: &Connection,
        method: &str,
        params: Option<Raw>,
        within: Option<u64>,
    ) -> Heard {
        match self {
            Self::Legacy | Self::LiteMcp(_) => Heard::Left(params),
            Self::Modern(_) => modern::hear_notification(connection, method, params, within),
            Self::Dual(dual) => dual.hear_notification(connection, method, params, within),
        }
    }

    /// Reads the answer to a call that is over with it.
    pub(super) fn read(&self, connection: &Connection, pending: &Pending, outcome: Outcome) -> Reply {
        let result = match outcome {
            Outcome::Result(result) => result,
            Outcome::Error(error) => return Err(Failure::Peer(error)),
        };
        match self {
            Self::Legacy => Ok(result.into()),
            Self::Dual(_) if pending.in_session => Ok(result.into()),
            Self::Modern(_) | Self::Dual(_) => match pending.origin {
                Origin::Client => modern::read_result(connection, result),
                _ => Ok(result.into()),
            },
            Self::LiteMcp(lite) => lite.read(connection, pending.origin, &result),
        }
    }

    /// Takes the answer to a call that may go on: ends the call, or goes on with it.
    pub(super) fn go_on(
        &self,
        connection: &Connection,
        id: u64,
        caller: Option<&Arc<Caller>>,
        outcome: Outcome,
    ) {
        match self {
            Self::Legacy | Self::LiteMcp(_) => legacy::go_on(connection, id, outcome),
            // In a session beside the other era no call goes on: tools that must be tasks are not looked for there.
            Self::Modern(_) | Self::Dual(_) => modern::go_on(connection, id, caller, outcome),
        }
    }

    /// Tells the server that nobody waits for a call any more, in whatever state it is.
    pub(super) fn cancel(&self, connection: &Connection, id: u64, pending: &Pending, reason: Option<Raw>) {
        if let Self::LiteMcp(lite) = self {
            connection.show_let_go(id);
            return lite.forget(id);
        }
        // One that gives no sign of life is told no more.
        if pending.origin == Origin::Probe {
            return;
        }
        match pending.kept.as_ref().map(|kept| &kept.stage) {
            Some(Stage::Asking(_)) => {}
            Some(Stage::Task(task)) => connection.cancel_task(task, pending),
            // Posted, it is cancelled by letting go of the connection, which `pending` does.
            Some(Stage::Written) | None if self.has_headers() && !pending.in_session => {
                connection.show_let_go(id);
            }
            Some(Stage::Written) | None => {
                connection.push(legacy::cancelled(id, reason));
            }
        }
    }

    /// Returns the request that asks for a sign of life.
    pub(super) fn probe(&self) -> Method {
        match self {
            Self::Legacy | Self::LiteMcp(_) => Method::Ping,
            // This revision has no ping.
            Self::Modern(_) | Self::Dual(_) => Method::Discover,
        }
    }

    /// Returns whether the server takes notifications.
    pub(super) fn takes_notifications(&self) -> bool {
        match self {
            Self::Legacy => true,
            Self::Dual(dual) => dual.has_session(),
            Self::Modern(_) | Self::LiteMcp(_) => false,
        }
    }

    /// Returns whether a log line belongs to a call, and to nobody else's.
    pub(super) fn logs_in_calls(&self) -> bool {
        self.without_sessions().is_some()
    }

    /// Gives back the calls that wait to know how they are to be written.
    pub(super) fn take_waiting(&self) -> Vec<(Call, Exchange)> {
        match self {
            Self::Dual(dual) => dual.take_waiting(),
            Self::Legacy | Self::Modern(_) | Self::LiteMcp(_) => Vec::new(),
        }
    }

    /// Returns whether requests are posted one by one, with what they say in headers too.
    fn has_headers(&self) -> bool {
        self.without_sessions().is_some_and(Modern::has_poster)
    }

    fn without_sessions(&self) -> Option<&Modern> {
        match self {
            Self::Modern(modern) => Some(modern),
            Self::Dual(dual) => Some(dual.modern()),
            Self::Legacy | Self::LiteMcp(_) => None,
        }
    }
}

#[cfg(test)]
mod tests;
