//! From the file as written to the checked `Config`. Every problem is reported, not only the first.

mod door;
mod env_file;
mod itself;
mod namespaces;
mod program;
mod roots;
mod schemas;
mod server;
mod settings;
mod transport;
mod withheld;

#[cfg(test)]
mod tests;

pub(crate) use itself::is_own_address;
pub(crate) use withheld::withheld;

use std::collections::BTreeSet;
use std::path::Path;

use crate::check::check;
use crate::client_environment::ClientEnvironment;
use crate::clients;
use crate::environment::Environment;
use crate::fields::Fields;
use crate::file::Object;
use crate::identity::ExposedIds;
use crate::keys::Kind;
use crate::keys::table::TOP;
use crate::load::OwnPort;
use crate::model::{Config, Format, Namespace, Replicas, Server, ServerKey, Settings, Source};
use crate::problem::Problems;
use crate::profile::Profile;
use crate::secrets::SECRET;

/// Where the text came from, and what was said beside it.
#[derive(Clone, Copy)]
pub(crate) struct Origin<'a> {
    pub(crate) path: Option<&'a Path>,
    /// Whose file it is, if it is another program's, and what it calls its servers.
    pub(crate) client: Option<&'static str>,
    pub(crate) root: Option<&'a str>,
    /// Set where the keys do not decide.
    pub(crate) format: Option<Format>,
    pub(crate) profile: Option<Profile>,
    pub(crate) program_profile: Option<Profile>,
    pub(crate) own_port: Option<OwnPort>,
    pub(crate) start: Surroundings<'a>,
}

/// What every part of the file is resolved with.
struct Context<'a> {
    /// The file all this stands in.
    path: Option<&'a Path>,
    /// Where we serve over HTTP ourselves, if we do.
    own_port: Option<u16>,
    environment: &'a Environment,
    start: Surroundings<'a>,
    settings: &'a Settings,
    problems: &'a mut Problems,
}

/// What servers are started in.
#[derive(Clone, Copy)]
pub(crate) struct Surroundings<'a> {
    /// Ours, or the client's if there is one.
    pub(crate) environment: &'a Environment,
    /// Ours, which settings are read with.
    pub(crate) own: &'a Environment,
    pub(crate) client: Option<&'a ClientEnvironment>,
    /// Variables that no server inherits.
    pub(crate) withheld: &'a BTreeSet<String>,
}

/// What is wrong with a server that is meant to run once, among replicas that share no store.
pub const RUNS_AT_EACH: &str = "is `one`, and it runs at each replica: they share no Redis";

/// Makes the configuration, or gives back the problems when going on would be unsafe.
pub(crate) fn resolve(
    document: &Object,
    origin: Origin<'_>,
    mut problems: Problems,
) -> Result<Config, Problems> {
    check(document, &TOP, "", &mut problems);
    warn_of_missing_variables(document, origin.start.own, &mut problems);
    let top = Fields::new(document, &TOP);
    let profile = choose_profile(top, origin);
    let Some(settings) = settings::resolve(top, profile, origin.start.own, &mut problems) else {
        return Err(problems);
    };
    let format = detect(top, &mut problems);
    let mut context = Context {
        path: origin.path,
        own_port: origin.own_port.map(|port| match port {
            OwnPort::Configured => settings.http.port,
            OwnPort::Given(port) => port,
        }),
        environment: origin.start.environment,
        start: origin.start,
        settings: &settings,
        problems: &mut problems,
    };
    let (servers, mut namespaces) = match format {
        Format::Schemas => schemas::resolve(top, &mut context),
        Format::Servers => shared(top, "servers", &mut context),
        Format::McpServers | Format::Embedded => shared(top, "mcpServers", &mut context),
    };
    if servers.is_empty() {
        tell_no_servers(top, format, &mut problems);
    }
    door::warn_of_namespaces(document, &namespaces, &mut problems);
    warn_of_lonely_replicas(top, &servers, &settings, &mut problems);
    namespaces::apply_permissions(top, &servers, &mut namespaces, &settings.separator, &mut problems);
    if problems.is_refused() {
        return Err(problems);
    }
    let default_namespace = top.string("defaultNamespaceId").or_else(|| top.string("defaultNamespace"));
    Ok(Config {
        profile,
        source: Source {
            path: origin.path.map(Path::to_path_buf),
            format: origin.format.unwrap_or(format),
            client: origin.client,
            root: origin.root.map(str::to_owned),
        },
        settings,
        servers,
        namespaces,
        // Go writes an empty string where nothing is set.
        default_namespace: default_namespace.filter(|id| !id.is_empty()),
        problems: problems.into_sorted(),
        unread: None,
    })
}

/// Warns of servers that are meant to run at one of several replicas which share nothing that says at which.
fn warn_of_lonely_replicas(
    top: Fields<'_>,
    servers: &[Server],
    settings: &Settings,
    problems: &mut Problems,
) {
    if settings.scale.state_key_file.is_none() || settings.scale.state.is_some() {
        return;
    }
    let line = top.get("scale").map_or(1, |node| node.line);
    for server in servers.iter().filter(|server| server.replicas == Replicas::One) {
        let place = format!("{}.replicas", server.key.id);
        let hint = "name their Redis in `scale.state`, or by --state".to_owned();
        problems.warn(line, &place, RUNS_AT_EACH, Some(hint));
    }
}

fn choose_profile(top: Fields<'_>, origin: Origin<'_>) -> Profile {
    let written = || top.text("profile").and_then(|name| Profile::from_name(&name.value));
    origin.profile.or_else(written).or(origin.program_profile).unwrap_or(Profile::Manifold)
}

/// Tells the format by the keys: the first that holds anything, else the first that is there at all.
fn detect(top: Fields<'_>, problems: &mut Problems) -> Format {
    const SIGNS: [(&str, Format); 3] =
        [("schemas", Format::Schemas), ("servers", Format::Servers), ("mcpServers", Format::McpServers)];
    let holds_any = |key: &str| top.object(key).is_some_and(|object| !object.members.is_empty());
    let mut filled = SIGNS.iter().filter(|(key, _)| holds_any(key));
    let Some((chosen, format)) = filled.next() else {
        let there = SIGNS.iter().find(|(key, _)| top.present(key).is_some());
        return there.map_or(Format::McpServers, |(_, format)| *format);
    };
    for (key, _) in filled {
        let line = top.present(key).map_or(1, |node| node.line);
        let what = format!("is not used beside `{chosen}`");
        problems.warn(line, key, what, Some(format!("move its entries to `{chosen}`")));
    }
    *format
}

/// A file without servers is most likely one we did not understand.
fn tell_no_servers(top: Fields<'_>, format: Format, problems: &mut Problems) {
    let root = match format {
        Format::Schemas => "schemas",
        Format::Servers => "servers",
        Format::McpServers | Format::Embedded => "mcpServers",
    };
    match top.present(root) {
        Some(_) if problems.is_refused() => {}
        Some(node) => problems.warn(node.line, root, "has no servers", Some("add one".to_owned())),
        None if top.object.members.keys().any(|key| TOP.key(key).is_some())
            || top.object.members.is_empty() =>
        {
            problems.warn(1, "", "has no servers", Some("list them in `mcpServers`".to_owned()));
        }
        None => {
            let roots = clients::looked_for().iter().map(|root| format!("`{root}`")).collect::<Vec<_>>();
            let what = format!("has no servers: looked for {}, and for servers by name", roots.join(", "));
            problems.whole_file(what, Some("add `\"mcpServers\": { … }`".to_owned()));
        }
    }
}

/// Servers in one place, shared by the namespaces that refer to them.
fn shared(top: Fields<'_>, key: &str, context: &mut Context<'_>) -> (Vec<Server>, Vec<Namespace>) {
    let mut exposed = ExposedIds::new(&context.settings.server_name);
    let mut servers = Vec::new();
    if let Some(object) = top.object(key) {
        for (id, node) in &object.members {
            let entry = server::Entry {
                key: ServerKey { schema: None, id: id.clone() },
                node,
                place: format!("{key}.{id}"),
                in_use: true,
            };
            servers.push(server::resolve(entry, &mut exposed, context));
        }
    }
    let namespaces = namespaces::resolve(top, &servers, context.problems);
    (servers, namespaces)
}

/// Outside servers a placeholder without a value stays as it is. Servers are marked instead, each for itself.
fn warn_of_missing_variables(document: &Object, environment: &Environment, problems: &mut Problems) {
    for (name, node) in &document.members {
        let is_setting = TOP.key(name).is_some_and(|key| !matches!(key.kind, Kind::Unused | Kind::Map(_)));
        if is_setting {
            node.each_text(name, &mut |text, line, place| {
                // A token is never left as written: that one stops us.
                for input in &text.inputs {
                    let what = format!("`${{input:{input}}}` can only be asked for by an editor");
                    let hint = "use a variable such as `${NAME}`".to_owned();
                    problems.warn(line, place, what, Some(hint));
                }
                let missing = if place == settings::TOKEN { &[] } else { text.missing.as_slice() };
                for variable in missing {
                    if let Some(name) = variable.strip_prefix(SECRET) {
                        let (what, hint) = environment.secrets.why_missing(name);
                        problems.warn(line, place, what, Some(format!("{hint}; it stays as written")));
                        continue;
                    }
                    let hint = format!("set it, or write `${{{variable}:-default}}`; it stays as written");
                    problems.warn(line, place, format!("variable `{variable}` is not set"), Some(hint));
                }
            });
        }
    }
}
