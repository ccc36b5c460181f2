//! Whether an entry is Manifold's own, in whatever shape it was put there.

use std::path::{Path, PathBuf};

use super::launch::{launch, program_name};
use crate::environment::Environment;
use crate::expand::{Forms, Variables};
use crate::file::{Node, Object};
use crate::resolve::is_own_address;

/// What our program, and the packages that bring it, are called.
const OUR_NAMES: [&str; 3] = ["manifold", "manifold-mcp", "manifold-gateway"];
/// Where we serve over HTTP unless the config says otherwise.
const USUAL_ADDRESS: (&str, u16) = ("127.0.0.1", 3095);

/// Returns whether the entry starts us or leads to us.
pub(super) fn is_ourselves(object: &Object, environment: &Environment) -> bool {
    let variables = Variables {
        environment,
        forms: Forms::OURS,
        folder: environment.cwd.clone(),
        workspace: environment.cwd.clone(),
    };
    let value = |text: &str| variables.expand(text).with_home(environment);
    if let Some(url) = object.written("url") {
        let (host, port) = USUAL_ADDRESS;
        return is_own_address(&value(url), host, Some(port));
    }
    let Some(command) = object.written("command").map(value) else { return false };
    let args = object.members.get("args").and_then(Node::list).unwrap_or_default();
    let args: Vec<String> = args.iter().filter_map(|arg| arg.written().map(value)).collect();
    let run = launch(&command, &args);
    let name = run.package.as_deref().unwrap_or_default();
    let name = name.rsplit('/').next().unwrap_or(name);
    OUR_NAMES
        .iter()
        .any(|ours| name.eq_ignore_ascii_case(ours) || program_name(&command).eq_ignore_ascii_case(ours))
        || is_our_program(&command, environment)
}

/// Our program may go by the name of one it stands in for.
fn is_our_program(command: &str, environment: &Environment) -> bool {
    let Some(program) = &environment.program else { return false };
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    let path = environment.vars.get("PATH").map(String::as_str);
    let found: Option<PathBuf> = which::which_in(command, path, &environment.cwd).ok();
    found.and_then(|found| real(&found)).is_some_and(|found| Some(found) == real(program))
}
