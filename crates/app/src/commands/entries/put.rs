//! Puts servers into the config: all of them in one step, or none.

use std::path::Path;

use manifold_config::{Config, Edit, Format, FoundServer, servers_in};
use manifold_setup::StoredSecret;

use super::entry::Entry;
use super::pasted::Given;
use super::report::{Report, Said};
use crate::cli::{PutArgs, SharedArg};
use crate::commands::config_change::{ConfigWriter, Missing, Purpose};
use crate::commands::record::Record;
use crate::commands::verb::Verb;
use crate::config_editor::Base;
use crate::output::{Exit, Failure};

/// A server that is fit to be put in.
struct Ready {
    id: String,
    entry: Entry,
    said: Said,
    remarks: Vec<String>,
}

/// Puts what was given into the config; `stored` are the secrets that were stored for it.
pub(super) fn put(
    given: Vec<Given>,
    args: &PutArgs,
    name: &'static str,
    stored: Vec<StoredSecret>,
    verb: &Verb,
) -> Result<Exit, Failure> {
    let ready: Vec<Ready> =
        given.into_iter().map(|one| prepared(one, args, verb)).collect::<Result<_, _>>()?;
    if let Some(twice) = ready
        .iter()
        .enumerate()
        .find_map(|(at, one)| ready.iter().skip(at + 1).any(|other| other.id == one.id).then_some(&one.id))
    {
        return Err(Failure::usage(format!("two servers would be called '{twice}'"))
            .hint("add them one by one, each with a name"));
    }
    let ids: Vec<&str> = ready.iter().map(|one| one.id.as_str()).collect();
    let target = ids.join(" ");
    let writer = ConfigWriter::reach(verb)?;
    let mut record = Record::of(verb, name, &format!("{name} {target}"))?;
    record.stored(stored)?;
    let purpose = Purpose { verb: name, target, is_dry_run: args.dry_run };
    let plan = |base: &Base| plan(&ready, args, &writer, base, verb);
    let changed = writer.change(&purpose, Missing::Nothing, &mut record, |base| {
        Ok(plan(base)?.into_iter().flat_map(|(_, edits)| edits).collect())
    });
    record.finish(&verb.output);
    let changed = changed?;
    let mut report = Report::new(&changed, writer.kind(), args.dry_run);
    for (one, (fate, _)) in ready.iter().zip(plan(&changed.base)?) {
        report.server(&one.id, fate, &one.said);
        one.remarks.iter().for_each(|remark| verb.output.remark(&format!("{}: {remark}", one.id)));
    }
    if verb.flags.namespace.is_none() && has_namespaces(writer.config(&changed.base)?.as_ref()) {
        let ids = ids.join(", ");
        verb.output.remark(&format!(
            "no namespace names {ids}, so that no client of one sees it; `--namespace ID` puts it into one"
        ));
    }
    report.show(&verb.output);
    Ok(Exit::Ok)
}

/// What becomes of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Added,
    Replaced,
    Same,
}

/// Returns what becomes of each server, and by which edits.
fn plan(
    ready: &[Ready],
    args: &PutArgs,
    writer: &ConfigWriter,
    base: &Base,
    verb: &Verb,
) -> Result<Vec<(Fate, Vec<Edit>)>, Failure> {
    let config = writer.config(base)?;
    let is_of_schemas = config.as_ref().is_some_and(|config| config.source.format == Format::Schemas);
    let namespace = verb.flags.namespace.as_deref();
    let mut planned = Vec::new();
    for one in ready {
        let id = match namespace.filter(|_| is_of_schemas) {
            Some(schema) => format!("{schema}/{}", one.id),
            None => one.id.clone(),
        };
        if id.contains('/') && !is_of_schemas {
            check_name(&id)?;
        }
        let edit = Edit::PutServer { id: id.clone(), entry: one.entry.text() };
        let is_there = config.as_ref().is_some_and(|config| has(config, &id));
        let fate = match is_there {
            false => Fate::Added,
            true if writer.is_so_already(base, &edit)? => Fate::Same,
            true if args.force => Fate::Replaced,
            true => return Err(taken(&id)),
        };
        let mut edits = Vec::new();
        if fate != Fate::Same {
            edits.push(edit);
        }
        if let Some(namespace) = namespace.filter(|_| !is_of_schemas) {
            edits.push(Edit::JoinNamespace { namespace: namespace.to_owned(), server: id });
        }
        planned.push((fate, edits));
    }
    Ok(planned)
}

fn has(config: &Config, id: &str) -> bool {
    config.servers.iter().any(|server| {
        let schema = server.key.schema.as_deref();
        match schema {
            Some(schema) => format!("{schema}/{}", server.key.id) == id,
            None => server.key.id == id,
        }
    })
}

fn has_namespaces(config: Option<&Config>) -> bool {
    config.is_some_and(|config| config.source.format != Format::Schemas && !config.namespaces.is_empty())
}

fn taken(id: &str) -> Failure {
    Failure::new(Exit::Usage, "bad-request", format!("there is a server '{id}' already, and it is another"))
        .hint("give this one another name, or replace that one with `--force`")
}

/// Gives a server its name and what the options say of all kinds of servers.
fn prepared(given: Given, args: &PutArgs, verb: &Verb) -> Result<Ready, Failure> {
    let Given { name, mut entry, mut remarks } = given;
    let id = name.ok_or_else(|| {
        Failure::usage("no name can be found in it").hint("give it one: `manifold add NAME -- COMMAND…`")
    })?;
    check_written(&id)?;
    if let Some(shared) = args.shared {
        match shared {
            SharedArg::True => entry.set("shared", &true),
            SharedArg::False => entry.set("shared", &false),
            SharedArg::Project => entry.set("shared", &"project"),
        }
    }
    if args.disabled {
        entry.set("disabled", &true);
    }
    let seen = seen(&id, &entry, verb)?;
    if !entry.has("shared") && seen.as_ref().is_some_and(FoundServer::is_known_shared) {
        entry.set("shared", &true);
    }
    let mut hidden = Vec::new();
    for secret in seen.iter().flat_map(|seen| &seen.secrets) {
        let (place, name) = (&secret.place, &secret.name_hint);
        remarks.push(format!(
            "{place} stands in the config as it is; `manifold secret set {name}` keeps it out, and `${{secret:{name}}}` \
             is written instead"
        ));
        hidden.push(place.clone());
    }
    let said = Said::of(&entry, &hidden);
    Ok(Ready { id, entry, said, remarks })
}

/// Looks at an entry as `import` would: for secrets, and for what is known of the server.
fn seen(id: &str, entry: &Entry, verb: &Verb) -> Result<Option<FoundServer>, Failure> {
    let mut servers = Entry::default();
    servers.set(id, entry);
    let mut file = Entry::default();
    file.set("mcpServers", &servers);
    let found = servers_in(&file.text(), Path::new("config.json"), None, &verb.options.environment);
    Ok(found.map_err(|error| Failure::config(error.to_string()))?.into_iter().next())
}

/// Refuses a name that could not be typed again, or a schema before it.
fn check_written(id: &str) -> Result<(), Failure> {
    match id.split_once('/') {
        Some((schema, name)) => check_name(schema).and_then(|()| check_name(name)),
        None => check_name(id),
    }
}

/// Refuses a name that could not be typed again.
pub(super) fn check_name(id: &str) -> Result<(), Failure> {
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || "'\"`\\$,/".contains(c);
    let is_path = matches!(id, "." | "..");
    if id.is_empty() || id.starts_with('-') || id.len() > 128 || id.contains(is_odd) || is_path {
        return Err(Failure::usage(format!("'{id}' cannot be the name of a server"))
            .hint("use letters, digits, `-` and `_`"));
    }
    Ok(())
}
