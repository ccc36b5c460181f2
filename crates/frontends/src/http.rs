//! HTTP: health and the simple JSON API. Every route is guarded against other websites from the start.

mod guard;
mod json_api;

use std::collections::HashMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use manifold_engine::Gateway;
use manifold_protocol::CodeSet;
use tokio::net::TcpListener;
use tokio::time::Instant;

/// What HTTP serves.
pub struct Site {
    /// Every enabled namespace by id.
    pub namespaces: HashMap<String, Arc<Gateway>>,
    pub codes: CodeSet,
    pub limit_bytes: usize,
    pub started: Instant,
}

/// Serves until `stop` resolves, then lets requests in flight finish.
pub async fn serve(
    listener: TcpListener,
    site: Arc<Site>,
    stop: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    axum::serve(listener, router(site)).with_graceful_shutdown(stop).await
}

fn router(site: Arc<Site>) -> Router {
    let limit = DefaultBodyLimit::max(site.limit_bytes);
    Router::new()
        .route("/health", get(json_api::health))
        .route("/api/{namespace}/mcp", post(json_api::call))
        .fallback(not_found)
        .layer(limit)
        .layer(axum::middleware::from_fn(guard::check))
        .with_state(site)
}

async fn not_found() -> Response {
    let body = r#"{"error":"Not found","availableEndpoints":["GET /health","POST /api/{namespace}/mcp"]}"#;
    json(StatusCode::NOT_FOUND, body)
}

fn json(status: StatusCode, body: impl Into<axum::body::Body>) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json; charset=utf-8")], body.into()).into_response()
}

#[cfg(test)]
mod tests;
