//! How a server is reached: a program, an address, or a part of ourselves.

mod remote;
mod replay;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::server::sharing;
use super::{Surroundings, env_file};
use crate::check::to_write;
use crate::client_environment::{base, basics};
use crate::environment::Environment;
use crate::expand::Text;
use crate::fields::Fields;
use crate::file::{Node, Value};
use crate::keys::table::SERVER;
use crate::keys::{Verdict, scalar};
use crate::meant::respelled;
use crate::model::{Builtin, InheritEnv, ProcessDialect, ProcessSpec, RemoteKind, Sharing, Transport};
use crate::secret::Secret;
use crate::variables_used::{BY_NAME, named_by};
use remote::remote;
pub(super) use replay::Recording;
use replay::replay;

/// Why an entry cannot be used, and what to do about it.
pub(super) struct Wrong {
    pub(super) what: String,
    pub(super) hint: String,
    /// Not the entry is wrong, but the file of variables it names.
    pub(super) is_env_file: bool,
}

fn wrong(what: impl Into<String>, hint: &str) -> Wrong {
    Wrong { what: what.into(), hint: hint.to_owned(), is_env_file: false }
}

/// The names of the key that says how a server speaks.
const TYPE_KEYS: [&str; 4] = ["type", "kind", "transport", "transportType"];
const ADDRESSES: [&str; 3] = ["url", "serverUrl", "httpUrl"];

/// Tells whether a key's values may hold the credentials of a remote server.
pub(super) fn holds_credentials(key: &str) -> bool {
    ADDRESSES.contains(&key) || BY_NAME.contains(&key) || matches!(key, "headers" | "http_headers")
}

/// Reads the transport of one entry.
pub(super) fn resolve(
    fields: Fields<'_>,
    node: &Node,
    recording: Recording<'_>,
    start: Surroundings<'_>,
) -> Result<Transport, Wrong> {
    refuse_wrong_kinds(fields, node)?;
    let filled = |name: &str| fields.text(name).filter(|text| !text.value.is_empty());
    let address = ADDRESSES.into_iter().find_map(|name| Some((name, filled(name)?)));
    let said = TYPE_KEYS.into_iter().find_map(filled).map(|text| text.value.as_str());
    if let Some(file) = filled("replay") {
        let others = [filled("builtin"), filled("command"), address.map(|(_, address)| address)];
        if others.iter().any(Option::is_some) {
            return Err(wrong("has `replay` beside `command`, `url` or `builtin`", "keep one"));
        }
        return replay(fields, file, recording, start);
    }
    match (filled("builtin"), filled("command"), address) {
        (Some(name), None, None) => builtin(name),
        (Some(_), ..) => Err(wrong("has `builtin` beside `command` or `url`", "keep one")),
        (None, Some(_), Some((name, _))) => {
            Err(wrong(format!("has both `command` and `{name}`"), "keep one"))
        }
        (None, None, None) => Err(wrong("has neither `command` nor `url`", "add one of them")),
        (None, Some(command), None) => match said {
            None | Some("stdio") => process(fields, command, ProcessDialect::Mcp, start),
            Some("litemcp") => process(fields, command, ProcessDialect::LiteMcp, start),
            Some(other) => Err(wrong(
                format!("has a `command` but is of type `{other}`"),
                "give a `url`, or remove the type",
            )),
        },
        (None, None, Some((name, url))) => {
            let kind = match said {
                Some("stdio") => {
                    return Err(wrong(
                        "has a `url` but is of type `stdio`",
                        "give a `command`, or remove the type",
                    ));
                }
                Some("litemcp") => RemoteKind::LiteMcp,
                Some("sse") => RemoteKind::Sse,
                Some(_) => RemoteKind::StreamableHttp,
                None if name == "httpUrl" => RemoteKind::StreamableHttp,
                None => RemoteKind::Auto,
            };
            remote(fields, kind, name, url, start.environment)
        }
    }
}

/// Returns what stands in for the transport of an entry that has none.
pub(super) fn unreachable() -> Transport {
    Transport::Process(ProcessSpec {
        dialect: ProcessDialect::Mcp,
        command: String::new(),
        args: Vec::new(),
        cwd: None,
        in_client_folder: false,
        env: BTreeMap::new(),
        environment: None,
        inherit_env: InheritEnv::None,
        withheld: BTreeSet::new(),
        restart: false,
        restart_delay: None,
        memory_limit_mib: 0,
        process_limit: 0,
    })
}

/// Running a program without the arguments it was meant to have is worse than not running it.
fn refuse_wrong_kinds(fields: Fields<'_>, node: &Node) -> Result<(), Wrong> {
    if !matches!(node.value, Value::Object(_)) {
        return Err(wrong(format!("expected an object, found {}", node.value.describe()), "write `{ … }`"));
    }
    for key in SERVER.keys.iter().filter(|key| key.vital) {
        if let Some(node) = fields.present(key.name)
            && let Verdict::Wrong(what) = key.kind.judge(node)
        {
            return Err(wrong(format!("`{}`: {what}", key.name), &to_write(key)));
        }
    }
    for name in fields.object.members.keys() {
        if let Some(meant) = respelled(&SERVER, name) {
            return Err(wrong(format!("has both `{meant}` and `{name}`"), &format!("keep `{meant}`")));
        }
    }
    Ok(())
}

fn builtin(name: &Text) -> Result<Transport, Wrong> {
    match name.value.as_str() {
        "time" => Ok(Transport::Builtin(Builtin::Time)),
        _ => Err(wrong(format!("there is no builtin `{}`", name.raw), "the builtins are: `time`")),
    }
}

fn process(
    fields: Fields<'_>,
    command: &Text,
    dialect: ProcessDialect,
    start: Surroundings<'_>,
) -> Result<Transport, Wrong> {
    let environment = start.environment;
    let args = fields.items("args").unwrap_or_default().iter();
    let inherit_env = match (fields.flag("inheritEnv"), fields.strings("inheritEnv")) {
        (Some(false), _) => InheritEnv::None,
        (_, Some(names)) => InheritEnv::Only(names),
        (None, None) if start.client.is_some() => InheritEnv::Named,
        _ => InheritEnv::All,
    };
    let env = variables(fields, &inherit_env, start)?;
    let cwd = fields.path("cwd", environment).map(PathBuf::from);
    let limit = |name: &str| fields.number(name).map_or(0, |most| u32::try_from(most).unwrap_or(u32::MAX));
    Ok(Transport::Process(ProcessSpec {
        dialect,
        command: command.with_home(environment),
        args: args.filter_map(|item| with_home(item, environment)).collect(),
        in_client_folder: start.client.is_some() && cwd.is_none(),
        cwd: folder(cwd, sharing(fields), start),
        environment: whole_environment(fields, &inherit_env, &env, start),
        env,
        inherit_env,
        withheld: start.withheld.clone(),
        restart: fields.flag("restart").unwrap_or(true),
        restart_delay: fields.duration("restartDelay"),
        memory_limit_mib: limit("memoryLimit"),
        process_limit: limit("processLimit"),
    }))
}

/// Returns the server's own variables, those of its file, and those of ours that are named for it: by the time it starts,
/// our process has them no more (M10).
fn variables(
    fields: Fields<'_>,
    inherit_env: &InheritEnv,
    start: Surroundings<'_>,
) -> Result<BTreeMap<String, Secret>, Wrong> {
    let environment = start.environment;
    let mut variables: BTreeMap<_, _> = pairs(fields, "env", environment)
        .into_iter()
        .map(|(name, value)| {
            let value = Secret::of_variable(&name, value);
            (name, value)
        })
        .collect();
    if let Some(file) = fields.path("envFile", environment) {
        let named = env_file::read(&environment.cwd.join(file))
            .map_err(|why| wrong(format!("its `envFile` {why}"), "correct it, or remove `envFile`"))
            .map_err(|wrong| Wrong { is_env_file: true, ..wrong })?;
        for (name, value) in named {
            variables.entry(name).or_insert(value);
        }
    }
    if let InheritEnv::Only(names) = inherit_env {
        let is_wiped = |name: &&String| name.starts_with("MANIFOLD_") || start.withheld.contains(*name);
        for name in names.iter().filter(is_wiped) {
            if let Some(value) = environment.vars.get(name) {
                variables.entry(name.clone()).or_insert_with(|| Secret::of_variable(name, value.clone()));
            }
        }
    }
    Ok(variables)
}

/// Returns the folder a server is started in. That of a client is named, for the daemon is in none.
fn folder(cwd: Option<PathBuf>, shared: Sharing, start: Surroundings<'_>) -> Option<PathBuf> {
    let Some(client) = start.client else { return cwd };
    Some(match cwd {
        Some(cwd) => client.cwd.join(cwd),
        None if shared == Sharing::PerProject => client.project.clone(),
        None => client.cwd.clone(),
    })
}

/// Returns all the variables of a server that is started for a client: a base that is alike for everybody, the client's
/// `PATH`, what of the client's is named, and its own.
fn whole_environment(
    fields: Fields<'_>,
    inherit_env: &InheritEnv,
    env: &BTreeMap<String, Secret>,
    start: Surroundings<'_>,
) -> Option<BTreeMap<String, Secret>> {
    let client = start.client?;
    // It tells nothing of the client, and messages would be worth little without it.
    let plain = |(name, value): (&String, &String)| (name.clone(), Secret::shown(value.clone()));
    let mut all: BTreeMap<String, Secret> = match inherit_env {
        InheritEnv::None => basics(start.own).map(plain).collect(),
        _ => base(start.own).map(plain).collect(),
    };
    if *inherit_env == InheritEnv::All {
        let inherited = client.values.iter().filter(|(name, _)| !start.withheld.contains(*name));
        all.extend(inherited.map(plain));
    }
    all.extend(client.values.get_key_value("PATH").map(plain));
    let named: Vec<String> = match inherit_env {
        InheritEnv::None => Vec::new(),
        InheritEnv::Only(names) => names.clone(),
        InheritEnv::All | InheritEnv::Named => named_by(fields).into_iter().collect(),
    };
    for name in named {
        if let Some(value) = client.values.get(&name) {
            let value = Secret::of_variable(&name, value.clone());
            all.insert(name, value);
        }
    }
    // Of our own variables only those are passed on that are asked for, which `env` has.
    all.retain(|name, _| !name.starts_with("MANIFOLD_"));
    all.extend(env.iter().map(|(name, value)| (name.clone(), value.clone())));
    Some(all)
}

fn pairs(fields: Fields<'_>, name: &str, environment: &Environment) -> Vec<(String, String)> {
    let members = fields.object(name).into_iter().flat_map(|object| &object.members);
    members.filter_map(|(name, node)| Some((name.clone(), with_home(node, environment)?))).collect()
}

fn with_home(node: &Node, environment: &Environment) -> Option<String> {
    match &node.value {
        Value::Text(text) => Some(text.with_home(environment)),
        _ => scalar(node),
    }
}
