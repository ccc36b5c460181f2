//! One server of any format.

use std::time::Duration;

use super::namespaces::tell_unlikely_tool;
use super::settings::as_usize;
use super::{Context, itself, program, roots, transport};
use crate::expand::{FILE, input_variable};
use crate::fields::Fields;
use crate::file::{Node, Object, Value, join};
use crate::identity::ExposedIds;
use crate::keys::Kind;
use crate::keys::table::SERVER;
use crate::model::{EraSetting, Replicas, Server, ServerFault, ServerKey, ServerStart, Sharing, Transport};
use crate::profile::StartPolicy;
use crate::secrets::SECRET;
use crate::variables_used::{BY_NAME, inherits_everything, named_by};

const START_TIMEOUT: Duration = Duration::from_secs(60);
const MAX_CONCURRENCY: usize = 256;

/// One server as written, and where.
pub(super) struct Entry<'a> {
    pub(super) key: ServerKey,
    pub(super) node: &'a Node,
    pub(super) place: String,
    /// False in a disabled schema, where nobody minds a missing program.
    pub(super) in_use: bool,
}

/// Makes the server. One that cannot work is marked, and the problems tell why.
pub(super) fn resolve(entry: Entry<'_>, exposed: &mut ExposedIds<'_>, context: &mut Context<'_>) -> Server {
    let nothing = Object::default();
    let object = match &entry.node.value {
        Value::Object(object) => object,
        _ => &nothing,
    };
    let fields = Fields::new(object, &SERVER);
    let enabled = is_enabled(fields, &entry, context);
    let (transport, fault) = connection(fields, &entry, enabled && entry.in_use, context);
    let name = fields.string("name").filter(|name| !name.is_empty());
    let exposed_id = expose(&entry, exposed, context);
    tell_unlikely_tools(fields, &entry, &exposed_id, context);
    Server {
        exposed_id,
        display_name: name.unwrap_or_else(|| entry.key.id.clone()),
        enabled,
        transport,
        start: start(fields, context.settings.start),
        call_timeout: fields.duration("timeout").or_else(|| fields.duration("tool_timeout_sec")),
        start_timeout: fields
            .duration("startTimeout")
            .or_else(|| fields.duration("startup_timeout_sec"))
            .unwrap_or(START_TIMEOUT),
        idle_timeout: fields.duration("idleTimeout").filter(|timeout| !timeout.is_zero()),
        era: match fields.text("era").map(|era| era.value.as_str()) {
            Some("legacy") => EraSetting::Legacy,
            Some("modern") => EraSetting::Modern,
            _ => EraSetting::Auto,
        },
        shared: match sharing(fields) {
            // What each client has of its own, none of the others may use.
            _ if context.start.client.is_some() && inherits_everything(fields) => Sharing::PerClient,
            shared => shared,
        },
        share_across: fields.strings("shareAcross").unwrap_or_default(),
        variables: named_by(fields),
        max_concurrency: fields.number("maxConcurrency").map_or(MAX_CONCURRENCY, as_usize),
        replicas: match fields.text("replicas").map(|replicas| replicas.value.as_str()) {
            Some("one") => Replicas::One,
            _ => Replicas::Each,
        },
        trace: fields.flag("trace").unwrap_or(true),
        roots: roots::resolve(fields, context.environment),
        denied_tools: denied_tools(fields),
        allowed_tools: allowed_tools(fields),
        fault,
        key: entry.key,
    }
}

/// Returns how the server is reached and, if it cannot be, why.
fn connection(
    fields: Fields<'_>,
    entry: &Entry<'_>,
    in_use: bool,
    context: &mut Context<'_>,
) -> (Transport, Option<ServerFault>) {
    let (line, place) = (entry.node.line, entry.place.as_str());
    let recording = transport::Recording { id: &entry.key.id, config: context.path };
    let transport = match transport::resolve(fields, entry.node, recording, context.start) {
        Ok(transport) => transport,
        Err(wrong) => {
            context.problems.error(line, place, &wrong.what, Some(wrong.hint));
            let fault = match wrong.is_env_file {
                true => ServerFault::EnvFile { why: wrong.what },
                false => ServerFault::BadEntry { why: wrong.what },
            };
            return (transport::unreachable(), Some(fault));
        }
    };
    if !in_use {
        return (transport, None);
    }
    let mut fault = missing_variables(fields, entry, context);
    if let Transport::Remote(spec) = &transport
        && itself::is_own_address(&spec.url, &context.settings.http.host, context.own_port)
    {
        context.problems.error(line, place, ServerFault::Itself.message(), None);
        return (transport, Some(ServerFault::Itself));
    }
    if let Transport::Process(spec) = &transport
        && fault.is_none()
    {
        // Our own program that answers from a file is none that serves.
        let is_replay = fields.text("replay").is_some();
        if !is_replay && itself::is_ourselves(spec, context.path, context.start) {
            context.problems.error(line, place, ServerFault::Itself.message(), None);
            return (transport, Some(ServerFault::Itself));
        }
        program::warn_of_missing_directory(spec, line, place, context);
        if let Some(missing) = program::missing(fields, spec, context.environment) {
            let what = format!("cannot find the program `{}`", missing.command);
            context.problems.error(line, place, what, Some(missing.hint.clone()));
            fault = Some(ServerFault::NoSuchProgram { command: missing.command, hint: missing.hint });
        }
    }
    (transport, fault)
}

/// Reports every variable without a value and every question nobody asks; the first is the server's fault.
fn missing_variables(
    fields: Fields<'_>,
    entry: &Entry<'_>,
    context: &mut Context<'_>,
) -> Option<ServerFault> {
    let mut missing = Vec::new();
    for (name, node) in &fields.object.members {
        if SERVER.key(name).is_none_or(|key| matches!(key.kind, Kind::Unused)) {
            continue;
        }
        let credential = transport::holds_credentials(name);
        let by_name = BY_NAME.contains(&name.as_str());
        node.each_text(&join(&entry.place, name), &mut |text, line, place| {
            // Files of mcpmu name it whether it is used or not.
            if place.ends_with("oauth.client_secret") {
                return;
            }
            let unset =
                by_name && text.missing.is_empty() && !context.environment.vars.contains_key(&text.value);
            for variable in text.missing.iter().chain(unset.then_some(&text.value)) {
                if let Some(name) = variable.strip_prefix(SECRET) {
                    let (what, hint) = context.environment.secrets.why_missing(name);
                    context.problems.error(line, place, what.clone(), Some(hint.clone()));
                    missing.push(ServerFault::MissingSecret { what, hint });
                    continue;
                }
                let (what, hint) = match variable.strip_prefix(FILE) {
                    Some(file) => (format!("the file `{file}` cannot be read"), "create it".to_owned()),
                    None => (format!("variable `{variable}` is not set"), how_to_set(variable, &text.raw)),
                };
                context.problems.error(line, place, what, Some(hint));
                missing.push(ServerFault::MissingVariable { variable: variable.clone(), credential });
            }
            for input in &text.inputs {
                let fault = ServerFault::Unasked { input: input.clone(), variable: input_variable(input) };
                context.problems.error(line, place, fault.message(), None);
                missing.push(fault);
            }
        });
    }
    missing.into_iter().next()
}

/// A default can be given only where it is written as we write it.
fn how_to_set(variable: &str, raw: &str) -> String {
    if raw.contains("${") {
        format!("set it, or write `${{{variable}:-default}}`")
    } else {
        "set it".to_owned()
    }
}

/// Returns who shares the server, as written.
pub(super) fn sharing(fields: Fields<'_>) -> Sharing {
    match (fields.flag("shared"), fields.text("shared")) {
        (Some(true), _) => Sharing::Everybody,
        (Some(false), _) => Sharing::PerClient,
        (None, Some(_)) => Sharing::PerProject,
        (None, None) => Sharing::Default,
    }
}

fn is_enabled(fields: Fields<'_>, entry: &Entry<'_>, context: &mut Context<'_>) -> bool {
    let (enabled, disabled) = (fields.flag("enabled"), fields.flag("disabled"));
    if enabled.is_some() && enabled == disabled {
        let what = "`enabled` and `disabled` contradict each other";
        context.problems.warn(entry.node.line, &entry.place, what, Some("it counts as disabled".to_owned()));
    }
    enabled.unwrap_or(true) && !disabled.unwrap_or(false)
}

fn expose(entry: &Entry<'_>, exposed: &mut ExposedIds<'_>, context: &mut Context<'_>) -> String {
    let id = exposed.expose(&entry.key.id);
    if exposed.is_reserved(&entry.key.id) {
        let what = format!("`{}` is the prefix of our own tools", entry.key.id);
        let hint = format!("its tools are called `{id}…`");
        context.problems.warn(entry.node.line, &entry.place, what, Some(hint));
    }
    id
}

fn start(fields: Fields<'_>, policy: StartPolicy) -> ServerStart {
    let eager = fields.flag("eager").or_else(|| fields.flag("autostart"));
    match (eager, fields.flag("lazy"), policy) {
        (Some(true), _, _) => ServerStart::Eager,
        (Some(false), Some(false), _) => ServerStart::Manual,
        (Some(false), _, _) | (None, Some(true), _) => ServerStart::Lazy,
        (None, Some(false), _) | (None, None, StartPolicy::Eager) => ServerStart::Eager,
        (None, None, StartPolicy::Lazy) => ServerStart::Lazy,
    }
}

const DENIED: [&str; 3] = ["deniedTools", "disabledTools", "excludeTools"];
const ALLOWED: [&str; 3] = ["allowedTools", "includeTools", "tools"];
/// Stands for every tool.
const ALL: &str = "*";

fn tell_unlikely_tools(fields: Fields<'_>, entry: &Entry<'_>, exposed_id: &str, context: &mut Context<'_>) {
    let separator = context.settings.separator.clone();
    for name in DENIED.into_iter().chain(ALLOWED) {
        let line = fields.get(name).map_or(entry.node.line, |node| node.line);
        for tool in fields.strings(name).unwrap_or_default().iter().filter(|tool| *tool != ALL) {
            let place = (line, join(&entry.place, name));
            tell_unlikely_tool(tool, (exposed_id, &separator), (place.0, &place.1), context.problems);
        }
    }
}

fn denied_tools(fields: Fields<'_>) -> Vec<String> {
    let lists = DENIED.into_iter();
    lists.filter_map(|name| fields.strings(name)).flatten().collect()
}

/// Returns the tools that may be used at all; `*` stands for every one.
fn allowed_tools(fields: Fields<'_>) -> Option<Vec<String>> {
    if denied_tools(fields).iter().any(|tool| tool == ALL) {
        return Some(Vec::new());
    }
    let lists = ALLOWED.into_iter();
    let named: Vec<Vec<String>> = lists.filter_map(|name| fields.strings(name)).collect();
    let all = named.is_empty() || named.iter().flatten().any(|tool| tool == ALL);
    (!all).then(|| named.concat())
}
