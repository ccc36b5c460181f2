//! `status`: what is configured, without starting anything.

use std::fmt::Write;
use std::process::ExitCode;

use manifold_admin::{self as admin, Problem, Target};
use manifold_config::{Config, LoadOptions, load};
use manifold_engine::configured;
use manifold_protocol::Era;
use manifold_upstreams::Cache;
use serde::Serialize;

use super::{asked_namespace, fail, print};
use crate::cli::USAGE;
use crate::wiring::cache;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    version: String,
    profile: String,
    config: Option<String>,
    format: &'static str,
    /// Whose file it is, if it is another program's.
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<String>,
    #[serde(skip)]
    summary: String,
    servers: Vec<Row>,
    namespaces: Vec<NamespaceRow>,
    default_namespace: Option<String>,
    problems: Vec<Problem>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<String>,
    name: String,
    exposed_id: String,
    enabled: bool,
    transport: &'static str,
    /// The command line or the address.
    target: String,
    start: &'static str,
    /// What is known of it from earlier runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    saved: Option<SavedRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SavedRow {
    #[serde(skip_serializing_if = "Option::is_none")]
    era: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    age_seconds: Option<u64>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NamespaceRow {
    id: String,
    name: String,
    enabled: bool,
    server_ids: Vec<String>,
}

/// Fails where a server that is meant to be used cannot work (D7).
pub(super) fn run(options: &LoadOptions, namespace: Option<&str>, json: bool) -> ExitCode {
    let mut config = match load(options) {
        Ok(config) => config,
        Err(error) => return fail(&error.to_string(), USAGE),
    };
    match asked_namespace(&config, namespace) {
        Ok(Some(id)) => keep_only(&mut config, &id),
        Ok(None) => {}
        Err(why) => return fail(&why, USAGE),
    }
    let report = report(&config, &cache(options));
    if json {
        print(&serde_json::to_string_pretty(&report).unwrap_or_default());
    } else {
        print(&text(&report));
    }
    let broken = report.servers.iter().any(|row| row.enabled && row.problem.is_some());
    ExitCode::from(u8::from(broken))
}

/// Leaves one namespace and its servers.
fn keep_only(config: &mut Config, id: &str) {
    config.namespaces.retain(|namespace| namespace.id == id);
    let namespaces = &config.namespaces;
    config.servers.retain(|server| namespaces.iter().any(|one| one.servers.contains(&server.key)));
}

/// Returns what the config says, and what earlier runs have learnt.
fn report(config: &Config, cache: &Cache) -> Report {
    let mut snapshot = configured(config);
    for (shown, server) in snapshot.servers.iter_mut().zip(&config.servers) {
        shown.saved = cache.saved(server).map(|saved| admin::Saved {
            era: saved.era.map(|era| match era {
                _ if saved.is_dual => admin::Era::Dual,
                Era::Legacy => admin::Era::Legacy,
                Era::Modern => admin::Era::Modern,
            }),
            tools: saved.age.map(|_| saved.tools),
            age_ms: saved.age.map(|age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX)),
        });
    }
    render(snapshot, config.summary())
}

fn render(snapshot: admin::Snapshot, summary: String) -> Report {
    let admin::Snapshot { gateway, config, servers, namespaces, .. } = snapshot;
    let namespace = |namespace: admin::Namespace| {
        Some(NamespaceRow {
            id: namespace.id?,
            name: namespace.name,
            enabled: namespace.enabled,
            server_ids: namespace.servers.into_iter().map(|server| server.id).collect(),
        })
    };
    Report {
        version: gateway.version,
        profile: gateway.profile,
        config: config.path,
        format: config.format.as_str(),
        client: config.client,
        summary,
        servers: servers.into_iter().map(row).collect(),
        namespaces: namespaces.into_iter().filter_map(namespace).collect(),
        default_namespace: config.default_namespace,
        problems: config.problems,
    }
}

fn row(server: admin::Server) -> Row {
    Row {
        id: server.key.id,
        schema: server.key.schema,
        name: server.name,
        exposed_id: server.exposed_id,
        enabled: server.enabled,
        transport: server.kind.as_str(),
        target: match server.target {
            Target::Builtin { name } => name,
            Target::Program { command, arguments: 0 } => command,
            Target::Program { command, arguments: 1 } => format!("{command} (1 argument)"),
            Target::Program { command, arguments } => format!("{command} ({arguments} arguments)"),
            Target::Address { origin } => origin,
            Target::Other => String::new(),
        },
        start: server.start.as_str(),
        saved: server.saved.map(|saved| SavedRow {
            era: saved.era.map(admin::Era::as_str),
            tools: saved.tools,
            age_seconds: saved.age_ms.map(|age| age / 1000),
        }),
        problem: server.fault.map(|fault| fault.text),
    }
}

/// Says what is known of a server that need not run.
fn known(saved: Option<&SavedRow>) -> String {
    match saved.and_then(|saved| Some((saved.tools?, saved.age_seconds?))) {
        Some((tools, age)) => {
            let tools = if tools == 1 { "1 tool".to_owned() } else { format!("{tools} tools") };
            format!("; {tools} known, read {} ago", span(age))
        }
        None => String::new(),
    }
}

fn span(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

fn text(report: &Report) -> String {
    let mut text = String::new();
    let source = report.config.as_deref().unwrap_or("built in (no config file)");
    let _ = writeln!(text, "manifold {}, profile {}", report.version, report.profile);
    let whose = report.client.as_ref().map_or_else(String::new, |_| format!(" ({})", report.summary));
    let _ = writeln!(text, "config: {source}{whose}\n");
    let name = |row: &Row| match &row.schema {
        Some(schema) => format!("{schema}/{}", row.id),
        None => row.id.clone(),
    };
    let width = report.servers.iter().map(|row| name(row).chars().count()).max().unwrap_or(0);
    for row in &report.servers {
        let state = match (&row.problem, row.enabled) {
            (_, false) => "disabled".to_owned(),
            (Some(problem), _) => format!("cannot work: {problem}"),
            (None, true) => format!("{}{}", row.start, known(row.saved.as_ref())),
        };
        let _ = writeln!(text, "  {:width$}  {:8}{}  [{state}]", name(row), row.transport, row.target);
    }
    if report.servers.is_empty() {
        let _ = writeln!(text, "  no servers");
    }
    for namespace in &report.namespaces {
        let disabled = if namespace.enabled { "" } else { " (disabled)" };
        let _ = writeln!(text, "\nnamespace {}{disabled}: {}", namespace.id, namespace.server_ids.join(", "));
    }
    if !report.problems.is_empty() {
        let _ = writeln!(text, "\nproblems:");
        for problem in &report.problems {
            let _ = writeln!(text, "  {problem}");
        }
    }
    text
}
