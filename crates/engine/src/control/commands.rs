//! An operator's commands carried out, each to its end.

use manifold_admin as admin;
use manifold_admin::{Command, CommandError, ErrorCode, Outcome};

use super::{Control, words};
use crate::fleet::{Fleet, Slot};
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

    /// Returns the last lines a server wrote beside the protocol.
    pub fn logs(&self, server: &admin::ServerId, lines: usize) -> Result<Vec<String>, CommandError> {
        Ok(find(&*self.fleet()?, server)?.upstream.logs(lines))
    }

    async fn order(&self, server: &admin::ServerId, order: Order) -> Result<Outcome, CommandError> {
        let slot = find(&*self.fleet()?, server)?;
        let id = words::server_id(&slot.server.key);
        slot.upstream.order(order).await.map_err(|fault| words::refusal(&fault, id))?;
        match self.fleet()?.describe(&slot.server.key) {
            Some(server) => Ok(Outcome::Server { server: Box::new(server) }),
            // A new config has just taken it away.
            None => Ok(Outcome::Done),
        }
    }
}

/// Finds a server by its key; the schema may be left out where only one has a server of that id.
fn find(fleet: &Fleet, wanted: &admin::ServerId) -> Result<Slot, CommandError> {
    let slots = fleet.slots();
    let is_meant = |slot: &&Slot| {
        let key = &slot.server.key;
        key.id == wanted.id && (wanted.schema.is_none() || wanted.schema == key.schema)
    };
    let mut found = slots.iter().filter(is_meant);
    let refused = |code, message: String| {
        Err(CommandError { server: Some(wanted.clone()), ..CommandError::new(code, message) })
    };
    match (found.next(), found.next()) {
        (Some(slot), None) => Ok(slot.clone()),
        (Some(_), Some(_)) => {
            refused(ErrorCode::AmbiguousServer, format!("several schemas have a server '{}'", wanted.id))
        }
        (None, _) => refused(ErrorCode::UnknownServer, format!("there is no server '{}'", wanted.id)),
    }
}
