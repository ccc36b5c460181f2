//! One connection: its deadlines, and the way from its requests to the routes.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_rustls::TlsAcceptor;
use tracing::debug;

use super::Shared;
use super::body::Body;
use super::route;

/// A head must have come whole within this time of its first byte, the first one within this time of connecting, and a
/// body must keep coming (T30).
pub(super) const REQUEST_PATIENCE: Duration = Duration::from_secs(25);
/// How long a connection may rest between requests.
const KEEP_ALIVE: Duration = Duration::from_secs(75);
/// How long a client may leave an answer unread.
const WRITE_PATIENCE: Duration = Duration::from_secs(60);
const HANDSHAKE_PATIENCE: Duration = Duration::from_secs(10);
const MAX_HEAD_BYTES: usize = 64 << 10;

/// Serves one connection to its end.
pub(super) async fn serve(stream: TcpStream, tls: Option<TlsAcceptor>, shared: Arc<Shared>) {
    match tls {
        None => serve_on(stream, shared).await,
        Some(acceptor) => match timeout(HANDSHAKE_PATIENCE, acceptor.accept(stream)).await {
            Ok(Ok(stream)) => serve_on(stream, shared).await,
            Ok(Err(error)) => debug!("TLS handshake failed: {error}"),
            Err(_) => debug!("TLS handshake took too long"),
        },
    }
}

pub(super) async fn serve_on<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    shared: Arc<Shared>,
) {
    let watch = Arc::new(Watch::new());
    let mut closing = shared.closing.clone();
    let io = TokioIo::new(Watched { stream, watch: Arc::clone(&watch) });
    let requests = Arc::clone(&watch);
    let service = service_fn(move |request: Request<Incoming>| {
        let busy = Busy::new(&requests);
        let shared = Arc::clone(&shared);
        async move {
            // Boxed, so that it is gone once the answer begins: a stream may rest for hours (F37).
            let response: Response<Body> = Box::pin(route::answer(request, &shared)).await;
            // The connection counts as busy until the last byte of the answer has been taken.
            Ok::<_, std::convert::Infallible>(response.map(|body| body.held(busy, &shared.site.budget)))
        }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(None).max_buf_size(MAX_HEAD_BYTES);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(100)
        .max_header_list_size(MAX_HEAD_BYTES as u32)
        .max_pending_accept_reset_streams(20);
    let connection = builder.serve_connection_with_upgrades(io, service);
    tokio::pin!(connection);
    let expired = watch.expired();
    tokio::pin!(expired);
    let mut ending = false;
    loop {
        tokio::select! {
            // In this order: what the connection did in this turn moves the deadline looked at next.
            biased;
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    debug!("connection ended: {error}");
                }
                return;
            }
            () = expired.as_mut() => return debug!("connection closed: the peer was too slow"),
            _ = closing.wait_for(|closing| *closing), if !ending => {
                ending = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

/// What the deadlines of a connection depend on. Times are milliseconds since it was made.
struct Watch {
    made: Instant,
    /// Requests whose answer is not written to its end.
    busy: AtomicUsize,
    /// When the head that is being read began; a new connection owes one from the start.
    head_began: AtomicU64,
    /// When the last answer was done.
    rested_since: AtomicU64,
    /// Whether the peer speaks HTTP/2, where bytes between requests are no head.
    is_h2: AtomicBool,
    /// When a write first found the peer's buffers full, and none has gone through since.
    blocked_since: AtomicU64,
}

const NEVER: u64 = u64::MAX;

impl Watch {
    fn new() -> Self {
        Self {
            made: Instant::now(),
            busy: AtomicUsize::new(0),
            head_began: AtomicU64::new(0),
            rested_since: AtomicU64::new(NEVER),
            is_h2: AtomicBool::new(false),
            blocked_since: AtomicU64::new(NEVER),
        }
    }

    fn now(&self) -> u64 {
        self.made.elapsed().as_millis() as u64
    }

    /// Resolves when a deadline has passed. Polled with the connection, so that one timer serves all deadlines and
    /// is set anew only when the next one is sooner.
    async fn expired(&self) {
        let sleep = sleep_until(self.made + REQUEST_PATIENCE);
        tokio::pin!(sleep);
        poll_fn(|context| {
            loop {
                let deadline = self.deadline();
                if let Some(deadline) = deadline.filter(|deadline| *deadline < sleep.deadline()) {
                    sleep.as_mut().reset(deadline);
                }
                ready!(sleep.as_mut().poll(context));
                match deadline {
                    Some(deadline) if deadline <= Instant::now() => return Poll::Ready(()),
                    Some(deadline) => sleep.as_mut().reset(deadline),
                    None => sleep.as_mut().reset(Instant::now() + KEEP_ALIVE),
                }
            }
        })
        .await;
    }

    /// Returns when the peer will have been too slow, as things stand. A call may take as long as it takes.
    fn deadline(&self) -> Option<Instant> {
        let at = |since: u64, patience: Duration| self.made + Duration::from_millis(since) + patience;
        let read = |time: &AtomicU64| Some(time.load(Ordering::Relaxed)).filter(|time| *time != NEVER);
        if let Some(since) = read(&self.blocked_since) {
            return Some(at(since, WRITE_PATIENCE));
        }
        if self.busy.load(Ordering::Relaxed) > 0 {
            return None;
        }
        match read(&self.head_began) {
            Some(since) => Some(at(since, REQUEST_PATIENCE)),
            None => read(&self.rested_since).map(|since| at(since, KEEP_ALIVE)),
        }
    }

    fn read_some(&self, bytes: &[u8]) {
        let served = self.rested_since.load(Ordering::Relaxed) != NEVER;
        if !served && bytes.starts_with(b"PRI * HTTP/2") {
            self.is_h2.store(true, Ordering::Relaxed);
        }
        if served && self.is_h2.load(Ordering::Relaxed) {
            return;
        }
        // The first byte after a rest begins a head.
        if self.busy.load(Ordering::Relaxed) == 0 && self.head_began.load(Ordering::Relaxed) == NEVER {
            self.head_began.store(self.now(), Ordering::Relaxed);
        }
    }

    fn wrote(&self, blocked: bool) {
        let since = self.blocked_since.load(Ordering::Relaxed);
        match (blocked, since) {
            (true, NEVER) => self.blocked_since.store(self.now(), Ordering::Relaxed),
            (false, since) if since != NEVER => self.blocked_since.store(NEVER, Ordering::Relaxed),
            _ => {}
        }
    }
}

/// Counts a request as being answered for as long as it is held.
pub(super) struct Busy(Arc<Watch>);

impl Busy {
    fn new(watch: &Arc<Watch>) -> Self {
        watch.busy.fetch_add(1, Ordering::Relaxed);
        watch.head_began.store(NEVER, Ordering::Relaxed);
        Self(Arc::clone(watch))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.rested_since.store(self.0.now(), Ordering::Relaxed);
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A stream that tells its watch what happens on it.
struct Watched<S> {
    stream: S,
    watch: Arc<Watch>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.watch.read_some(&buffer.filled()[before..]);
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watch.wrote(polled.is_pending());
        polled
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.watch.wrote(polled.is_pending());
        polled
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
