//! Is what servers need there: variables, secrets, programs?

use std::path::Path;

use manifold_config::{Problem, ServerFault, Severity};

use super::context::{Context, word};
use super::{Outcome, Trouble};

/// Returns whether a problem is that something is not set or stored.
pub(super) fn is_missing(problem: &Problem) -> bool {
    problem.what.starts_with("variable `") || problem.what.starts_with("the secret `")
}

pub(super) fn variables(context: &Context<'_>) -> Outcome {
    let mut troubles = Vec::new();
    for server in context.servers() {
        let variable = match &server.fault {
            Some(ServerFault::MissingVariable { variable, .. } | ServerFault::Unasked { variable, .. }) => {
                variable
            }
            _ => continue,
        };
        let message = server.fault.as_ref().map(ServerFault::message).unwrap_or_default();
        let fix = match variable.strip_prefix("file:") {
            Some(file) => format!("ls -l {}", word(Path::new(file))),
            None => set(variable),
        };
        troubles.push(Trouble::fail(format!("'{}': {message}", server.key.id), fix));
    }
    // Those of settings stay as they are written.
    let config = context.config.iter();
    for problem in config.flat_map(|config| config.problems_beside_servers()).filter(|one| is_missing(one)) {
        if problem.severity == Severity::Warning && problem.what.starts_with("variable `") {
            let variable = problem.what.split('`').nth(1).unwrap_or_default();
            troubles.push(Trouble::warn(problem.to_string(), set(variable)));
        }
    }
    troubles.into()
}

/// A command that asks for the value, so that it stands in no history.
fn set(variable: &str) -> String {
    format!("read -rs {variable} && export {variable}")
}

/// Returns the command by which this machine installs packages, else one that opens a page.
fn install(context: &Context<'_>, packages: &str, page: &str) -> String {
    const MANAGERS: [(&str, &str); 5] = [
        ("apt-get", "sudo apt-get install"),
        ("dnf", "sudo dnf install"),
        ("pacman", "sudo pacman -S"),
        ("apk", "sudo apk add"),
        ("brew", "brew install"),
    ];
    let environment = context.environment();
    let is_there =
        |program: &str| which::which_in(program, environment.vars.get("PATH"), &environment.cwd).is_ok();
    let found = MANAGERS.iter().find(|(program, _)| is_there(program));
    found.map_or_else(|| format!("xdg-open {page}"), |(_, command)| format!("{command} {packages}"))
}

/// One whose file is broken is the store's trouble.
pub(super) fn secrets(context: &Context<'_>) -> Outcome {
    let mut troubles = Vec::new();
    for server in context.servers() {
        if let Some(ServerFault::MissingSecret { what, hint }) = &server.fault
            && let Some(command) = hint.strip_prefix("run `").and_then(|rest| rest.strip_suffix('`'))
        {
            troubles.push(Trouble::fail(format!("'{}': {what}", server.key.id), command));
        }
    }
    troubles.into()
}

const NODE: &[&str] = &["node", "npm", "npx", "pnpm", "yarn"];
const UV: &[&str] = &["uv", "uvx"];
const DOCKER: &[&str] = &["docker", "podman"];
const PYTHON: &[&str] = &["python", "python3", "pip", "pipx"];

pub(super) fn node(context: &Context<'_>) -> Outcome {
    let fix = |_: &str| install(context, "nodejs npm", "https://nodejs.org/en/download");
    programs(context, |name| NODE.contains(&name), fix)
}

pub(super) fn uv(context: &Context<'_>) -> Outcome {
    programs(
        context,
        |name| UV.contains(&name),
        |_| "curl -LsSf https://astral.sh/uv/install.sh | sh".to_owned(),
    )
}

pub(super) fn docker(context: &Context<'_>) -> Outcome {
    let fix = |command: &str| match command.ends_with("podman") {
        true => install(context, "podman", "https://podman.io/docs/installation"),
        false => "curl -fsSL https://get.docker.com | sh".to_owned(),
    };
    programs(context, |name| DOCKER.contains(&name), fix)
}

pub(super) fn python(context: &Context<'_>) -> Outcome {
    let fix = |_: &str| install(context, "python3", "https://www.python.org/downloads");
    programs(context, |name| PYTHON.contains(&name), fix)
}

pub(super) fn others(context: &Context<'_>) -> Outcome {
    let is_other = |name: &str| ![NODE, UV, DOCKER, PYTHON].concat().contains(&name);
    programs(context, is_other, |command| format!("command -v {command}"))
}

fn programs(context: &Context<'_>, counts: impl Fn(&str) -> bool, fix: impl Fn(&str) -> String) -> Outcome {
    let mut troubles = Vec::new();
    for server in context.servers() {
        let Some(ServerFault::NoSuchProgram { command, hint }) = &server.fault else { continue };
        let name = Path::new(command).file_name().and_then(|name| name.to_str()).unwrap_or(command);
        if counts(name) {
            let message = format!("'{}': no such program `{command}`; {hint}", server.key.id);
            troubles.push(Trouble::fail(message, fix(command)));
        }
    }
    troubles.into()
}
