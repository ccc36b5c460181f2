//! What goes wrong with a client's servers, told where that client's user looks: in the log of its shim.

use manifold_admin::Happening;

use super::Daemon;

/// Tells clients of servers that fail, for as long as there is a daemon.
pub(super) async fn tell(daemon: &Daemon) {
    let Some(mut events) = daemon.services.control.attend() else { return std::future::pending().await };
    loop {
        let Some(event) = events.next().await else { return std::future::pending().await };
        if let Happening::Server { server } = &event.happening {
            daemon.sessions.tell_of(&server.key.id);
        }
    }
}
