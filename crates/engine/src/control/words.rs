//! The engine's terms in the operator's words.

use std::time::Duration;

use jiff::Timestamp;
use manifold_admin as admin;
use manifold_config::{
    Builtin, Format, Problem, ProcessDialect, RemoteKind, ServerFault, ServerKey, ServerStart, Severity,
    Transport, redact,
};
use manifold_protocol::Fault;

use crate::changes::ClientId;
use crate::upstream::{CallTally, Phase, SignInReport};

/// How a client is told to have a server started; an operator has a command for it.
const START_TOOL: &str = "; use the servers_start tool";

pub(super) fn server_id(key: &ServerKey) -> admin::ServerId {
    admin::ServerId { schema: key.schema.clone(), id: key.id.clone() }
}

pub(super) fn kind(transport: &Transport) -> admin::Kind {
    match transport {
        Transport::Builtin(_) => admin::Kind::Builtin,
        Transport::Process(process) => match process.dialect {
            ProcessDialect::Mcp => admin::Kind::Stdio,
            ProcessDialect::LiteMcp => admin::Kind::Litemcp,
        },
        Transport::Remote(remote) => match remote.kind {
            RemoteKind::Auto | RemoteKind::StreamableHttp => admin::Kind::Http,
            RemoteKind::Sse => admin::Kind::Sse,
            RemoteKind::LiteMcp => admin::Kind::Litemcp,
        },
    }
}

pub(super) fn target(transport: &Transport) -> admin::Target {
    match transport {
        Transport::Builtin(Builtin::Time) => admin::Target::Builtin { name: "time".to_owned() },
        Transport::Process(process) => {
            admin::Target::Program { command: process.command.clone(), arguments: process.args.len() }
        }
        Transport::Remote(remote) => admin::Target::Address { origin: remote.origin() },
    }
}

pub(super) fn start(start: ServerStart) -> admin::Start {
    match start {
        ServerStart::Eager => admin::Start::Eager,
        ServerStart::Lazy => admin::Start::Lazy,
        ServerStart::Manual => admin::Start::Manual,
    }
}

pub(super) fn format(format: Format) -> admin::Format {
    match format {
        Format::Embedded => admin::Format::Embedded,
        Format::Schemas => admin::Format::Schemas,
        Format::Servers => admin::Format::Servers,
        Format::McpServers => admin::Format::McpServers,
    }
}

/// What is said of a server that failed and has not all of the client's variables, as it has without a daemon.
pub const INHERIT_ADVICE: &str = "under the daemon it has only the variables its definition names: should it need others, \
                                  list them in its `inheritEnv`";

pub(super) fn state(phase: &Phase) -> admin::State {
    match phase {
        Phase::Idle => admin::State::Idle,
        Phase::Starting => admin::State::Starting,
        Phase::Ready => admin::State::Ready,
        Phase::Failed(Fault::SignInNeeded { .. }) => admin::State::NeedsLogin,
        Phase::Failed(_) => admin::State::Failed,
        Phase::Stopped => admin::State::Stopped,
    }
}

/// Returns what may be shown of a sign-in.
pub fn sign_in(report: SignInReport) -> admin::SignIn {
    let moment = |at: u64| Timestamp::from_second(i64::try_from(at).ok()?).ok().map(|at| at.to_string());
    // An issuer may have the name of a customer in its path.
    let host = |issuer: String| {
        let rest = issuer.split_once("://").map_or(issuer.as_str(), |(_, rest)| rest);
        rest.split(['/', '?', '#']).next().unwrap_or_default().to_owned()
    };
    admin::SignIn {
        state: report.state.to_owned(),
        detail: report.detail.map(|detail| redact(&detail).into_owned()),
        account: report.account,
        issuer: report.issuer.map(host),
        scopes: report.scopes,
        until: report.until.and_then(moment),
        last_refresh: report.last_refresh.and_then(moment),
        store: Some(report.store).filter(|store| !store.is_empty()),
    }
}

/// Returns what is wrong in a phase that began so long ago.
pub(super) fn error_in(phase: &Phase, ago: Duration) -> Option<admin::Error> {
    match phase {
        Phase::Failed(fault) => Some(error(fault, ago)),
        Phase::Idle | Phase::Starting | Phase::Ready | Phase::Stopped => None,
    }
}

pub(super) fn error(fault: &Fault, ago: Duration) -> admin::Error {
    let message = redact(&fault.message()).into_owned();
    // What to do about it was put behind it for clients, who get one text.
    let (text, hint) = match message.split_once(INHERIT_ADVICE) {
        Some((text, rest)) => {
            (text.trim_end_matches([' ', '(']).to_owned(), Some(INHERIT_ADVICE.to_owned() + rest))
        }
        None => (message, None),
    };
    // The same of signing in: the command stands behind the last `; `.
    let (text, hint) = match (fault, text.rsplit_once("; ")) {
        (Fault::SignInNeeded { .. }, Some((what, todo))) => (what.to_owned(), Some(todo.to_owned())),
        _ => (text, hint),
    };
    admin::Error {
        reason: reason(fault),
        text,
        hint: hint.map(|hint| hint.trim_end_matches(')').to_owned()),
        ago_ms: Some(millis(ago)),
    }
}

pub(super) fn unresponsive() -> admin::Error {
    admin::Error {
        reason: admin::Reason::Unresponsive,
        text: "it does not respond".to_owned(),
        hint: Some("restart it if it does not recover".to_owned()),
        ..admin::Error::default()
    }
}

fn reason(fault: &Fault) -> admin::Reason {
    match fault {
        Fault::FailedToStart { .. } => admin::Reason::FailedToStart,
        Fault::NotRunning { .. } => admin::Reason::NotRunning,
        Fault::Died { .. } => admin::Reason::Died,
        Fault::TimedOut { .. } => admin::Reason::TimedOut,
        Fault::Refused { .. } => admin::Reason::Refused,
        Fault::Malformed { .. } => admin::Reason::Malformed,
        Fault::TooLarge { .. } => admin::Reason::TooLarge,
        Fault::Busy { .. } => admin::Reason::Busy,
        Fault::Authentication { .. } => admin::Reason::Credentials,
        Fault::SignInNeeded { .. } => admin::Reason::SignIn,
        Fault::ShuttingDown => admin::Reason::ShuttingDown,
        _ => admin::Reason::Other,
    }
}

/// Returns why a server cannot work as configured.
pub(super) fn fault(fault: &ServerFault) -> admin::Error {
    let reason = match fault {
        ServerFault::MissingVariable { .. }
        | ServerFault::MissingSecret { .. }
        | ServerFault::Unasked { .. } => admin::Reason::MissingVariable,
        ServerFault::NoSuchProgram { .. } => admin::Reason::NoSuchProgram,
        ServerFault::BadEntry { .. } | ServerFault::EnvFile { .. } => admin::Reason::BadEntry,
        ServerFault::Itself => admin::Reason::Itself,
    };
    let (text, hint) = match fault {
        ServerFault::NoSuchProgram { command, hint } => {
            (format!("no such program `{command}`"), Some(hint.clone()))
        }
        ServerFault::MissingSecret { what, hint } => (what.clone(), Some(hint.clone())),
        _ => (fault.message(), None),
    };
    admin::Error { reason, text, hint, ..admin::Error::default() }
}

pub(super) fn problem(problem: &Problem) -> admin::Problem {
    admin::Problem {
        severity: match problem.severity {
            Severity::Error => admin::Severity::Error,
            Severity::Warning => admin::Severity::Warning,
        },
        file: problem.file.as_ref().map(|file| file.display().to_string()),
        line: problem.line,
        place: problem.place.clone(),
        what: problem.what.clone(),
        hint: problem.hint.clone(),
    }
}

/// Returns a fault as the answer to a command about a server.
pub(super) fn refusal(fault: &Fault, server: admin::ServerId) -> admin::CommandError {
    admin::CommandError { server: Some(server), ..command_error(fault) }
}

/// Returns a fault as the answer to what an operator wished for.
pub fn command_error(fault: &Fault) -> admin::CommandError {
    let message = redact(&fault.message()).into_owned();
    match (fault, message.split_once(START_TOOL)) {
        (Fault::NotRunning { server, .. }, Some((message, _))) => admin::CommandError {
            hint: Some(format!("`manifold start {server}` starts it")),
            ..admin::CommandError::new(code(fault), message)
        },
        // In the words that are used of tools and prompts.
        (Fault::UnknownResource(uri), _) => {
            admin::CommandError::new(code(fault), format!("there is no resource '{}'", redact(uri)))
        }
        _ => admin::CommandError::new(code(fault), message),
    }
}

/// Returns the word for a fault that an operator's wish ended with.
fn code(fault: &Fault) -> admin::ErrorCode {
    match fault {
        Fault::SignInNeeded { .. } => admin::ErrorCode::SignIn,
        Fault::FailedToStart { .. } | Fault::Authentication { .. } | Fault::NotRunning { .. } => {
            admin::ErrorCode::FailedToStart
        }
        Fault::TimedOut { .. } => admin::ErrorCode::TimedOut,
        Fault::UnknownTool(_)
        | Fault::UnknownToolOf { .. }
        | Fault::UnknownPrompt(_)
        | Fault::UnknownResource(_) => admin::ErrorCode::UnknownItem,
        Fault::UnknownServer { .. } => admin::ErrorCode::UnknownServer,
        Fault::NeedsConsent { .. } | Fault::NeedsScope { .. } => admin::ErrorCode::Denied,
        Fault::InvalidParams(_) => admin::ErrorCode::BadRequest,
        Fault::ShuttingDown => admin::ErrorCode::ShuttingDown,
        _ => admin::ErrorCode::Failed,
    }
}

/// Returns how an instance is told from others that were started with something else.
pub(crate) fn instance_key(hash: u64) -> String {
    format!("{hash:016x}")
}

/// Returns a tally in the operator's words.
pub(super) fn calls(tally: &CallTally) -> admin::Calls {
    admin::Calls {
        in_flight: Some(tally.in_flight),
        total: Some(tally.ended + tally.in_flight),
        failed: Some(tally.failed),
        p50_us: tally.percentile_us(50),
        p95_us: tally.percentile_us(95),
    }
}

/// Returns how the instance that a client has for itself is told from others.
pub(crate) fn client_instance(client: ClientId) -> String {
    format!("client {}", client.0)
}

/// Writes a time, in milliseconds since the beginning of 1970, as RFC 3339 has it, in UTC.
pub(super) fn time(at_ms: u64) -> String {
    let at = i64::try_from(at_ms).ok().and_then(|at| Timestamp::from_millisecond(at).ok());
    at.map(|at| format!("{at:.3}")).unwrap_or_default()
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[test]
fn advice_is_apart_from_what_is_wrong() {
    let reason = format!("it exited with code 3 ({INHERIT_ADVICE})");
    let told = error(&Fault::FailedToStart { server: "a".to_owned(), reason }, Duration::ZERO);
    assert_eq!(told.text, "Server 'a' failed to start: it exited with code 3");
    assert_eq!(told.hint.as_deref(), Some(INHERIT_ADVICE));
    let missing =
        ServerFault::NoSuchProgram { command: "/no".to_owned(), hint: "correct the path".to_owned() };
    let told = fault(&missing);
    assert_eq!(
        (told.text.as_str(), told.hint.as_deref()),
        ("no such program `/no`", Some("correct the path"))
    );
}
