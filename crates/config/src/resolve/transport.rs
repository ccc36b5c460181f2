//! How a server is reached: a program, an address, or a part of ourselves.

mod remote;

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::env_file;
use crate::check::to_write;
use crate::environment::Environment;
use crate::expand::Text;
use crate::fields::Fields;
use crate::file::{Node, Value};
use crate::keys::table::SERVER;
use crate::keys::{Verdict, scalar};
use crate::meant::respelled;
use crate::model::{Builtin, InheritEnv, ProcessDialect, ProcessSpec, RemoteKind, Transport};
use crate::secret::Secret;
use remote::remote;

/// Why an entry cannot be used, and what to do about it.
pub(super) struct Wrong {
    pub(super) what: String,
    pub(super) hint: String,
}

fn wrong(what: impl Into<String>, hint: &str) -> Wrong {
    Wrong { what: what.into(), hint: hint.to_owned() }
}

/// The names of the key that says how a server speaks.
const TYPE_KEYS: [&str; 4] = ["type", "kind", "transport", "transportType"];
const ADDRESSES: [&str; 3] = ["url", "serverUrl", "httpUrl"];

/// Keys whose values are the names of variables.
pub(super) const BY_NAME: [&str; 2] = ["bearer_token_env_var", "env_http_headers"];

/// Tells whether a key's values may hold the credentials of a remote server.
pub(super) fn holds_credentials(key: &str) -> bool {
    ADDRESSES.contains(&key) || BY_NAME.contains(&key) || matches!(key, "headers" | "http_headers")
}

/// Reads the transport of one entry.
pub(super) fn resolve(
    fields: Fields<'_>,
    node: &Node,
    environment: &Environment,
) -> Result<Transport, Wrong> {
    refuse_wrong_kinds(fields, node)?;
    let filled = |name: &str| fields.text(name).filter(|text| !text.value.is_empty());
    let address = ADDRESSES.into_iter().find_map(|name| Some((name, filled(name)?)));
    let said = TYPE_KEYS.into_iter().find_map(filled).map(|text| text.value.as_str());
    match (filled("builtin"), filled("command"), address) {
        (Some(name), None, None) => builtin(name),
        (Some(_), ..) => Err(wrong("has `builtin` beside `command` or `url`", "keep one")),
        (None, Some(_), Some((name, _))) => {
            Err(wrong(format!("has both `command` and `{name}`"), "keep one"))
        }
        (None, None, None) => Err(wrong("has neither `command` nor `url`", "add one of them")),
        (None, Some(command), None) => match said {
            None | Some("stdio") => process(fields, command, ProcessDialect::Mcp, environment),
            Some("litemcp") => process(fields, command, ProcessDialect::LiteMcp, environment),
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
            remote(fields, kind, name, url, environment)
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
        env: BTreeMap::new(),
        inherit_env: InheritEnv::None,
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
    environment: &Environment,
) -> Result<Transport, Wrong> {
    let args = fields.items("args").unwrap_or_default().iter();
    let inherit_env = match (fields.flag("inheritEnv"), fields.strings("inheritEnv")) {
        (Some(false), _) => InheritEnv::None,
        (_, Some(names)) => InheritEnv::Only(names),
        _ => InheritEnv::All,
    };
    let env = variables(fields, &inherit_env, environment)?;
    let limit = |name: &str| fields.number(name).map_or(0, |most| u32::try_from(most).unwrap_or(u32::MAX));
    Ok(Transport::Process(ProcessSpec {
        dialect,
        command: command.with_home(environment),
        args: args.filter_map(|item| with_home(item, environment)).collect(),
        cwd: fields.path("cwd", environment).map(PathBuf::from),
        env,
        inherit_env,
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
    environment: &Environment,
) -> Result<BTreeMap<String, Secret>, Wrong> {
    let mut variables: BTreeMap<_, _> = pairs(fields, "env", environment)
        .into_iter()
        .map(|(name, value)| {
            let value = Secret::of_variable(&name, value);
            (name, value)
        })
        .collect();
    if let Some(file) = fields.path("envFile", environment) {
        let named = env_file::read(&environment.cwd.join(file))
            .map_err(|why| wrong(format!("its `envFile` {why}"), "correct it, or remove `envFile`"))?;
        for (name, value) in named {
            variables.entry(name).or_insert(value);
        }
    }
    if let InheritEnv::Only(names) = inherit_env {
        for name in names.iter().filter(|name| name.starts_with("MANIFOLD_")) {
            if let Some(value) = environment.vars.get(name) {
                variables.entry(name.clone()).or_insert_with(|| Secret::of_variable(name, value.clone()));
            }
        }
    }
    Ok(variables)
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
