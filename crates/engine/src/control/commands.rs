//! An operator's commands carried out, each to its end.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use manifold_admin as admin;
use manifold_admin::{ClientChange, Command, CommandError, ErrorCode, Happening, Outcome};
use manifold_config::ServerKey;
use manifold_protocol::Fault;
use tokio::time::timeout;

use super::{Control, words};
use crate::changes::ClientId;
use crate::feed::Topics;
use crate::fleet::Fleet;
use crate::gateway::operator::did_you_mean;
use crate::upstream::Order;

/// How long a client may take to be gone.
const DISCONNECT_PATIENCE: Duration = Duration::from_secs(5);

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
            Command::Refresh { server } => self.order(&server, Order::Refresh).await,
            Command::Disconnect { client } => self.disconnect(ClientId(client)).await,
            // Those are done to the config, which is not ours to write.
            Command::Enable { .. }
            | Command::Disable { .. }
            | Command::SetPermission { .. }
            | Command::Other => {
                Err(CommandError::new(ErrorCode::Unsupported, "this gateway does not know that command"))
            }
        }
    }

    /// Begins to sign in to a server. Nothing is opened: whoever asked shows the link.
    pub async fn login(&self, server: &admin::ServerId) -> Result<admin::LoginLink, CommandError> {
        let fleet = self.fleet()?;
        let key = find(&fleet, server)?;
        let meant = fleet.shown(&key).first().map(|slot| Arc::clone(&slot.server));
        let (Some(meant), Some(logins)) = (meant, fleet.logins().cloned()) else {
            return Err(CommandError::new(ErrorCode::Unsupported, "nobody can sign in from this gateway"));
        };
        drop(fleet);
        let login = logins.open(&meant).await;
        let login = login.map_err(|fault| words::refusal(&fault, words::server_id(&key)))?;
        let until = i64::try_from(login.until).ok().and_then(|at| Timestamp::from_second(at).ok());
        Ok(admin::LoginLink {
            url: login.url,
            host: login.host,
            until: until.map(|until| until.to_string()).unwrap_or_default(),
        })
    }

    async fn order(&self, server: &admin::ServerId, order: Order) -> Result<Outcome, CommandError> {
        let fleet = self.fleet()?;
        let key = find(&fleet, server)?;
        let slots = fleet.shown(&key);
        if order != Order::Stop && slots.iter().all(|slot| !slot.server.enabled) {
            return Err(disabled(&key));
        }
        fleet.note_order(&key, order);
        let ordered: Vec<_> = slots.iter().map(|slot| slot.upstream.order(order)).collect();
        drop(fleet);
        // All at once, for each may take its time; what the first cannot is told.
        let mut waiting = tokio::task::JoinSet::new();
        ordered.into_iter().for_each(|one| drop(waiting.spawn(one)));
        let done: Result<(), Fault> = waiting.join_all().await.into_iter().collect();
        done.map_err(|fault| words::refusal(&fault, words::server_id(&key)))?;
        match self.server(&key) {
            Some(server) => Ok(Outcome::Server { server: Box::new(server) }),
            // A new config has just taken it away.
            None => Ok(Outcome::Done),
        }
    }
}

impl Control {
    /// Ends a client's session, and waits until it is gone.
    async fn disconnect(&self, client: ClientId) -> Result<Outcome, CommandError> {
        let fleet = self.fleet()?;
        let mut events = fleet.feed().watch(None, Topics::CLIENT);
        let gateways = fleet.gateways();
        let session = gateways.iter().find_map(|gateway| gateway.session(client));
        let unknown = || {
            let message = format!("there is no client {} connected", client.0);
            CommandError::new(ErrorCode::UnknownClient, message)
        };
        let session = session.ok_or_else(unknown)?;
        if !session.client.disconnect() {
            let message = format!("client {} cannot be disconnected: it has no session to end", client.0);
            return Err(CommandError::new(ErrorCode::Unsupported, message));
        }
        drop((session, gateways, fleet));
        let is_this = |event: &admin::Event| {
            matches!(&event.happening, Happening::Client { change: ClientChange::Left, client: left }
                if left.id == client.0)
        };
        let gone = async {
            while let Some(event) = events.next().await {
                if is_this(&event) || event.happening == Happening::Reset {
                    break;
                }
            }
        };
        match timeout(DISCONNECT_PATIENCE, gone).await {
            Ok(()) => Ok(Outcome::Done),
            Err(_) => Err(CommandError::new(
                ErrorCode::TimedOut,
                format!("client {} was told to go and has not gone yet", client.0),
            )),
        }
    }
}

/// Says that a server is not to be used.
fn disabled(key: &ServerKey) -> CommandError {
    CommandError {
        hint: Some(format!("enable it first: `manifold enable {}`", key.id)),
        server: Some(words::server_id(key)),
        ..CommandError::new(
            ErrorCode::Denied,
            format!("server '{}' is disabled in the config (`enabled`)", key.id),
        )
    }
}

/// Finds a server by its key; the schema may be left out where only one has a server of that id.
pub(super) fn find(fleet: &Fleet, wanted: &admin::ServerId) -> Result<ServerKey, CommandError> {
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
        (None, _) => {
            let ids: BTreeSet<&str> = slots.iter().map(|slot| slot.server.key.id.as_str()).collect();
            let hint = did_you_mean(&wanted.id, ids.into_iter());
            let message = format!("there is no server '{}'", wanted.id);
            Err(CommandError {
                server: Some(wanted.clone()),
                hint,
                ..CommandError::new(ErrorCode::UnknownServer, message)
            })
        }
    }
}
