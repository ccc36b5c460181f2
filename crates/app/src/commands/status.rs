//! `status`: what is configured, without starting anything.

use std::fmt::Write;
use std::process::ExitCode;

use manifold_config::{
    Builtin, Config, Format, LoadOptions, Problem, ProcessDialect, RemoteKind, Server, ServerFault,
    ServerStart, Transport, load,
};
use manifold_protocol::Era;
use manifold_upstreams::Cache;
use serde::Serialize;

use super::{asked_namespace, fail, print};
use crate::cli::USAGE;
use crate::wiring::cache;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    version: &'static str,
    profile: &'static str,
    config: Option<String>,
    format: &'static str,
    /// Whose file it is, if it is another program's.
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<&'static str>,
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
    let report = report(config, &cache(options));
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

fn report(config: Config, cache: &Cache) -> Report {
    Report {
        summary: config.summary(),
        client: config.source.client,
        version: env!("CARGO_PKG_VERSION"),
        profile: config.profile.name(),
        config: config.source.path.map(|path| path.display().to_string()),
        format: match config.source.format {
            Format::Embedded => "embedded",
            Format::Schemas => "schemas",
            Format::Servers => "servers",
            Format::McpServers => "mcpServers",
        },
        servers: config.servers.iter().map(|server| row(server, cache)).collect(),
        namespaces: config
            .namespaces
            .iter()
            .map(|namespace| NamespaceRow {
                id: namespace.id.clone(),
                name: namespace.name.clone(),
                enabled: namespace.enabled,
                server_ids: namespace.servers.iter().map(|key| key.id.clone()).collect(),
            })
            .collect(),
        default_namespace: config.default_namespace,
        problems: config.problems,
    }
}

fn row(server: &Server, cache: &Cache) -> Row {
    let (transport, target) = match &server.transport {
        Transport::Builtin(Builtin::Time) => ("builtin", "time".to_owned()),
        // Arguments may hold secrets; their number tells enough.
        Transport::Process(process) => {
            let target = match process.args.len() {
                0 => process.command.clone(),
                1 => format!("{} (1 argument)", process.command),
                count => format!("{} ({count} arguments)", process.command),
            };
            let kind = match process.dialect {
                ProcessDialect::Mcp => "stdio",
                ProcessDialect::LiteMcp => "litemcp",
            };
            (kind, target)
        }
        Transport::Remote(remote) => {
            let kind = match remote.kind {
                RemoteKind::Auto | RemoteKind::StreamableHttp => "http",
                RemoteKind::Sse => "sse",
                RemoteKind::LiteMcp => "litemcp",
            };
            (kind, remote.origin())
        }
    };
    Row {
        id: server.key.id.clone(),
        schema: server.key.schema.clone(),
        name: server.display_name.clone(),
        exposed_id: server.exposed_id.clone(),
        enabled: server.enabled,
        transport,
        target,
        start: match server.start {
            ServerStart::Eager => "eager",
            ServerStart::Lazy => "lazy",
            ServerStart::Manual => "manual",
        },
        saved: cache.saved(server).map(|saved| SavedRow {
            era: saved.era.map(|era| match era {
                _ if saved.is_dual => "dual",
                Era::Legacy => "legacy",
                Era::Modern => "modern",
            }),
            tools: saved.age.map(|_| saved.tools),
            age_seconds: saved.age.map(|age| age.as_secs()),
        }),
        problem: server.fault.as_ref().map(ServerFault::message),
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
    let whose = report.client.map_or_else(String::new, |_| format!(" ({})", report.summary));
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
