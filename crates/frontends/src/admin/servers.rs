//! Servers: how they are, and orders to them.

use std::sync::Arc;

use manifold_admin::{Command, CommandError, ErrorCode, Outcome, Server, ServerId, Snapshot};
use manifold_config::{Edit, did_you_mean};
use manifold_engine::Gateway;

use super::answer::{Answer, Revisions, json};
use super::peer::Peer;
use super::request::Asked;
use super::{Office, access, ask, config, setup};

/// Returns how everything is, for somebody who may go on with the events from there.
pub(super) fn snapshot(office: &Office) -> Snapshot {
    let mut snapshot = office.control.snapshot_to_follow();
    office.program.remember(&mut snapshot.servers);
    if snapshot.config.revision.is_none() {
        snapshot.config.revision = office.program.about().revision;
    }
    snapshot
}

/// Returns how all servers are.
pub(super) fn all(office: &Office) -> Vec<Server> {
    let mut servers = office.control.snapshot().servers;
    office.program.remember(&mut servers);
    servers
}

pub(super) fn one(office: &Office, asked: &Asked) -> Result<Answer, CommandError> {
    find(office, &asked.name).map(|server| json(&server))
}

/// Carries out an order; answered with how the server is when it is done.
pub(super) async fn order(
    office: &Office,
    peer: &Peer,
    asked: &Asked,
    path: &str,
) -> Result<Answer, CommandError> {
    let order = path.rsplit('/').next().unwrap_or_default();
    let found = find(office, &asked.name)?;
    let _opened = match order {
        "start" | "restart" => open_for_asker(office, peer, asked, &found)?,
        _ => None,
    };
    let server = found.key;
    if order == "login" {
        return office.control.login(&server).await.map(|link| json(&link));
    }
    if order == "logout" {
        setup::log_out(office, &server).await?;
        return one(office, asked);
    }
    let command = match order {
        "start" => Command::Start { server },
        "stop" => Command::Stop { server },
        "restart" => Command::Restart { server },
        "refresh" => Command::Refresh { server },
        "enable" => return set_enabled(office, peer, asked, &server, true).await,
        "disable" => return set_enabled(office, peer, asked, &server, false).await,
        _ => Command::Other,
    };
    match office.control.execute(command).await? {
        Outcome::Server { server } => Ok(json(&server)),
        _ => one(office, asked),
    }
}

/// Has a server that no client has be started as it is for the asker, whose next call then finds it running. Otherwise the
/// process would be nobody's, and the call would start another.
fn open_for_asker(
    office: &Office,
    peer: &Peer,
    asked: &Asked,
    server: &Server,
) -> Result<Option<Arc<Gateway>>, CommandError> {
    let environment = asked.environment()?;
    access::check_environment(peer, environment.as_ref())?;
    let is_a_clients = server
        .instances
        .iter()
        .any(|one| one.key.is_some() && one.clients.is_some_and(|clients| clients > 0));
    match environment {
        Some(environment) if !is_a_clients => {
            let gateway = office.program.open(None, Some(environment))?;
            // It is told who asks: a server offers more to a client that can be asked in turn.
            ask::introduce(&gateway);
            Ok(Some(gateway))
        }
        _ => Ok(None),
    }
}

/// Lets a server be used or not, in the config.
async fn set_enabled(
    office: &Office,
    peer: &Peer,
    asked: &Asked,
    server: &ServerId,
    enabled: bool,
) -> Result<Answer, CommandError> {
    let edit = Edit::SetEnabled { id: server.to_string(), enabled };
    let changed = office.program.edit_config(edit, asked.if_match(), config::undo(peer, asked)).await?;
    let mut answer = json(&find(office, &server.to_string())?);
    answer
        .extensions_mut()
        .insert(Revisions { before: changed.before.clone(), after: changed.revision.clone() });
    Ok(config::with_revision_of(answer, &changed))
}

/// Finds a server by its id, its schema and id, or the id its tools are prefixed with.
pub(super) fn find(office: &Office, name: &str) -> Result<Server, CommandError> {
    let servers = all(office);
    let wanted = ServerId::from(name);
    let is_meant = |server: &&Server| {
        server.key.id == wanted.id && (wanted.schema.is_none() || wanted.schema == server.key.schema)
            || server.key.id == name
    };
    let mut found: Vec<&Server> = servers.iter().filter(is_meant).collect();
    if found.is_empty() {
        found = servers.iter().filter(|server| server.exposed_id == name).collect();
    }
    match found.as_slice() {
        [one] => Ok((*one).clone()),
        [] => Err(unknown(name, &servers)),
        several => {
            let names: Vec<String> = several.iter().map(|server| format!("`{}`", server.key)).collect();
            Err(CommandError {
                hint: Some(format!("say which: {}", names.join(", "))),
                ..CommandError::new(
                    ErrorCode::AmbiguousServer,
                    format!("several schemas have a server '{name}'"),
                )
            })
        }
    }
}

fn unknown(name: &str, servers: &[Server]) -> CommandError {
    let ids = servers.iter().map(|server| server.key.id.as_str());
    let hint = did_you_mean(name, ids).unwrap_or_else(|| match servers {
        [] => "the config has no servers".to_owned(),
        _ => "`manifold list` shows those there are".to_owned(),
    });
    CommandError {
        hint: Some(hint),
        server: Some(ServerId::from(name)),
        ..CommandError::new(ErrorCode::UnknownServer, format!("there is no server '{name}'"))
    }
}
