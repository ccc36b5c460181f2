//! Which variables a file's servers depend on, told from the file alone, whatever is set.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::clients::{self, OWN_ROOTS};
use crate::environment::Environment;
use crate::fields::Fields;
use crate::file::{Node, Object, Value};
use crate::keys::Kind;
use crate::keys::table::SERVER;
use crate::load::{LoadError, LoadOptions, written};
use crate::meant;
use crate::problem::Problems;
use crate::resolve::withheld;
use crate::syntax;

/// Keys whose values are the names of variables.
pub(crate) const BY_NAME: [&str; 2] = ["bearer_token_env_var", "env_http_headers"];

/// What a client's servers are resolved with.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VariablesUsed {
    /// Every variable that is named by some server's definition, and `PATH`.
    pub names: BTreeSet<String>,
    /// A server gets all there are (`inheritEnv: true`).
    pub everything: bool,
}

/// Returns the variables that the servers of the file name in any way, whether set or not. Those of the settings are not
/// among them: they are the daemon's own.
pub fn variables_used(options: &LoadOptions) -> Result<VariablesUsed, LoadError> {
    let (text, path) = written(options)?;
    variables_used_in(&text, path.as_deref())
}

/// Returns what [`variables_used`] does for text as if it were read from `path`.
pub fn variables_used_in(text: &str, path: Option<&Path>) -> Result<VariablesUsed, LoadError> {
    let document = filled_with_nothing(text, path)?;
    let mut used = VariablesUsed { names: BTreeSet::from(["PATH".to_owned()]), everything: false };
    each_server(&document, &mut |_, server| {
        let fields = Fields::new(server, &SERVER);
        used.names.extend(named_by(fields));
        used.everything |= inherits_everything(fields);
    });
    Ok(used)
}

/// Returns the secrets that a file refers to, each with the servers that use it; a setting is named by its key.
pub fn secrets_used_in(text: &str, path: Option<&Path>) -> Result<BTreeMap<String, Vec<String>>, LoadError> {
    let document = filled_with_nothing(text, path)?;
    let mut used: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut note = |user: &str, node: &Node| {
        node.each_text("", &mut |text, _, _| {
            for name in &text.secrets {
                let users = used.entry(name.clone()).or_default();
                if !users.iter().any(|known| known == user) {
                    users.push(user.to_owned());
                }
            }
        });
    };
    each_server(&document, &mut |id, server| {
        let counts = |key: &str| SERVER.key(key).is_some_and(|key| !matches!(key.kind, Kind::Unused));
        server.members.iter().filter(|(key, _)| counts(key)).for_each(|(_, node)| note(id, node));
    });
    let settings = document.members.iter().filter(|(key, _)| !OWN_ROOTS.contains(&key.as_str()));
    settings.for_each(|(key, node)| note(key, node));
    Ok(used)
}

/// Returns the variables that hold our own secrets: tokens that let in, and what we sign in elsewhere with. No server
/// inherits them.
pub fn secret_variables(options: &LoadOptions) -> Result<BTreeSet<String>, LoadError> {
    let (text, path) = written(options)?;
    // No stored secret is asked for: that may take a keyring, and a thread.
    let Environment { vars, home, cwd, program, secrets: _ } = options.environment.clone();
    let environment = Environment { vars, home, cwd, program, ..Environment::default() };
    Ok(withheld(&filled_with(&environment, &text, path.as_deref())?))
}

/// Reads a file as if no variable were set.
fn filled_with_nothing(text: &str, path: Option<&Path>) -> Result<Object, LoadError> {
    filled_with(&Environment::default(), text, path)
}

fn filled_with(environment: &Environment, text: &str, path: Option<&Path>) -> Result<Object, LoadError> {
    let mut problems = Problems::new(path);
    let Some(document) = syntax::parse(text, path, clients::is_known, &mut problems) else {
        return Err(LoadError { problems: problems.into_sorted(), recognized: None });
    };
    let mut unheard = Problems::default();
    let mut reading = clients::read_everywhere(document, path, &mut unheard);
    reading.fill(path, environment, environment);
    meant::read(&mut reading.document, &mut unheard);
    Ok(reading.document)
}

/// Returns the variables that one definition names.
pub(crate) fn named_by(server: Fields<'_>) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (key, node) in &server.object.members {
        if SERVER.key(key).is_none_or(|key| matches!(key.kind, Kind::Unused)) {
            continue;
        }
        let by_name = BY_NAME.contains(&key.as_str()) || key == "inheritEnv";
        node.each_text("", &mut |text, _, _| {
            names.extend(text.names.iter().cloned());
            names.extend(by_name.then(|| text.value.clone()));
        });
    }
    names
}

/// Tells whether it is written that a server gets every variable.
pub(crate) fn inherits_everything(server: Fields<'_>) -> bool {
    server.flag("inheritEnv") == Some(true)
}

fn each_server<'a>(document: &'a Object, visit: &mut dyn FnMut(&'a str, &'a Object)) {
    let mut of_all = |node: &'a Node| {
        if let Value::Object(servers) = &node.value {
            let servers = servers.members.iter().filter_map(|(id, node)| Some((id.as_str(), node.object()?)));
            servers.for_each(|(id, server)| visit(id, server));
        }
    };
    ["servers", "mcpServers"].iter().filter_map(|root| document.members.get(*root)).for_each(&mut of_all);
    let schemas = document.object("schemas").into_iter().flat_map(|schemas| schemas.members.values());
    schemas.filter_map(|schema| schema.object()?.members.get("mcpServers")).for_each(&mut of_all);
}
