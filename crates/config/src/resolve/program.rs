//! Whether a server's program is there to be run.

use std::path::Path;

use super::Context;
use crate::environment::Environment;
use crate::fields::Fields;
use crate::model::ProcessSpec;

/// A program that was not found.
pub(super) struct Missing {
    /// As written in the file.
    pub(super) command: String,
    pub(super) hint: String,
}

/// Looks for the program on the `PATH` the server will have.
pub(super) fn missing(fields: Fields<'_>, spec: &ProcessSpec, environment: &Environment) -> Option<Missing> {
    let own = spec.env.get("PATH").map(|path| path.expose());
    // Windows spells it `Path`.
    let ours = || environment.vars.get("PATH").or_else(|| environment.vars.get("Path")).map(String::as_str);
    let directory = directory(spec, environment);
    if which::which_in(&spec.command, own.or_else(ours), &directory).is_ok() {
        return None;
    }
    let command = fields.text("command").map(|text| text.raw.clone()).unwrap_or_default();
    let there = is_path(&spec.command) && directory.join(&spec.command).exists();
    Some(Missing { hint: hint(&command, there).to_owned(), command })
}

/// A directory may yet be made, so this is no fault; but starting the server would fail with a puzzling message.
pub(super) fn warn_of_missing_directory(
    spec: &ProcessSpec,
    line: usize,
    place: &str,
    context: &mut Context<'_>,
) {
    if spec.cwd.is_some() && !directory(spec, context.environment).is_dir() {
        let hint = "create it, or correct `cwd`".to_owned();
        context.problems.warn(line, place, "its `cwd` is not a directory", Some(hint));
    }
}

fn directory(spec: &ProcessSpec, environment: &Environment) -> std::path::PathBuf {
    environment.cwd.join(spec.cwd.as_deref().unwrap_or(Path::new("")))
}

fn is_path(command: &str) -> bool {
    command.contains(['/', '\\'])
}

fn hint(command: &str, there: bool) -> &'static str {
    match command {
        _ if there => "it is there but cannot be run: make it executable",
        "uv" | "uvx" => "install uv (https://docs.astral.sh/uv)",
        "node" | "npm" | "npx" => "install Node.js (https://nodejs.org)",
        "bun" | "bunx" => "install Bun (https://bun.sh)",
        "deno" => "install Deno (https://deno.com)",
        "docker" => "install Docker (https://docs.docker.com)",
        "python" => "install Python, or write `python3`",
        _ if command.contains(char::is_whitespace) => "put the arguments in `args`",
        _ if is_path(command) => "correct the path",
        _ => "install it, or write its full path",
    }
}
