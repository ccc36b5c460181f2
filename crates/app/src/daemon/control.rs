//! The control socket: what `manifold daemon` asks and orders.

use std::convert::Infallible;
use std::sync::Arc;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use manifold_admin::{Instance, Kind, Server};
use manifold_frontends::shim::Leaving;
use manifold_rendezvous::is_our_user;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::sleep;
use tracing::warn;

use super::Daemon;
use super::home::{self, Listening};

pub(super) async fn serve(daemon: Arc<Daemon>, mut listening: Listening) {
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
        let one = Arc::clone(&daemon);
        daemon.services.tasks.spawn(async move {
            let answering = service_fn(move |request| answer(Arc::clone(&one), request));
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(socket), answering)
                .await;
        });
    }
}

async fn answer(
    daemon: Arc<Daemon>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (status, body) = match (request.method(), request.uri().path()) {
        (&Method::GET, "/v1/daemon") => (StatusCode::OK, daemon.status()),
        (&Method::POST, "/v1/daemon/stop") => end(&daemon, Leaving::Stopping).await,
        (&Method::POST, "/v1/daemon/restart") => end(&daemon, Leaving::Restarting).await,
        (&Method::POST, "/v1/daemon/upgrade") => upgrade(&daemon).await,
        (_, "/v1/daemon" | "/v1/daemon/stop" | "/v1/daemon/restart" | "/v1/daemon/upgrade") => {
            (StatusCode::METHOD_NOT_ALLOWED, error("method", "this cannot be done to it"))
        }
        _ => (StatusCode::NOT_FOUND, error("unknown", "there is no such resource")),
    };
    let mut response = Response::new(Full::new(Bytes::from(format!("{body}\n"))));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

/// Ends the daemon; answered when all servers are gone.
async fn end(daemon: &Daemon, leaving: Leaving) -> (StatusCode, Value) {
    daemon.life.end_as(leaving);
    daemon.life.until_finished().await;
    (StatusCode::OK, json!({ "pid": std::process::id() }))
}

/// Has the installed program take our place. Who asked hears from that one, or here why not.
async fn upgrade(daemon: &Daemon) -> (StatusCode, Value) {
    let (order, refused) = oneshot::channel();
    if daemon.upgrades.send(order).await.is_err() {
        return (StatusCode::CONFLICT, error("ending", "the daemon is about to end"));
    }
    match refused.await {
        Ok(why) => (StatusCode::CONFLICT, error("refused", &why)),
        Err(_) => (StatusCode::CONFLICT, error("ending", "the daemon is about to end")),
    }
}

/// Returns the instances that count: what needs no process has none.
fn shown(server: &Server) -> impl Iterator<Item = &Instance> {
    server
        .instances
        .iter()
        .filter(|one| one.pid.is_some() || one.key.is_some() && server.kind != Kind::Builtin)
}

fn error(code: &str, message: &str) -> Value {
    json!({ "error": { "code": code, "message": message } })
}

impl Daemon {
    fn status(&self) -> Value {
        let snapshot = self.services.control.snapshot();
        let instance = |one: &Instance| json!({ "key": one.key, "pid": one.pid, "clients": one.clients, "differs": one.differs });
        let servers: Vec<Value> = snapshot
            .servers
            .iter()
            .map(|server| {
                let instances: Vec<Value> = shown(server).map(instance).collect();
                json!({ "id": server.key.id, "state": server.state.as_str(), "instances": instances })
            })
            .collect();
        json!({
            "running": true,
            "pid": std::process::id(),
            "version": env!("CARGO_PKG_VERSION"),
            "epoch": self.epoch,
            "config": self.identity.config,
            "socket": self.place.client_socket(),
            "control": self.place.control_socket(),
            "sinceMs": u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX),
            "stays": self.life.stays(),
            "http": self.http.status(),
            "clients": self.sessions.introduced(),
            "servers": servers,
        })
    }
}
