//! `config check`, `config show`, `config edit` and `config schema`.

mod edit;
mod masked;

use std::process::ExitCode;

use manifold_admin::{ConfigReport, ShownConfig};
use manifold_config::{Config, LoadOptions, Problem, Severity, config_path, load};

use super::verb::Verb;
use super::{asked_namespace, fail, print, token};
use crate::cli::USAGE;
use crate::config_editor::problem;
use crate::output::{Exit, Failure, Output, escaped_line, escaped_text};
pub(super) use edit::edit;
use masked::masked;

pub(super) fn schema() -> ExitCode {
    print(&manifold_config::schema())
}

/// Prints the config file with everything hidden that is a secret, or may be one.
pub(super) fn show(verb: Verb) -> ExitCode {
    verb.run(|verb| {
        // Secrets are known once they have been read; what cannot be read is not shown.
        let config = load(verb.options).map_err(|error| Failure::config(error.to_string()))?;
        let Some(path) = &config.source.path else {
            verb.output.remark("there is no config file: what is built in is served");
            return Ok(Exit::Ok);
        };
        let read = std::fs::read_to_string(path);
        let text = read.map_err(|error| Failure::config(format!("`{}`: {error}", path.display())))?;
        let masked = masked(&text).ok_or_else(|| {
            let message =
                format!("`{}` is not JSON, so its secrets cannot be told from the rest", path.display());
            Failure::new(Exit::Failed, "unsupported", message)
                .hint("`manifold status` shows what is read of it")
        })?;
        let text = manifold_config::redact(&masked).into_owned();
        if verb.output.is_json() {
            verb.output.json(&ShownConfig { path: path.display().to_string(), text });
        } else {
            verb.output.text(&escaped_text(&text));
        }
        Ok(Exit::Ok)
    })
}

/// Reports every problem of a config; fails if one of them stops a server or the whole file.
pub(super) fn check(options: &LoadOptions, namespace: Option<&str>, json: bool) -> ExitCode {
    let (config, mut problems, recognized) = match load(options) {
        Ok(mut config) => {
            let problems = std::mem::take(&mut config.problems);
            let recognized = config.source.client.map(|_| config.summary());
            (Some(config), problems, recognized)
        }
        Err(error) => (None, error.problems, error.recognized),
    };
    if let Some(config) = &config {
        problems.extend(weak_token(config));
    }
    if let Some(Err(why)) = config.as_ref().map(|config| asked_namespace(config, namespace)) {
        return match json {
            true => Output::for_programs().fail(&Failure::usage(why)),
            false => fail(&why, USAGE),
        };
    }
    let servers = config.as_ref().map_or(0, |config| config.servers.len());
    let namespaces = config.as_ref().map_or(0, |config| config.namespaces.len());
    let client = config.as_ref().and_then(|config| config.source.client);
    let valid = !problems.iter().any(|problem| problem.severity == Severity::Error);
    if json {
        let problems = problems.iter().map(problem).collect();
        let client = client.map(str::to_owned);
        Output::for_programs().json(&ConfigReport { valid, servers, namespaces, client, problems });
    } else {
        let mut lines: Vec<String> = problems
            .iter()
            .map(|problem| {
                // A name in the file may have line ends, and would look like a problem of its own.
                let what = problem.to_string();
                let what = escaped_line(&what);
                match problem.severity {
                    Severity::Error => format!("error: {what}"),
                    Severity::Warning => format!("warning: {what}"),
                }
            })
            .collect();
        // Whose file it was taken for is worth knowing where it is wrong, too.
        let summary = config.as_ref().filter(|_| valid).map(Config::summary).or(recognized);
        if let Some(summary) = summary {
            let source = config_path(options).filter(|_| !is_embedded(config.as_ref()));
            let source =
                source.map_or_else(|| "the built-in config".to_owned(), |path| path.display().to_string());
            lines.push(format!("{source}: {summary}"));
        }
        print(&escaped_text(&lines.join("\n")));
    }
    if valid { ExitCode::SUCCESS } else { ExitCode::from(USAGE) }
}

fn is_embedded(config: Option<&Config>) -> bool {
    config.is_some_and(|config| config.source.path.is_none())
}

/// Returns what the start would say of the token in the file.
fn weak_token(config: &Config) -> Vec<Problem> {
    let weaknesses = config.settings.http.token.as_ref().map(|token| token::weaknesses(token, None));
    let problem = |what| Problem {
        severity: Severity::Warning,
        file: config.source.path.clone(),
        line: None,
        place: "server.token".to_owned(),
        what,
        hint: None,
    };
    weaknesses.unwrap_or_default().into_iter().map(problem).collect()
}
