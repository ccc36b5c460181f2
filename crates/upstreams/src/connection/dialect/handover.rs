//! What a program that takes our place must know of a dialect, and how it goes on in it.

use manifold_protocol::Raw;
use manifold_protocol::dialect::ServerFacts;
use manifold_protocol::dialect::litemcp::Tool;
use manifold_protocol::dialect::modern::rounds::InputRequired;

use super::dual::Dual;
use super::litemcp::{LiteMcp, Numbers};
use super::modern::Modern;
use super::tasks::about;
use super::{Dialect, Way, legacy};
use crate::connection::Connection;
use crate::connection::continuation::Stage;
use crate::handover::{Json, SavedDialect};

impl Dialect {
    pub(in crate::connection) fn save(&self) -> SavedDialect {
        match self {
            Self::Legacy => SavedDialect::Legacy,
            Self::Modern(_) => SavedDialect::Modern,
            Self::Dual(dual) => SavedDialect::Dual { session: dual.opened() },
            Self::LiteMcp(lite) => lite.save(),
        }
    }

    /// Goes on in the dialect of a server on a pipe; `None` if it is one that we know nothing of.
    pub(in crate::connection) fn resume(saved: &SavedDialect, said: &ServerFacts) -> Option<Self> {
        Some(match saved {
            SavedDialect::Legacy => Self::Legacy,
            SavedDialect::Modern => Self::Modern(Box::new(Modern::new(said, None).resumed())),
            SavedDialect::Dual { session } => {
                Self::Dual(Box::new(Dual::resume(Modern::new(said, None).resumed(), *session)))
            }
            SavedDialect::LiteMcp { tool, last, numbers } => {
                let way = Way::Messages(Numbers::resume(*last, numbers));
                Self::LiteMcp(Box::new(LiteMcp::resume(way, Tool::parse(&tool.0)?)))
            }
            SavedDialect::Unknown => return None,
        })
    }

    /// Lets go of those who wait to hear that they will be told of changes.
    pub(in crate::connection) fn leave_listeners(&self) {
        if let Some(modern) = self.without_sessions() {
            modern.leave_listeners();
        }
    }

    /// Takes back a request to listen that another program made; ours takes its place.
    pub(in crate::connection) fn end_listening(&self, connection: &Connection, id: u64) {
        connection.push(legacy::cancelled(id, None));
    }

    /// Goes on with a call that rests with us.
    pub(in crate::connection) fn go_on_from(&self, connection: &Connection, id: u64, stage: Stage) {
        match stage {
            Stage::Written => {}
            Stage::Asking(round) => match InputRequired::read(&round) {
                Some(round) => connection.ask_round_again(id, round),
                None => connection.fail(id, connection.malformed("its questions cannot be read")),
            },
            Stage::Task(task) => connection.follow_task(id, about(&task), self.era()),
        }
    }
}

impl LiteMcp {
    fn save(&self) -> SavedDialect {
        let (last, numbers) = self.numbers();
        let tool = self.tool().map_or_else(Raw::null, Tool::encode);
        SavedDialect::LiteMcp { tool: Json(tool), last, numbers }
    }
}
