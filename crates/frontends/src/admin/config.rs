//! The config: its text, what would come of another, and changes of it that keep all else as it is written.

use manifold_admin::{
    CommandError, ConfigChanged, ConfigText, ItemKind, PermissionChange, ServerRename, UNDO_BY_ASKER,
    UNDO_HEADER,
};
use manifold_config::{Edit, PermissionKind};
use serde_json::value::RawValue;

use super::answer::{Answer, Revisions, json, with_revision};
use super::peer::{Peer, Scope};
use super::request::{Asked, bad, unfit};
use super::{Office, Undo};

pub(super) async fn read(office: &Office) -> Result<Answer, CommandError> {
    let file = office.program.config().await?;
    Ok(with_revision(json(&file), &file.revision))
}

pub(super) async fn check(office: &Office, asked: &Asked) -> Result<Answer, CommandError> {
    let ConfigText { text } = asked.json()?;
    Ok(json(&office.program.check_config(text).await))
}

pub(super) async fn write(office: &Office, peer: &Peer, asked: &Asked) -> Result<Answer, CommandError> {
    let ConfigText { text } = asked.json()?;
    edit(office, peer, asked, Edit::Text(text)).await
}

pub(super) async fn put_server(office: &Office, peer: &Peer, asked: &Asked) -> Result<Answer, CommandError> {
    let entry: &RawValue = serde_json::from_slice(&asked.body).map_err(|error| unfit(&error))?;
    if !entry.get().starts_with('{') {
        return Err(bad("the body must be a server's entry, a JSON object"));
    }
    edit(office, peer, asked, Edit::PutServer { id: asked.name.clone(), entry: entry.get().to_owned() }).await
}

pub(super) async fn remove_server(
    office: &Office,
    peer: &Peer,
    asked: &Asked,
) -> Result<Answer, CommandError> {
    edit(office, peer, asked, Edit::RemoveServer { id: asked.name.clone() }).await
}

pub(super) async fn rename_server(
    office: &Office,
    peer: &Peer,
    asked: &Asked,
) -> Result<Answer, CommandError> {
    let ServerRename { to } = asked.json()?;
    if to.is_empty() {
        return Err(bad("`to` says what the server is called from now on; it may not be missing"));
    }
    edit(office, peer, asked, Edit::RenameServer { id: asked.name.clone(), to }).await
}

/// Allows or denies one item in a namespace.
pub(super) async fn permit(office: &Office, peer: &Peer, asked: &Asked) -> Result<Answer, CommandError> {
    let PermissionChange { namespace, server, item, name, allow } = asked.json()?;
    let kind = match item {
        ItemKind::Tool => PermissionKind::Tool,
        ItemKind::Prompt => PermissionKind::Prompt,
        ItemKind::Resource => PermissionKind::Resource,
        ItemKind::Other => return Err(bad("`item` must be `tool`, `prompt` or `resource`")),
    };
    if [&namespace, &server, &name].into_iter().any(String::is_empty) {
        return Err(bad("`namespace`, `server` and `name` say whose rule it is; none may be missing"));
    }
    edit(office, peer, asked, Edit::SetPermission { namespace, server, kind, name, allow }).await
}

async fn edit(office: &Office, peer: &Peer, asked: &Asked, edit: Edit) -> Result<Answer, CommandError> {
    let changed = office.program.edit_config(edit, asked.if_match(), undo(peer, asked)).await?;
    let mut answer = json(&changed);
    answer
        .extensions_mut()
        .insert(Revisions { before: changed.before.clone(), after: changed.revision.clone() });
    Ok(with_revision_of(answer, &changed))
}

/// Returns who keeps the record of a change. Only the user's own commands are believed that they do.
pub(super) fn undo(peer: &Peer, asked: &Asked) -> Undo {
    match asked.header(UNDO_HEADER) {
        Some(UNDO_BY_ASKER) if peer.scope == Scope::Socket => Undo::Asker,
        _ => Undo::Program,
    }
}

/// Names the revision that a change has led to.
pub(super) fn with_revision_of(answer: Answer, changed: &ConfigChanged) -> Answer {
    with_revision(answer, &changed.revision)
}
