//! Clients that are connected, and what the namespaces let them use.

use manifold_admin::{Client, Command, CommandError, ErrorCode};
use serde_json::json as object;

use super::Office;
use super::answer::{Answer, json};
use super::request::Asked;

pub(super) fn one(office: &Office, asked: &Asked) -> Result<Answer, CommandError> {
    find(office, &asked.name).map(|client| json(&client))
}

/// Ends a client's session.
pub(super) async fn disconnect(office: &Office, asked: &Asked) -> Result<Answer, CommandError> {
    let client = find(office, &asked.name)?;
    office.control.execute(Command::Disconnect { client: client.id }).await?;
    Ok(json(&object!({ "id": client.id })))
}

/// Returns the rules of one namespace and what they come to, or the rules of all.
pub(super) fn permissions(office: &Office, asked: &Asked) -> Result<Answer, CommandError> {
    let Some(wanted) = asked.query.get("namespace") else { return Ok(json(&office.control.permissions())) };
    let unknown =
        || CommandError::new(ErrorCode::UnknownNamespace, format!("there is no namespace '{wanted}'"));
    office.control.permissions_of(wanted).map(|one| json(&[one])).ok_or_else(unknown)
}

fn find(office: &Office, name: &str) -> Result<Client, CommandError> {
    let clients = office.control.snapshot().clients;
    let found = name.parse().ok().and_then(|id: u64| clients.into_iter().find(|client| client.id == id));
    found.ok_or_else(|| CommandError {
        hint: Some("`manifold clients` shows those that are connected".to_owned()),
        ..CommandError::new(ErrorCode::UnknownClient, format!("there is no client {name}"))
    })
}
