//! `status`: what is configured and how it is doing, without starting anything.

use std::fmt::Write;
use std::process::ExitCode;

use manifold_admin::{self as admin, About, Problem, Running, ServerRow, Severity, Snapshot, State, Target};
use manifold_config::{Config, load};
use manifold_engine::configured;
use serde::Serialize;

use super::asked_namespace;
use super::verb::Verb;
use super::{secret, servers};
use crate::cli::StatusArgs;
use crate::commands::source::Need;
use crate::login::{sign_in_line, signed_in};
use crate::output::{Exit, Failure, counted, escaped_line, escaped_text, span};
use crate::remembered::remembered;
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
    running: Option<Running>,
    servers: Vec<Row>,
    namespaces: Vec<NamespaceRow>,
    default_namespace: Option<String>,
    problems: Vec<Problem>,
    /// What is stored for `${secret:NAME}`, if anything is.
    #[serde(skip_serializing_if = "Option::is_none")]
    secrets: Option<secret::Summary>,
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
    /// As `list` has it, without what is said above.
    state: State,
    kind: admin::Kind,
    tools: usize,
    listed: bool,
    clients: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sign_in: Option<admin::SignIn>,
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

/// What was found of a gateway.
enum Found {
    Nothing,
    /// It runs and does not answer as it should.
    Silent,
    Live(Box<Live>),
}

impl Found {
    fn live(&self) -> Option<&Live> {
        match self {
            Self::Live(live) => Some(live),
            Self::Nothing | Self::Silent => None,
        }
    }
}

/// A gateway that runs, and how it is doing.
struct Live {
    about: About,
    which: String,
    snapshot: Snapshot,
}

impl Live {
    /// Returns why the gateway serves none of what is written.
    fn why_behind(&self) -> Option<String> {
        self.about.unread.as_ref().map(|why| format!("{} has not taken it over: {why}", self.which))
    }
}

/// Fails where a server that is meant to be used cannot work (D7) or has failed.
pub(super) fn run(args: StatusArgs, verb: Verb) -> ExitCode {
    verb.run(|verb| {
        let mut config = match load(verb.options) {
            Ok(config) => config,
            Err(error) => return running_alone(&error.to_string(), &found(verb)?, verb),
        };
        match asked_namespace(&config, verb.flags.namespace.as_deref()) {
            Ok(Some(id)) => keep_only(&mut config, &id),
            Ok(None) => {}
            Err(why) => return Err(Failure::usage(why)),
        }
        let found = found(verb)?;
        // What runs is not what is written: another file, or none, stands there now.
        if let Some(Live { about: About { refused: Some(why), .. }, .. }) = found.live() {
            return running_alone(why, &found, verb);
        }
        let mut snapshot = configured(&config);
        remembered(&mut snapshot, &config, &cache(verb.options));
        signed_in(&mut snapshot, &config, verb.options);
        let rows = rows(&snapshot, found.live());
        let mut report = render(snapshot, config.summary(), &rows, found.live());
        report.secrets = secret::summary(&verb.options.environment);
        let is_in =
            |sign_in: &admin::SignIn| matches!(sign_in.state.as_str(), "ready" | "needs scope" | "retrying");
        if let Some(secrets) = &mut report.secrets {
            let rows = report.servers.iter();
            secrets.signed_in = rows.filter(|row| row.sign_in.as_ref().is_some_and(is_in)).count();
        }
        let is_behind = found.live().and_then(Live::why_behind);
        report.problems.extend(is_behind.as_deref().map(whole_file));
        match verb.output.is_json() {
            true => verb.output.json(&report),
            false => show(&report, &rows, &found, verb),
        }
        let is_out =
            |sign_in: &admin::SignIn| matches!(sign_in.state.as_str(), "needs login" | "login expired");
        let wants_sign_in = |row: &Row| {
            row.enabled && (row.state == State::NeedsLogin || row.sign_in.as_ref().is_some_and(is_out))
        };
        let is_broken = |row: &Row| row.enabled && (row.problem.is_some() || row.state == State::Failed);
        Ok(match found {
            Found::Nothing if args.running => Exit::NotRunning,
            Found::Silent => Exit::Failed,
            _ if is_behind.is_some() => Exit::Failed,
            _ if report.servers.iter().any(is_broken) => Exit::Failed,
            _ if report.servers.iter().any(wants_sign_in) => Exit::SignIn,
            _ => Exit::Ok,
        })
    })
}

/// Shows what runs, whose config can no longer be read. Fails where nothing does.
fn running_alone(why: &str, found: &Found, verb: &Verb) -> Result<Exit, Failure> {
    let Some(live) = found.live() else {
        let failure = Failure::config(why);
        let exit = if matches!(found, Found::Silent) { Exit::Failed } else { failure.exit };
        return Err(Failure { exit, ..failure });
    };
    let mut snapshot = live.snapshot.clone();
    if let Some(wanted) = verb.flags.namespace.as_deref() {
        snapshot.namespaces.retain(|namespace| namespace.id.as_deref() == Some(wanted));
        let namespaces = &snapshot.namespaces;
        snapshot.servers.retain(|server| namespaces.iter().any(|one| one.servers.contains(&server.key)));
    }
    let rows = rows(&snapshot, Some(live));
    let client = snapshot.config.client.clone().unwrap_or_default();
    let mut report = render(snapshot, client, &rows, Some(live));
    // What runs may know the same of it.
    if !report.problems.iter().any(|known| !known.what.is_empty() && why.contains(&known.what)) {
        report.problems.push(whole_file(why));
    }
    match verb.output.is_json() {
        true => verb.output.json(&report),
        false => show(&report, &rows, found, verb),
    }
    Ok(Exit::Failed)
}

/// Returns what is wrong with the file as a whole.
fn whole_file(why: impl AsRef<str>) -> Problem {
    Problem { severity: Severity::Error, what: why.as_ref().to_owned(), ..Problem::default() }
}

/// Asks the gateway, if one runs. What is written can be shown whoever does not answer.
fn found(verb: &Verb) -> Result<Found, Failure> {
    match live(verb) {
        Ok(live) => Ok(Found::Live(Box::new(live))),
        Err(failure) if failure.exit == Exit::NotRunning => Ok(Found::Nothing),
        Err(failure) if failure.exit == Exit::Failed => {
            verb.output.remark(&failure.message);
            Ok(Found::Silent)
        }
        Err(failure) => Err(failure),
    }
}

fn live(verb: &Verb) -> Result<Live, Failure> {
    let source = verb.reach_any(Need::Running)?;
    let about = source.about().cloned().ok_or_else(Failure::not_running)?;
    Ok(Live { about, which: source.which(), snapshot: source.snapshot()? })
}

/// Returns how each server of the file is doing.
fn rows(snapshot: &Snapshot, live: Option<&Live>) -> Vec<ServerRow> {
    let row = |server: &admin::Server| {
        let running = live.and_then(|live| {
            let found = live.snapshot.servers.iter().find(|one| one.key == server.key)?;
            Some(live.snapshot.server_row(found))
        });
        running.unwrap_or_else(|| snapshot.server_row(server))
    };
    snapshot.servers.iter().map(row).collect()
}

fn show(report: &Report, rows: &[ServerRow], found: &Found, verb: &Verb) {
    verb.output.text(&escaped_text(&text(report)));
    match found {
        Found::Nothing => _ = verb.output.text("\nnothing runs for this config"),
        Found::Silent => {}
        Found::Live(live) => {
            let since = span(live.about.uptime_ms);
            let clients = counted(live.snapshot.clients.len(), "client");
            verb.output.text(&format!("\nrunning: {}, for {since}, {clients}", live.which));
            verb.output.table(&servers::table(rows));
        }
    }
}

/// Leaves one namespace and its servers.
fn keep_only(config: &mut Config, id: &str) {
    config.namespaces.retain(|namespace| namespace.id == id);
    let namespaces = &config.namespaces;
    config.servers.retain(|server| namespaces.iter().any(|one| one.servers.contains(&server.key)));
}

fn render(snapshot: Snapshot, summary: String, rows: &[ServerRow], live: Option<&Live>) -> Report {
    let Snapshot { gateway, config, servers, namespaces, .. } = snapshot;
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
        running: live.map(|live| Running {
            pid: live.about.pid,
            kind: live.about.kind.as_str().to_owned(),
            version: Some(live.about.version.clone()),
            uptime_ms: Some(live.about.uptime_ms),
        }),
        servers: servers.into_iter().zip(rows).map(|(server, row)| full_row(server, row.clone())).collect(),
        namespaces: namespaces.into_iter().filter_map(namespace).collect(),
        default_namespace: config.default_namespace,
        problems: config.problems,
        secrets: None,
    }
}

fn full_row(server: admin::Server, row: ServerRow) -> Row {
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
        state: row.state,
        kind: row.kind,
        tools: row.tools,
        listed: row.listed,
        clients: row.clients,
        error: row.error,
        hint: row.hint,
        sign_in: row.sign_in,
    }
}

/// Says what is known of a server that need not run.
fn known(saved: Option<&SavedRow>) -> String {
    match saved.and_then(|saved| Some((saved.tools?, saved.age_seconds?))) {
        Some((tools, age)) => {
            format!("; {} known, read {} ago", counted(tools, "tool"), span(age.saturating_mul(1000)))
        }
        None => String::new(),
    }
}

fn text(report: &Report) -> String {
    let mut text = String::new();
    let source = report.config.as_deref().unwrap_or("built in (no config file)");
    let _ = writeln!(text, "manifold {}, profile {}", report.version, report.profile);
    let whose = report.client.as_ref().map_or_else(String::new, |_| format!(" ({})", report.summary));
    let _ = writeln!(text, "config: {source}{whose}\n");
    // One line for each, whatever it is called.
    let name = |row: &Row| match &row.schema {
        Some(schema) => escaped_line(&format!("{schema}/{}", row.id)).into_owned(),
        None => escaped_line(&row.id).into_owned(),
    };
    let width = report.servers.iter().map(|row| name(row).chars().count()).max().unwrap_or(0);
    for row in &report.servers {
        let state = match (&row.problem, row.enabled) {
            (_, false) => "disabled".to_owned(),
            (Some(problem), _) => format!("cannot work: {problem}"),
            (None, true) => format!("{}{}", row.start, known(row.saved.as_ref())),
        };
        let target = escaped_line(&row.target);
        let _ = writeln!(text, "  {:width$}  {:8}{target}  [{state}]", name(row), row.transport);
    }
    if report.servers.is_empty() {
        let _ = writeln!(text, "  no servers");
    }
    let is_asked = |row: &&Row| row.sign_in.as_ref().is_some_and(|sign_in| sign_in.state != "unknown");
    let signed_in: Vec<&Row> = report.servers.iter().filter(is_asked).collect();
    if !signed_in.is_empty() {
        let _ = writeln!(text, "\nsign-ins:");
    }
    for row in signed_in {
        let said = row.sign_in.as_ref().map(sign_in_line).unwrap_or_default();
        let _ = writeln!(text, "  {:width$}  {}", name(row), escaped_line(&said));
    }
    for namespace in &report.namespaces {
        let disabled = if namespace.enabled { "" } else { " (disabled)" };
        let _ = writeln!(
            text,
            "\nnamespace {}{disabled}: {}",
            escaped_line(&namespace.id),
            escaped_line(&namespace.server_ids.join(", "))
        );
    }
    if let Some(secrets) = &report.secrets {
        let _ = writeln!(text, "\nsecrets: {secrets}");
    }
    if !report.problems.is_empty() {
        let _ = writeln!(text, "\nproblems:");
        for problem in &report.problems {
            let _ = writeln!(text, "  {problem}");
        }
    }
    text
}
