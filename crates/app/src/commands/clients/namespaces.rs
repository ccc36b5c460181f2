//! `ns`: namespaces, and the rules in them.

use manifold_admin::{
    ErrorCode, ItemKind, ItemPage, Method, Namespace, NamespaceDetail, NamespacePermissions, NamespaceRow,
    PermissionChange, RuleCounts, Server, Snapshot,
};
use manifold_admin_client::query;
use manifold_config::load;
use manifold_engine::configured_permissions;

use super::Verb;
use crate::cli::{ItemKindArg, RuleArgs};
use crate::commands::source::{Need, Source};
use crate::output::{Cell, Column, Exit, Failure, Form, Record, Suggestion, Table, escaped_line};

pub(super) fn list(verb: &Verb) -> Result<Exit, Failure> {
    let snapshot = verb.reach(Need::Files)?.snapshot()?;
    let rows: Vec<NamespaceRow> = snapshot.namespaces.iter().map(NamespaceRow::of).collect();
    let output = &verb.output;
    match output.form() {
        Form::Json => output.json(&rows),
        Form::Ids => {
            rows.iter().filter_map(|row| row.id.as_ref()).for_each(|id| _ = output.line(&escaped_line(id)))
        }
        Form::Text if rows.is_empty() => output.remark("no namespaces; all servers are served together"),
        Form::Text => output.table(&table(&rows)),
    }
    Ok(Exit::Ok)
}

pub(super) fn table(rows: &[NamespaceRow]) -> Table {
    let mut table = Table::new([
        Column::id("ID"),
        Column::id("STATE"),
        Column::number("TOOLS"),
        Column::number("CLIENTS"),
        Column::text("SERVERS"),
    ]);
    for row in rows {
        let state = match (row.enabled, row.served) {
            (false, _) => "disabled",
            (true, true) => "served",
            (true, false) => "idle",
        };
        table.row([
            Cell::new(row.id.as_deref().unwrap_or("(all)")),
            Cell::new(state),
            row.tools.map(|tools| tools.to_string()).into(),
            row.clients.map(|clients| clients.to_string()).into(),
            Cell::new(row.servers.join(", ")),
        ]);
    }
    table
}

pub(super) fn show(name: &str, verb: &Verb) -> Result<Exit, Failure> {
    let source = verb.reach(Need::Files)?;
    let snapshot = source.snapshot()?;
    let namespace = find(&snapshot, name)?;
    let rules = rules(namespace, &source, verb)?;
    let row = NamespaceRow::of(namespace);
    if verb.output.is_json() {
        let (permissions, answered_by) = (namespace.permissions.clone(), source.kind().to_owned());
        verb.output.json(&NamespaceDetail { row, permissions, rules, answered_by });
    } else {
        verb.output.record(&record(&row, namespace, rules.as_ref()));
    }
    Ok(Exit::Ok)
}

fn rules(
    namespace: &Namespace,
    source: &Source,
    verb: &Verb,
) -> Result<Option<NamespacePermissions>, Failure> {
    let Some(id) = &namespace.id else { return Ok(None) };
    let all: Vec<NamespacePermissions> = match source {
        Source::Gateway(_) => {
            let path = format!("/v1/permissions{}", query(&[("namespace", Some(id.as_str()))]));
            source.client()?.get(&path)?
        }
        Source::Files(_) => {
            let config = load(verb.options).map_err(|error| Failure::config(error.to_string()))?;
            configured_permissions(&config)
        }
    };
    Ok(all.into_iter().find(|one| one.namespace == *id))
}

fn record(row: &NamespaceRow, namespace: &Namespace, rules: Option<&NamespacePermissions>) -> Record {
    let permissions = &namespace.permissions;
    let mut record = Record::default();
    record.add("id", row.id.as_deref().unwrap_or("(all)"));
    record.add("name", &row.name);
    if !row.description.is_empty() {
        record.add("description", &row.description);
    }
    record.add("state", if row.enabled { "enabled" } else { "disabled" });
    record.add("servers", row.servers.join(", "));
    record.maybe("tools", row.tools.map(|tools| tools.to_string()));
    record.maybe("clients", row.clients.map(|clients| clients.to_string()));
    record.add("by default", if permissions.deny_by_default { "denied" } else { "allowed" });
    for (server, denies) in &permissions.server_defaults {
        record.add("of a server", format!("{server}: {}", if *denies { "denied" } else { "allowed" }));
    }
    for (name, counts) in [
        ("tool rules", permissions.tools),
        ("prompt rules", permissions.prompts),
        ("resource rules", permissions.resources),
    ] {
        if counts != RuleCounts::default() {
            record.add(name, format!("{} allow, {} deny", counts.allow, counts.deny));
        }
    }
    for rule in rules.into_iter().flat_map(|rules| &rules.rules) {
        let word = if rule.allow { "allow" } else { "deny" };
        record.add(word, format!("{}.{}", rule.server, rule.name));
    }
    record
}

/// Returns the namespace of this id, or of this name where only one has it.
pub(in crate::commands) fn find<'s>(snapshot: &'s Snapshot, name: &str) -> Result<&'s Namespace, Failure> {
    let all = &snapshot.namespaces;
    let by_id = all.iter().find(|namespace| namespace.id.as_deref() == Some(name));
    let mut by_name = all.iter().filter(|namespace| namespace.name.eq_ignore_ascii_case(name));
    let by_name = by_name.next().filter(|_| by_name.next().is_none());
    by_id.or(by_name).ok_or_else(|| {
        let ids = all.iter().filter_map(|namespace| namespace.id.as_deref());
        let hint = Suggestion::among(ids, name).or("`manifold ns` shows those there are");
        let code = ErrorCode::UnknownNamespace;
        Failure::new(Exit::of(code), code.as_str(), format!("there is no namespace '{name}'")).hint(hint)
    })
}

/// `ns allow`, `ns deny`.
pub(super) fn rule(args: &RuleArgs, allow: bool, verb: &Verb) -> Result<Exit, Failure> {
    let source = verb.reach_for_change(Need::Servers)?;
    let snapshot = source.snapshot()?;
    let namespace = find(&snapshot, &args.namespace)?.id.clone();
    let (server, name) = split(&snapshot.servers, &args.item).ok_or_else(|| not_split(&args.item))?;
    let change = PermissionChange {
        namespace: namespace.unwrap_or_default(),
        server: server.key.id.clone(),
        item: match args.kind {
            ItemKindArg::Tool => ItemKind::Tool,
            ItemKindArg::Prompt => ItemKind::Prompt,
            ItemKindArg::Resource => ItemKind::Resource,
        },
        name: name.to_owned(),
        allow: (!args.unset).then_some(allow),
    };
    check_known(&change, server, &source)?;
    source.client()?.send_raw(Method::Put, "/v1/permissions", Some(&change))?;
    if verb.output.is_json() {
        verb.output.json(&change);
    } else {
        let what = match change.allow {
            Some(true) => "is allowed",
            Some(false) => "is denied",
            None => "is as by default",
        };
        verb.output.line(&format!("{}.{} {what} in {}", change.server, change.name, change.namespace));
    }
    Ok(Exit::Ok)
}

/// Refuses a rule that would hold for nothing: by a name that its server is known not to have.
fn check_known(change: &PermissionChange, server: &Server, source: &Source) -> Result<(), Failure> {
    let kind = match change.item {
        ItemKind::Tool => "tool",
        ItemKind::Prompt => "prompt",
        _ => return Ok(()),
    };
    let is_listed = server.lists.is_some() || server.saved.is_some();
    if change.allow.is_none() || change.name.contains('*') || !is_listed {
        return Ok(());
    }
    let id = &change.server;
    let name = format!("{id}.{}", change.name);
    let namespace = Some(change.namespace.as_str()).filter(|namespace| !namespace.is_empty());
    let query = query(&[("namespace", namespace), ("name", Some(name.as_str()))]);
    let found: Result<ItemPage, Failure> =
        source.client()?.get(&format!("/v1/{kind}s{query}")).map_err(Failure::from);
    match found {
        // Whatever else there is to say about it is none of a rule's business.
        Err(failure) if failure.code == ErrorCode::UnknownItem.as_str() => {
            let more = format!(
                "`manifold {kind}s --server {id}` shows those there are; a rule for `{name}*` holds for those to come, too"
            );
            Err(if failure.hint.is_some() { failure } else { failure.hint(more) })
        }
        _ => Ok(()),
    }
}

/// Says that an item begins with no server there is.
fn not_split(item: &str) -> Failure {
    let hint = "write server.tool; `manifold list` shows the servers";
    let cut =
        ["__", ".", "/"].into_iter().filter_map(|cut| item.split_once(cut)).min_by_key(|(id, _)| id.len());
    match cut {
        Some((server, _)) if !server.is_empty() => {
            let code = ErrorCode::UnknownServer;
            Failure::new(Exit::of(code), code.as_str(), format!("there is no server '{server}'")).hint(hint)
        }
        _ => Failure::usage(format!("`{item}` does not say whose it is")).hint(hint),
    }
}

/// Cuts `server.tool`, `server/tool` or `server__tool` where the name of a server ends; the longest name wins.
fn split<'s, 'n>(servers: &'s [Server], item: &'n str) -> Option<(&'s Server, &'n str)> {
    let rest = |server: &'s Server| {
        let names = [server.key.to_string(), server.key.id.clone(), server.exposed_id.clone()];
        let cut = |name: &String| {
            let rest = item.strip_prefix(name.as_str())?;
            let own = rest.strip_prefix("__").or_else(|| rest.strip_prefix(['.', '/']))?;
            (!own.is_empty()).then_some((server, own))
        };
        names.iter().filter_map(cut).min_by_key(|(_, own)| own.len())
    };
    servers.iter().filter_map(rest).min_by_key(|(_, own)| own.len())
}
