//! The control socket: what `manifold daemon` asks and orders.

use std::sync::Arc;

use manifold_admin::{
    CommandError, DaemonInstance, DaemonServer, ErrorCode, Instance, Kind, NotUpgraded, RunningDaemon, Server,
};
use manifold_frontends::admin::{self, DaemonOrder, Office};
use manifold_frontends::shim::Leaving;
use manifold_rendezvous::is_our_user;
use tokio::sync::oneshot;
use tokio::time::sleep;
use tracing::warn;

use super::home::{self, Listening};
use super::{Daemon, Presence};

pub(super) async fn serve(daemon: Arc<Daemon>, office: Office, mut listening: Listening) {
    loop {
        let socket = match home::next(&mut listening).await {
            Ok(socket) if is_our_user(&socket) => socket,
            Ok(_) => continue,
            Err(error) => {
                warn!("no order can be taken: {error}");
                sleep(std::time::Duration::from_millis(50)).await;
                continue;
            }
        };
        daemon.services.tasks.spawn(admin::serve(socket, office.clone()));
    }
}

/// Returns the instances that count: what needs no process has none.
fn shown(server: &Server) -> impl Iterator<Item = &Instance> {
    server
        .instances
        .iter()
        .filter(|one| one.pid.is_some() || one.key.is_some() && server.kind != Kind::Builtin)
}

impl Daemon {
    /// Counts somebody in who looks at us; none once the end has been decided.
    pub(crate) fn enter(&self) -> Option<Presence> {
        self.life.enter()
    }

    /// Ends, or has the installed program take our place; whoever ordered that hears from that one, or here why not.
    pub(crate) async fn obey(&self, order: DaemonOrder) -> Result<(), CommandError> {
        let refused = |code, why: &str| Err(CommandError::new(code, why));
        match order {
            DaemonOrder::Stop => self.end(Leaving::Stopping).await,
            DaemonOrder::Restart => self.end(Leaving::Restarting).await,
            DaemonOrder::Upgrade => {
                let (order, answer) = oneshot::channel();
                let ending = "the daemon is about to end";
                if self.upgrades.send(order).await.is_err() {
                    return refused(ErrorCode::ShuttingDown, ending);
                }
                return match answer.await {
                    Ok(why) => refused(ErrorCode::Failed, &why),
                    Err(_) => refused(ErrorCode::ShuttingDown, ending),
                };
            }
        }
        Ok(())
    }

    /// Ends the daemon; done when all servers are gone.
    async fn end(&self, leaving: Leaving) {
        self.life.end_as(leaving);
        self.life.until_finished().await;
    }

    /// Returns which installed program was not taken over, and why.
    pub(crate) fn not_upgraded(&self) -> Option<NotUpgraded> {
        self.not_upgraded.borrow().clone()
    }

    /// Returns what `daemon status` shows.
    pub(crate) fn status(&self) -> RunningDaemon {
        RunningDaemon {
            running: true,
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            epoch: self.epoch.clone(),
            config: self.identity.config.clone(),
            unread: self.services.fleet.config().unread.clone(),
            refused: self.services.fleet.outdated().map(|outdated| outdated.problem.clone()),
            not_upgraded: self.not_upgraded(),
            socket: self.place.client_socket().display().to_string(),
            control: self.place.control_socket().display().to_string(),
            since_ms: u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX),
            stays: self.life.stays(),
            http: self.http.status(),
            clients: self.sessions.introduced(),
            servers: self.services.control.servers().iter().map(server).collect(),
        }
    }
}

fn server(server: &Server) -> DaemonServer {
    let instance = |one: &Instance| DaemonInstance {
        key: one.key.clone(),
        pid: one.pid,
        clients: one.clients,
        differs: one.differs.clone(),
    };
    DaemonServer {
        id: server.key.id.clone(),
        schema: server.key.schema.clone(),
        state: server.state,
        instances: shown(server).map(instance).collect(),
    }
}
