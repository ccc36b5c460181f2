//! Errors of the control API: the status for each code, and the code for each fault of a call.

use hyper::StatusCode;
use manifold_admin::{CommandError, ErrorCode, ServerId};
use manifold_engine::command_error;
use manifold_protocol::{Failure, Fault, Raw};

use crate::questions;

pub(super) fn status(code: ErrorCode) -> StatusCode {
    match code {
        ErrorCode::BadRequest => StatusCode::BAD_REQUEST,
        ErrorCode::SignIn | ErrorCode::SessionEnded => StatusCode::UNAUTHORIZED,
        ErrorCode::Denied => StatusCode::FORBIDDEN,
        ErrorCode::UnknownServer
        | ErrorCode::UnknownNamespace
        | ErrorCode::UnknownItem
        | ErrorCode::UnknownClient
        | ErrorCode::UnknownRoute => StatusCode::NOT_FOUND,
        ErrorCode::AmbiguousServer | ErrorCode::AmbiguousItem | ErrorCode::NothingToUndo => {
            StatusCode::CONFLICT
        }
        ErrorCode::Stale => StatusCode::PRECONDITION_FAILED,
        ErrorCode::ConfigRefused => StatusCode::UNPROCESSABLE_ENTITY,
        ErrorCode::Unsupported => StatusCode::NOT_IMPLEMENTED,
        ErrorCode::FailedToStart | ErrorCode::ServerError => StatusCode::BAD_GATEWAY,
        ErrorCode::ShuttingDown | ErrorCode::Busy => StatusCode::SERVICE_UNAVAILABLE,
        ErrorCode::TimedOut => StatusCode::GATEWAY_TIMEOUT,
        ErrorCode::Failed | ErrorCode::Other => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// Returns why a call, of a server where that is known, has no result.
pub(super) fn of_call(failure: &Failure, server: Option<&str>) -> CommandError {
    match failure {
        Failure::Fault(fault) => of_fault(fault),
        Failure::Peer(error) => of_server(error, server),
    }
}

fn of_fault(fault: &Fault) -> CommandError {
    let server = server_of(fault).map(|id| ServerId { schema: None, id: id.to_owned() });
    CommandError { server, code: code(fault), ..command_error(fault) }
}

/// Returns a server's own error, in its own words.
fn of_server(error: &Raw, server: Option<&str>) -> CommandError {
    let spelt_out = questions::urls_to_visit(error).map(|visits| questions::spell_out_urls(error, &visits));
    let error = spelt_out.as_ref().unwrap_or(error);
    let text = error.get("message");
    let text = text.as_ref().and_then(Raw::to_lossy_text).unwrap_or_default();
    let number = error.get("code").map(|code| code.as_str().to_owned()).unwrap_or_default();
    let who = server.map_or_else(|| "the server".to_owned(), |server| format!("Server '{server}'"));
    CommandError {
        server: server.map(|id| ServerId { schema: None, id: id.to_owned() }),
        ..CommandError::new(ErrorCode::ServerError, format!("{who} answered with error {number}: {text}"))
    }
}

fn code(fault: &Fault) -> ErrorCode {
    match fault {
        Fault::Parse
        | Fault::InvalidRequest(_)
        | Fault::UnknownMethod(_)
        | Fault::InvalidParams(_)
        | Fault::MissingParameter(_)
        | Fault::ArgumentMismatch { .. }
        | Fault::HeaderMismatch(_)
        | Fault::UnsupportedVersion { .. } => ErrorCode::BadRequest,
        Fault::UnknownTool(_)
        | Fault::UnknownServer { .. }
        | Fault::UnknownToolOf { .. }
        | Fault::UnknownPrompt(_)
        | Fault::UnknownResource(_) => ErrorCode::UnknownItem,
        Fault::UnknownNamespace { .. } | Fault::NamespaceNotChosen { .. } => ErrorCode::UnknownNamespace,
        Fault::FailedToStart { .. } | Fault::NotRunning { .. } | Fault::Authentication { .. } => {
            ErrorCode::FailedToStart
        }
        Fault::SignInNeeded { .. } => ErrorCode::SignIn,
        Fault::NeedsConsent { .. } | Fault::NeedsScope { .. } => ErrorCode::Denied,
        Fault::TimedOut { .. } => ErrorCode::TimedOut,
        Fault::Busy { .. }
        | Fault::Overloaded { .. }
        | Fault::OverLimit { .. }
        | Fault::RateLimited { .. } => ErrorCode::Busy,
        Fault::ShuttingDown => ErrorCode::ShuttingDown,
        Fault::Died { .. }
        | Fault::Refused { .. }
        | Fault::TooLarge { .. }
        | Fault::Malformed { .. }
        | Fault::ClientCannot { .. }
        | Fault::MissingCapability { .. }
        | Fault::Unanswered { .. }
        | Fault::Internal(_) => ErrorCode::Failed,
    }
}

fn server_of(fault: &Fault) -> Option<&str> {
    match fault {
        Fault::FailedToStart { server, .. }
        | Fault::NotRunning { server, .. }
        | Fault::Busy { server, .. }
        | Fault::TimedOut { server, .. }
        | Fault::Died { server, .. }
        | Fault::Refused { server, .. }
        | Fault::Malformed { server, .. }
        | Fault::Authentication { server, .. }
        | Fault::SignInNeeded { server, .. }
        | Fault::Unanswered { server, .. } => Some(server),
        _ => None,
    }
}
