//! What a client is told about us: the command that serves it, or our URL.

use std::net::IpAddr;

use manifold_config::{LoadOptions, Plug, Profile, load};

use super::super::verb::Verb;
use super::super::{asked_namespace, http};
use super::program::own_program;
use crate::cli::InstallArgs;
use crate::output::Failure;

/// Returns the entry's content for what the command was given.
pub(in super::super) fn of(args: &InstallArgs, verb: &Verb) -> Result<Plug, Failure> {
    if args.http { by_url(verb) } else { by_command(verb) }
}

fn by_command(verb: &Verb) -> Result<Plug, Failure> {
    let options = verb.options;
    let program = own_program(&options.environment)?;
    if let Some(warning) = program.warning {
        verb.output.remark(&warning);
    }
    let mut args = vec!["serve".to_owned(), "--stdio".to_owned()];
    if let Some(path) = &options.path {
        let path = options.environment.cwd.join(path);
        let path = path.to_str().ok_or_else(|| Failure::usage("the path of the config is no text"))?;
        args.extend(["--config".to_owned(), path.to_owned()]);
    }
    if let Some(namespace) = &verb.flags.namespace {
        if let Ok(config) = load(options) {
            asked_namespace(&config, Some(namespace)).map_err(Failure::usage)?;
        }
        args.extend(["--namespace".to_owned(), namespace.clone()]);
    }
    if let Some(profile) = profile(options) {
        args.extend(["--profile".to_owned(), profile.name().to_owned()]);
    }
    Ok(Plug::Stdio { command: program.path, args, env: Vec::new() })
}

/// The profile where it is not ours.
fn profile(options: &LoadOptions) -> Option<Profile> {
    options.profile.or(options.program_profile).filter(|profile| *profile != Profile::Manifold)
}

fn by_url(verb: &Verb) -> Result<Plug, Failure> {
    let mut config = load(verb.options).map_err(|error| Failure::config(error.to_string()))?;
    http::apply_flags(&mut config, verb.flags, &verb.options.environment).map_err(Failure::usage)?;
    let settings = &config.settings.http;
    if settings.port == 0 {
        return Err(Failure::usage("the port is chosen anew at every start")
            .hint("give `server.port` in the config, so that the URL stays"));
    }
    let scheme = if settings.tls.is_some() { "https" } else { "http" };
    let mut url = format!("{scheme}://{}:{}/mcp", reachable(&settings.host), settings.port);
    let namespace = asked_namespace(&config, verb.flags.namespace.as_deref()).map_err(Failure::usage)?;
    if let Some(namespace) = namespace {
        url = format!("{url}/{namespace}");
    }
    let bearer = ("Authorization".to_owned(), "Bearer ${MANIFOLD_TOKEN}".to_owned());
    let headers = if settings.token.is_some() { vec![bearer] } else { Vec::new() };
    if settings.token.is_some() {
        verb.output.remark(
            "the client sends the token that it finds in the variable MANIFOLD_TOKEN: set it for the client",
        );
    }
    Ok(Plug::Http { url, headers })
}

/// Returns the host as a client on this machine names it.
fn reachable(host: &str) -> String {
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) if address.is_unspecified() => "127.0.0.1".to_owned(),
        Ok(IpAddr::V6(address)) if address.is_unspecified() => "[::1]".to_owned(),
        Ok(IpAddr::V6(address)) => format!("[{address}]"),
        _ => host.to_owned(),
    }
}
