//! `config check` and `config schema`.

use std::process::ExitCode;

use manifold_config::{LoadOptions, Problem, Severity, load};
use serde::Serialize;

use super::{asked_namespace, fail, print};
use crate::cli::USAGE;

pub(super) fn schema() -> ExitCode {
    print(&manifold_config::schema())
}

/// Reports every problem of a config; fails if one of them stops a server or the whole file.
pub(super) fn check(options: &LoadOptions, namespace: Option<&str>, json: bool) -> ExitCode {
    #[derive(Serialize)]
    struct Report<'a> {
        valid: bool,
        servers: usize,
        namespaces: usize,
        #[serde(skip_serializing_if = "Option::is_none")]
        client: Option<&'static str>,
        problems: &'a [Problem],
    }
    let (config, problems) = match load(options) {
        Ok(mut config) => {
            let problems = std::mem::take(&mut config.problems);
            (Some(config), problems)
        }
        Err(error) => (None, error.problems),
    };
    if let Some(Err(why)) = config.as_ref().map(|config| asked_namespace(config, namespace)) {
        return fail(&why, USAGE);
    }
    let servers = config.as_ref().map_or(0, |config| config.servers.len());
    let namespaces = config.as_ref().map_or(0, |config| config.namespaces.len());
    let client = config.as_ref().and_then(|config| config.source.client);
    let valid = !problems.iter().any(|problem| problem.severity == Severity::Error);
    if json {
        let report = Report { valid, servers, namespaces, client, problems: &problems };
        print(&serde_json::to_string_pretty(&report).unwrap_or_default());
    } else {
        let mut lines: Vec<String> = problems
            .iter()
            .map(|problem| match problem.severity {
                Severity::Error => format!("error: {problem}"),
                Severity::Warning => format!("warning: {problem}"),
            })
            .collect();
        if let Some(config) = config.filter(|_| valid) {
            let source = config.source.path.as_deref().map(|path| path.display().to_string());
            let source = source.unwrap_or_else(|| "the built-in config".to_owned());
            lines.push(format!("{source}: {}", config.summary()));
        }
        print(&lines.join("\n"));
    }
    if valid { ExitCode::SUCCESS } else { ExitCode::from(USAGE) }
}
