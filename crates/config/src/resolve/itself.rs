//! Whether a server is this gateway: the same program, led to the same config.

use std::path::{Path, PathBuf};

use super::Surroundings;
use crate::environment::Environment;
use crate::expand::expand_home;
use crate::model::{InheritEnv, ProcessSpec};
use crate::profile::{Profile, default_config_path};

/// The spellings of `--config`, and the variables that stand for it.
const CONFIG_FLAGS: [&str; 3] = ["--config", "--mcp-config", "-c"];
const CONFIG_VARIABLES: [&str; 2] = ["MANIFOLD_CONFIG", "MCP_CONFIG"];

/// Returns whether the server would be another of us reading the config it stands in.
pub(super) fn is_ourselves(spec: &ProcessSpec, config: Option<&Path>, start: Surroundings<'_>) -> bool {
    let environment = start.environment;
    let (Some(program), Some(config)) = (&environment.program, config) else { return false };
    let folder = environment.cwd.join(spec.cwd.as_deref().unwrap_or(Path::new("")));
    let path = spec.env.get("PATH").map(|path| path.expose());
    let path = path.or_else(|| environment.vars.get("PATH").map(String::as_str));
    let found = which::which_in(&spec.command, path, &folder).ok();
    if !found.is_some_and(|found| is_same(&found, program)) {
        return false;
    }
    let read = config_of(spec, environment, start.own).map(|read| folder.join(read));
    read.is_some_and(|read| is_same(&read, &start.own.cwd.join(config)))
}

/// Returns whether an address is the one we serve at ourselves.
pub(crate) fn is_own_address(url: &str, host: &str, port: Option<u16>) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let authority = authority.rsplit_once('@').map_or(authority, |(_, authority)| authority);
    let (named, given) = match authority.rsplit_once(':') {
        Some((named, digits)) if !digits.ends_with(']') => (named, digits.parse().ok()),
        _ => (authority, Some(if scheme.eq_ignore_ascii_case("https") { 443 } else { 80 })),
    };
    let named = named.trim_matches(['[', ']']);
    let here = named.eq_ignore_ascii_case("localhost")
        || named.eq_ignore_ascii_case(host)
        || named
            .parse()
            .is_ok_and(|address: std::net::IpAddr| address.is_loopback() || address.is_unspecified());
    // A port that is chosen for us is not known yet, and nobody can have written it.
    here && port.is_some_and(|port| port != 0 && given == Some(port))
}

/// Returns the config that such a gateway would read.
fn config_of(spec: &ProcessSpec, environment: &Environment, own: &Environment) -> Option<PathBuf> {
    let inherits = match &spec.inherit_env {
        InheritEnv::All => true,
        InheritEnv::None | InheritEnv::Named => false,
        InheritEnv::Only(names) => names.iter().any(|name| name == "MCP_CONFIG"),
    };
    // Of our own variables `MANIFOLD_…` are not passed on.
    let inherited = environment.vars.get("MCP_CONFIG").filter(|_| inherits).map(String::as_str);
    let variable =
        |name: &&str| spec.env.get(*name).map(|value| value.expose()).filter(|path| !path.is_empty());
    let named = value_of(&spec.args, &CONFIG_FLAGS)
        .or_else(|| CONFIG_VARIABLES.iter().find_map(variable))
        .or_else(|| inherited.filter(|path| !path.is_empty()));
    if let Some(named) = named {
        return Some(expand_home(named, environment).into());
    }
    let profile = value_of(&spec.args, &["--profile"])
        .or_else(|| spec.env.get("MANIFOLD_PROFILE").map(|name| name.expose()))
        .and_then(Profile::from_name)
        .or_else(|| Profile::from_program(&spec.command));
    default_config_path(profile.unwrap_or(Profile::Manifold), own)
}

/// Returns what one of these flags is given.
fn value_of<'a>(args: &'a [String], flags: &[&str]) -> Option<&'a str> {
    args.iter().enumerate().find_map(|(at, arg)| {
        if flags.contains(&arg.as_str()) {
            return args.get(at + 1).map(String::as_str);
        }
        let (flag, value) = arg.split_once('=')?;
        flags.contains(&flag).then_some(value)
    })
}

fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    real(one).is_some_and(|one| Some(one) == real(other))
}
