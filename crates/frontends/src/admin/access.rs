//! How far a peer may go: the one place that says which route is for whom. Over anything but the control socket nobody
//! names a command, a variable, an address or a path, unless granted the scope for it through that socket (T3).

use manifold_admin::{AskerEnvironment, CommandError, Effect, ErrorCode, Route};

use super::peer::{Peer, Scope};

/// Returns the least that a peer needs for a route.
fn needed(route: &Route) -> Scope {
    match (route.path, route.effect) {
        // The text of the config holds commands and, where they are written down, secrets.
        (path, _) if path.starts_with("/v1/config") => Scope::Edit,
        // What these change stands in the config, too.
        ("/v1/permissions" | "/v1/servers/{id}/enable" | "/v1/servers/{id}/disable", Effect::Changes) => {
            Scope::Edit
        }
        // Files of other programs, and what stands in them.
        (path, _) if path.starts_with("/v1/setup/") => Scope::Edit,
        // It has every server start, to see whether that works.
        ("/v1/doctor", _) => Scope::Act,
        // What messages said.
        ("/v1/recordings/{id}", Effect::Reads) => Scope::Act,
        // What a page was let in by comes from the user alone; whoever has it may bring it.
        ("/v1/web/session", _) => Scope::Socket,
        ("/v1/web/token", _) => Scope::Nobody,
        // Ending or replacing the program is the user's own.
        (path, Effect::Changes) if path.starts_with("/v1/daemon") => Scope::Socket,
        (_, Effect::Reads) => Scope::View,
        (_, Effect::Asks | Effect::Changes) => Scope::Act,
    }
}

/// Refuses a route that is not for this peer.
pub(super) fn check(peer: &Peer, route: &Route) -> Result<(), CommandError> {
    let needed = needed(route);
    if peer.scope >= needed {
        return Ok(());
    }
    let message = format!(
        "{} {} is not for a session that may only {}",
        route.method.as_str(),
        route.path,
        may(peer.scope)
    );
    let hint = "ask over the control socket, or for a session that may do more";
    Err(CommandError { hint: Some(hint.to_owned()), ..CommandError::new(ErrorCode::Denied, message) })
}

/// Refuses variables and a folder that servers would be started with.
pub(super) fn check_environment(peer: &Peer, told: Option<&AskerEnvironment>) -> Result<(), CommandError> {
    if told.is_none() || peer.scope == Scope::Socket {
        return Ok(());
    }
    let message = "variables and a folder for servers are taken over the control socket alone";
    Err(CommandError::new(ErrorCode::Denied, message))
}

/// Refuses what servers and clients told each other to those who may only look.
pub(super) fn check_bodies(peer: &Peer) -> Result<(), CommandError> {
    if peer.scope >= Scope::Act {
        return Ok(());
    }
    let message = "the bodies of messages are not for a session that may only look";
    let hint = "run `manifold open --act`";
    Err(CommandError { hint: Some(hint.to_owned()), ..CommandError::new(ErrorCode::Denied, message) })
}

fn may(scope: Scope) -> &'static str {
    match scope {
        Scope::Nobody => "bring its code",
        Scope::View => "look",
        Scope::Act => "look and act",
        Scope::Edit | Scope::Socket => "look, act and edit",
    }
}
