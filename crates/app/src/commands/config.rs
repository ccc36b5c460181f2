//! `config check` and `config schema`.

use std::process::ExitCode;

use manifold_config::{LoadOptions, Problem, Severity, load};
use serde::Serialize;

use super::print;

pub(super) fn schema() -> ExitCode {
    print(&manifold_config::schema())
}

/// Reports every problem of a config; fails if one of them stops a server or the whole file.
pub(super) fn check(options: &LoadOptions, json: bool) -> ExitCode {
    #[derive(Serialize)]
    struct Report<'a> {
        valid: bool,
        servers: usize,
        namespaces: usize,
        problems: &'a [Problem],
    }
    let (servers, namespaces, problems, source) = match load(options) {
        Ok(config) => {
            let source = config.source.path.as_deref().map(|path| path.display().to_string());
            (config.servers.len(), config.namespaces.len(), config.problems, source)
        }
        Err(error) => (0, 0, error.problems, None),
    };
    let valid = !problems.iter().any(|problem| problem.severity == Severity::Error);
    if json {
        let report = Report { valid, servers, namespaces, problems: &problems };
        print(&serde_json::to_string_pretty(&report).unwrap_or_default());
    } else {
        let mut lines: Vec<String> = problems
            .iter()
            .map(|problem| match problem.severity {
                Severity::Error => format!("error: {problem}"),
                Severity::Warning => format!("warning: {problem}"),
            })
            .collect();
        let source = source.unwrap_or_else(|| "the built-in config".to_owned());
        if valid {
            lines.push(format!("{source}: {servers} servers, {namespaces} namespaces"));
        }
        print(&lines.join("\n"));
    }
    if valid { ExitCode::SUCCESS } else { ExitCode::from(crate::cli::USAGE) }
}
