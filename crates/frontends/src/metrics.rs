//! Metrics, for those who come and read them: an address of its own, so that nobody reaches them by the way that clients
//! take.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use hyper::header::{ACCEPT, ORIGIN};
use hyper::{Method, StatusCode};
use manifold_http1::RequestHead;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tracing::debug;

/// Those who read at once; more would only be a burden.
const MAX_READERS: usize = 8;
/// How long one may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// In which words metrics are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Prometheus' own, 0.0.4.
    Text,
    /// OpenMetrics 1.0, which has exemplars.
    OpenMetrics,
}

impl Format {
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }

    /// Returns what a reader would rather have. One that names both has its reasons to.
    fn of(accept: Option<&str>) -> Self {
        match accept.is_some_and(|accept| accept.contains("application/openmetrics-text")) {
            true => Self::OpenMetrics,
            false => Self::Text,
        }
    }
}

/// Tells how things are. It may take a moment.
pub type Render = dyn Fn(Format) -> String + Send + Sync;

/// Answers `GET /metrics` until it is dropped.
pub async fn serve(listener: TcpListener, render: Arc<Render>) {
    let places = Arc::new(Semaphore::new(MAX_READERS));
    let mut readers = JoinSet::new();
    loop {
        while readers.try_join_next().is_some() {}
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                debug!("accepting a reader of metrics failed: {error}");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let render = Arc::clone(&render);
        readers.spawn(async move {
            if let Ok(Err(error)) = timeout(PATIENCE, answer(stream, render)).await {
                debug!("a reader of metrics left: {error}");
            }
            drop(place);
        });
    }
}

/// Answers one request.
async fn answer(mut stream: TcpStream, render: Arc<Render>) -> io::Result<()> {
    let mut input = BytesMut::new();
    let head = loop {
        let searched = input.len();
        if stream.read_buf(&mut input).await? == 0 {
            return Ok(());
        }
        match RequestHead::take(&mut input, searched) {
            Ok(Some(head)) => break Some(head),
            Ok(None) => {}
            Err(_) => break None,
        }
    };
    let (status, kind, body) = match head {
        None => (StatusCode::BAD_REQUEST, Format::Text, "this is no request\n".to_owned()),
        Some(head) => respond(&head, render).await,
    };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {}\r\ncontent-length: {}\r\ncache-control: no-store\r\nconnection: close\r\n\r\n",
        kind.content_type(),
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.shutdown().await
}

async fn respond(head: &RequestHead, render: Arc<Render>) -> (StatusCode, Format, String) {
    let parts = &head.parts;
    let refuse = |status: StatusCode, why: &str| (status, Format::Text, format!("{why}\n"));
    // No page has business here, whatever name it found us under.
    if parts.headers.contains_key(ORIGIN) || parts.headers.contains_key("sec-fetch-site") {
        return refuse(StatusCode::FORBIDDEN, "metrics are not for web pages");
    }
    if parts.uri.path() != "/metrics" {
        return refuse(StatusCode::NOT_FOUND, "metrics are at /metrics");
    }
    if parts.method != Method::GET {
        return refuse(StatusCode::METHOD_NOT_ALLOWED, "metrics are read by GET");
    }
    let format = Format::of(parts.headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()));
    match tokio::task::spawn_blocking(move || render(format)).await {
        Ok(body) => (StatusCode::OK, format, body),
        Err(_) => refuse(StatusCode::INTERNAL_SERVER_ERROR, "metrics could not be told"),
    }
}
