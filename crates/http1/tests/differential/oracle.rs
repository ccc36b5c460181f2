//! hyper, reading what we read: as a server and as a client of a peer that says what it is given.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::{pending, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::service::service_fn;
use manifold_http1::Asked;

use super::Plain;

/// An answer, and where it ends.
pub(crate) struct Answer {
    pub(crate) message: Plain,
    pub(crate) end: usize,
}

/// Returns the requests that hyper reads to their end.
pub(crate) fn requests(pieces: &[&[u8]]) -> Vec<Plain> {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let service = service_fn(|request: Request<Incoming>| {
        let heard = Arc::clone(&heard);
        async move {
            let (head, body) = request.into_parts();
            let start = format!("{} {} {:?}", head.method, head.uri, head.version);
            let body = body.collect().await?.to_bytes().to_vec();
            heard.lock().expect("nobody panics with it").push(plain(start, listed(&head.headers), body));
            Ok::<_, hyper::Error>(Response::new(Empty::<Bytes>::new()))
        }
    });
    let serve = hyper::server::conn::http1::Builder::new()
        .half_close(true)
        .header_read_timeout(None)
        .serve_connection(Peer::new(pieces, true), service);
    // However it ends, what was heard counts.
    let _ = run(serve);
    std::mem::take(&mut *heard.lock().expect("nobody panics with it"))
}

/// Returns the first answer, if hyper reads it to its end.
pub(crate) fn response(pieces: &[&[u8]], asked: Asked) -> Option<Answer> {
    let length: usize = pieces.iter().map(|piece| piece.len()).sum();
    run(async {
        let peer = Peer::new(pieces, false);
        let (mut sender, mut connection) =
            hyper::client::conn::http1::handshake(peer).await.expect("nothing is said yet");
        let method = if asked == Asked::Head { "HEAD" } else { "GET" };
        let request =
            Request::builder().method(method).uri("/").body(Empty::<Bytes>::new()).expect("a request");
        let ask = async {
            let (head, body) = sender.send_request(request).await?.into_parts();
            let body = body.collect().await?.to_bytes().to_vec();
            Ok::<_, hyper::Error>(plain(head.status.as_u16().to_string(), listed(&head.headers), body))
        };
        let drive = async {
            let _ = poll_fn(|context| connection.poll_without_shutdown(context)).await;
            pending::<Infallible>().await
        };
        let message = tokio::select! {
            answer = ask => answer.ok()?,
            never = drive => match never {},
        };
        let parts = connection.into_parts();
        let left: usize = parts.io.pieces.iter().map(Vec::len).sum();
        Some(Answer { message, end: length - left - parts.read_buf.len() })
    })
}

/// Returns a message as both sides show it.
pub(crate) fn plain(start: String, mut headers: Vec<(String, Vec<u8>)>, body: Vec<u8>) -> Plain {
    headers.sort_by(|(one, _), (other, _)| one.cmp(other));
    headers.dedup_by(|second, first| first.0 == "content-length" && second == first);
    (start, headers, body)
}

fn listed(headers: &HeaderMap) -> Vec<(String, Vec<u8>)> {
    headers.iter().map(|(name, value)| (name.to_string(), value.as_bytes().to_vec())).collect()
}

fn run<T>(future: impl Future<Output = T>) -> T {
    thread_local! {
        static RUNTIME: tokio::runtime::Runtime =
            tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    }
    RUNTIME.with(|runtime| runtime.block_on(future))
}

/// A peer that says one piece after another and hangs up; a server waits until it is asked.
struct Peer {
    pieces: VecDeque<Vec<u8>>,
    is_asked: bool,
    waiting: Option<Waker>,
}

impl Peer {
    fn new(pieces: &[&[u8]], is_asked: bool) -> Self {
        Self { pieces: pieces.iter().map(|piece| piece.to_vec()).collect(), is_asked, waiting: None }
    }
}

impl Read for Peer {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.is_asked {
            self.waiting = Some(context.waker().clone());
            return Poll::Pending;
        }
        if let Some(mut piece) = self.pieces.pop_front() {
            let rest = piece.split_off(piece.len().min(buffer.remaining()));
            buffer.put_slice(&piece);
            if !rest.is_empty() {
                self.pieces.push_front(rest);
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl Write for Peer {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.is_asked = true;
        if let Some(waiting) = self.waiting.take() {
            waiting.wake();
        }
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
