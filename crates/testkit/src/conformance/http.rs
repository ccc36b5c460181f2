//! Streamable HTTP, with two things rmcp leaves to the application: hanging up in the middle of a call, and being a
//! server from before 2026.

use std::io::{Write, stderr};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::{StatusCode, header::CONTENT_TYPE};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use http_body::Frame;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::json;
use tokio::sync::oneshot;

use super::Era;
use super::server::Server;

/// rmcp 3.8.0 forgets an answer that is ready before the client is back, so the client is asked to be back soon.
const BACK_SOON: Duration = Duration::from_millis(20);

pub(super) async fn serve(
    server: Server,
    era: Era,
    address: SocketAddr,
) -> Result<(), Box<dyn std::error::Error>> {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(era != Era::Modern)
        .with_sse_retry(Some(BACK_SOON))
        .with_allowed_origins(["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"]);
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.sse_retry = Some(BACK_SOON);
    let sessions = Arc::new(sessions);
    let service = StreamableHttpService::new(move || Ok(server.for_session()), sessions, config);
    let mut router = Router::new().route_service("/mcp", service).layer(from_fn(with_hangup));
    if era == Era::Legacy {
        router = router.layer(from_fn(refuse_modern));
    }
    let listener = tokio::net::TcpListener::bind(address).await?;
    writeln!(stderr(), "listening on http://{}/mcp", listener.local_addr()?)?;
    axum::serve(listener, router).await?;
    Ok(())
}

/// Ends the response to the request it came with, at once and with no more bytes.
#[derive(Clone)]
pub(super) struct Hangup(Arc<Mutex<Option<oneshot::Sender<()>>>>);

impl Hangup {
    pub(super) fn hang_up(&self) {
        if let Some(line) = self.0.lock().expect("nobody panics with the line").take() {
            // The client may have gone first.
            let _ = line.send(());
        }
    }
}

async fn with_hangup(mut request: Request, next: Next) -> Response {
    let (line, cut) = oneshot::channel();
    request.extensions_mut().insert(Hangup(Arc::new(Mutex::new(Some(line)))));
    next.run(request).await.map(|body| Body::new(Line { body, cut: Some(cut) }))
}

/// A body that ends early when its `Hangup` is used.
struct Line {
    body: Body,
    cut: Option<oneshot::Receiver<()>>,
}

impl HttpBody for Line {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let line = &mut *self;
        // What the server has already written goes out first.
        if let ready @ Poll::Ready(_) = Pin::new(&mut line.body).poll_frame(context) {
            return ready;
        }
        let Some(cut) = &mut line.cut else { return Poll::Pending };
        match Pin::new(cut).poll(context) {
            Poll::Ready(Ok(())) => Poll::Ready(None),
            // Dropped unused: nobody will hang up any more.
            Poll::Ready(Err(_)) => {
                line.cut = None;
                Poll::Pending
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

/// Answers as servers did before 2026-07-28: a version they do not know is a bad request, in no modern words.
async fn refuse_modern(request: Request, next: Next) -> Response {
    let known = |value: &str| Era::Legacy.versions().iter().any(|version| version.as_str() == value);
    match request.headers().get("mcp-protocol-version").map(|value| value.to_str()) {
        Some(Ok(version)) if !known(version) => {
            let message = format!("Bad Request: Unsupported protocol version: {version}");
            let body = json!({"jsonrpc": "2.0", "error": {"code": -32000, "message": message}, "id": null});
            (StatusCode::BAD_REQUEST, [(CONTENT_TYPE, "application/json")], body.to_string()).into_response()
        }
        _ => next.run(request).await,
    }
}
