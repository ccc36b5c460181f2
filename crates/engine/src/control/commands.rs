//! An operator's commands carried out, each to its end.

use std::collections::BTreeSet;

use manifold_admin as admin;
use manifold_admin::{Command, CommandError, ErrorCode, Outcome};
use manifold_config::ServerKey;
use manifold_protocol::Fault;

use super::{Control, words};
use crate::fleet::Fleet;
use crate::upstream::Order;

impl Control {
    /// Carries out a command, on any server of the fleet. Returns when it is done.
    pub async fn execute(&self, command: Command) -> Result<Outcome, CommandError> {
        match command {
            Command::Start { server } => self.order(&server, Order::Start).await,
            Command::Stop { server } => self.order(&server, Order::Stop).await,
            Command::Restart { server } => self.order(&server, Order::Restart).await,
            Command::Reload => match self.reloader().reload().await {
                Ok(report) => Ok(Outcome::Reloaded { report }),
                Err(why) => Err(CommandError::new(ErrorCode::ConfigRefused, why)),
            },
            Command::Refresh { .. }
            | Command::Enable { .. }
            | Command::Disable { .. }
            | Command::SetPermission { .. }
            | Command::Disconnect { .. }
            | Command::Other => {
                Err(CommandError::new(ErrorCode::Unsupported, "this gateway does not know that command"))
            }
        }
    }

    /// Returns the last lines a server wrote beside the protocol, each instance its share of them.
    pub fn logs(&self, server: &admin::ServerId, lines: usize) -> Result<Vec<String>, CommandError> {
        let fleet = self.fleet()?;
        let slots = fleet.shown(&find(&fleet, server)?);
        let share = (lines / slots.len().max(1)).max(1);
        Ok(slots.iter().flat_map(|slot| slot.upstream.logs(share)).collect())
    }

    async fn order(&self, server: &admin::ServerId, order: Order) -> Result<Outcome, CommandError> {
        let fleet = self.fleet()?;
        let key = find(&fleet, server)?;
        let ordered: Vec<_> = fleet.shown(&key).iter().map(|slot| slot.upstream.order(order)).collect();
        drop(fleet);
        // All at once, for each may take its time; what the first cannot is told.
        let mut waiting = tokio::task::JoinSet::new();
        ordered.into_iter().for_each(|one| drop(waiting.spawn(one)));
        let done: Result<(), Fault> = waiting.join_all().await.into_iter().collect();
        done.map_err(|fault| words::refusal(&fault, words::server_id(&key)))?;
        match self.fleet()?.describe(&key) {
            Some(server) => Ok(Outcome::Server { server: Box::new(server) }),
            // A new config has just taken it away.
            None => Ok(Outcome::Done),
        }
    }
}

/// Finds a server by its key; the schema may be left out where only one has a server of that id.
fn find(fleet: &Fleet, wanted: &admin::ServerId) -> Result<ServerKey, CommandError> {
    let slots = fleet.slots();
    let is_meant =
        |key: &&ServerKey| key.id == wanted.id && (wanted.schema.is_none() || wanted.schema == key.schema);
    let found: BTreeSet<&ServerKey> = slots.iter().map(|slot| &slot.server.key).filter(is_meant).collect();
    let refused = |code, message: String| {
        Err(CommandError { server: Some(wanted.clone()), ..CommandError::new(code, message) })
    };
    let mut found = found.into_iter();
    match (found.next(), found.next()) {
        (Some(key), None) => Ok(key.clone()),
        (Some(_), Some(_)) => {
            refused(ErrorCode::AmbiguousServer, format!("several schemas have a server '{}'", wanted.id))
        }
        (None, _) => refused(ErrorCode::UnknownServer, format!("there is no server '{}'", wanted.id)),
    }
}
