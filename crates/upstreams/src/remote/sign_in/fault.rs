//! What a caller hears of a sign-in that stands in the way.

use manifold_config::DEFAULT_ACCOUNT;
use manifold_oauth::State;
use manifold_protocol::Fault;

/// Returns the account of a sign-in, where it is not the usual one.
pub(crate) fn named_account(account: &str) -> Option<String> {
    (account != DEFAULT_ACCOUNT).then(|| account.to_owned())
}

/// Returns the fault of a call to a server whose sign-in is in this state.
pub(crate) fn fault_of(server: &str, account: &str, state: &State) -> Fault {
    let server = server.to_owned();
    let reason = match state {
        // It is not the user who can help.
        State::Retrying { why, .. } => {
            return Fault::NotRunning { server, reason: format!("its sign-in cannot be renewed now: {why}") };
        }
        State::LoginExpired { why, .. } | State::NeedsClientId { why } | State::StoreFailed { why } => {
            Some(why.clone()).filter(|why| !why.is_empty())
        }
        State::NeedsScope { scopes } => Some(scopes.join(" ")).filter(|scopes| !scopes.is_empty()),
        State::IssuerRefused { expected, got } => Some(format!("expected {expected}, got {got}")),
        State::Unknown | State::Ready | State::NeedsLogin | State::LoginOpen { .. } => None,
    };
    let state = match state {
        State::Unknown | State::Ready => State::NeedsLogin.name(),
        known => known.name(),
    };
    Fault::SignInNeeded { server, account: named_account(account), state, reason }
}
