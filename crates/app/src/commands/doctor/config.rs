//! Is the config sound, and is what must stay secret in it?

use std::path::PathBuf;

use manifold_config::{Problem, ServerFault, Severity, config_path};

use super::context::{Context, Mended, close, mode, word};
use super::{Outcome, Trouble};

/// How the table of keys tells of one it does not have.
const UNKNOWN: &str = "unknown key";

pub(super) fn readable(context: &Context<'_>) -> Outcome {
    let Err(error) = &context.written else { return Outcome::Well };
    let path = config_path(context.options()).unwrap_or_default();
    Some(Trouble::fail(error.to_string(), format!("ls -l {}", word(&path)))).into()
}

pub(super) fn valid(context: &Context<'_>) -> Outcome {
    match (&context.written, &context.config) {
        (Ok(_), Err(error)) => {
            let told = |problem: &Problem| Trouble::fail(problem.to_string(), "manifold config check");
            error
                .problems
                .iter()
                .filter(|one| one.severity == Severity::Error)
                .map(told)
                .collect::<Vec<_>>()
                .into()
        }
        _ => Outcome::Well,
    }
}

/// What is missing beside the entry is told by other checks.
pub(super) fn servers(context: &Context<'_>) -> Outcome {
    let mut troubles = Vec::new();
    for server in context.servers() {
        if let Some(
            fault @ (ServerFault::BadEntry { .. } | ServerFault::EnvFile { .. } | ServerFault::Itself),
        ) = &server.fault
        {
            let message = format!("'{}': {}", server.key.id, fault.message());
            troubles.push(Trouble::fail(message, "manifold config check"));
        }
    }
    troubles.into()
}

pub(super) fn unknown_keys(context: &Context<'_>) -> Outcome {
    warned(context, |problem| problem.what.starts_with(UNKNOWN))
}

pub(super) fn warnings(context: &Context<'_>) -> Outcome {
    let is_told_elsewhere =
        |problem: &Problem| problem.what.starts_with(UNKNOWN) || super::needs::is_missing(problem);
    warned(context, |problem| !is_told_elsewhere(problem))
}

fn warned(context: &Context<'_>, counts: impl Fn(&Problem) -> bool) -> Outcome {
    let problems = context.config.iter().flat_map(|config| &config.problems);
    let problems = problems.filter(|problem| problem.severity == Severity::Warning && counts(problem));
    let told = |problem: &Problem| Trouble::warn(problem.to_string(), "manifold config check");
    problems.map(told).collect::<Vec<_>>().into()
}

/// A token that is written out may be read by nobody else.
pub(super) fn token_mode(context: &Context<'_>) -> Outcome {
    let Some((path, mode)) = open_token(context) else { return Outcome::Well };
    let message = format!(
        "{}: has a token written out in `server.token`, and its mode {mode:04o} lets others read it",
        path.display()
    );
    Some(Trouble::fail(message, format!("chmod 600 {}", word(&path)))).into()
}

pub(super) fn close_token(context: &Context<'_>) -> Vec<Mended> {
    open_token(context).map(|(path, _)| close(&path, 0o600)).into_iter().collect()
}

fn open_token(context: &Context<'_>) -> Option<(PathBuf, u32)> {
    let token = context.config.as_ref().ok()?.settings.http.token.as_ref()?;
    let (text, path) = context.written.as_ref().ok()?;
    // One that comes from a variable or the store stands nowhere in the text.
    let path = path.as_ref().filter(|_| text.contains(token.expose()))?;
    let path = std::fs::canonicalize(path).ok()?;
    let mode = mode(&path).filter(|mode| mode & 0o044 != 0)?;
    Some((path, mode))
}
