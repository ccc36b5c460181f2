//! What goes wrong with a client's servers, told where that client's user looks: in the log of its shim.

use tokio::sync::broadcast::error::RecvError;

use super::Daemon;

/// Tells clients of servers that fail, for as long as there is a daemon.
pub(super) async fn tell(daemon: &Daemon) {
    let Some(mut changes) = daemon.services.control.server_changes() else {
        return std::future::pending().await;
    };
    loop {
        match changes.recv().await {
            Ok(server) => daemon.sessions.tell_of(&server.id),
            // Too many at once: whatever has failed is told, and nobody is told twice.
            Err(RecvError::Lagged(_)) => {
                let config = daemon.services.fleet.config();
                config.servers.iter().for_each(|server| daemon.sessions.tell_of(&server.key.id));
            }
            Err(RecvError::Closed) => return std::future::pending().await,
        }
    }
}
