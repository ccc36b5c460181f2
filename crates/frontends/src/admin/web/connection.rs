//! One connection over TCP: the page's files to whoever asks for them by our name, `/v1` to the pages that were let in.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use http_body_util::{BodyExt as _, BodyStream, StreamBody};
use hyper::body::{Body as _, Incoming};
use hyper::header::{CONNECTION, CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request};
use hyper_util::rt::{TokioIo, TokioTimer};
use manifold_admin::CommandError;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;

use super::super::Office;
use super::super::answer::{Answer, refusal};
use super::super::peer::{Peer, Scope};
use super::super::serve as control;
use super::judge::{Own, bearer};
use super::sessions::none;
use super::{Pages, Use, ui};

/// What is kept for a connection before its other end reads it.
const MAX_BUFFER_BYTES: usize = 64 << 10;

/// How long a connection may rest, and a head may take to come.
const HEAD_PATIENCE: Duration = Duration::from_secs(60);

/// How long the other end may take to read why it was refused, while it goes on sending.
const LAST_WORDS: Duration = Duration::from_secs(1);

type Answering = Pin<Box<dyn Future<Output = Result<Answer, Infallible>> + Send>>;

/// Answers a page until it leaves, or the port is closed.
pub(super) async fn serve(
    stream: TcpStream,
    port: u16,
    pages: Arc<Pages>,
    office: Office,
    mut closed: watch::Receiver<()>,
) {
    let own = Arc::new(Own::at(port));
    let answering = service_fn(move |request| -> Answering {
        let (pages, office, own) = (Arc::clone(&pages), office.clone(), Arc::clone(&own));
        Box::pin(async move { Ok(answer(&pages, &office, &own, request).await) })
    });
    let mut connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_PATIENCE)
        .max_buf_size(MAX_BUFFER_BYTES)
        .serve_connection(TokioIo::new(stream), answering);
    let ended = tokio::select! {
        ended = poll_fn(|context| connection.poll_without_shutdown(context)) => ended,
        _ = closed.changed() => {
            Pin::new(&mut connection).graceful_shutdown();
            poll_fn(|context| connection.poll_without_shutdown(context)).await
        }
    };
    if ended.is_ok() {
        linger(connection.into_parts().io.into_inner()).await;
    }
}

/// Lets the other end read the last answer: what it sends on would have the kernel take that away.
async fn linger(mut stream: TcpStream) {
    let _ = stream.shutdown().await;
    let mut thrown_away = [0; 4096];
    let all = async { while matches!(stream.read(&mut thrown_away).await, Ok(1..)) {} };
    let _ = timeout(LAST_WORDS, all).await;
}

async fn answer(pages: &Arc<Pages>, office: &Office, own: &Own, request: Request<Incoming>) -> Answer {
    let has_body = !request.body().is_end_stream();
    let (head, body) = request.into_parts();
    let mut answer = if ui::is_ui(head.uri.path()) {
        match own.check_host(&head) {
            Ok(_) => ui::answer(&head, pages.dev().as_deref()),
            Err(error) => refusal(&error),
        }
    } else {
        let judged = own.check(&head, has_body).and_then(|()| {
            let is_exchange = head.method == Method::POST && head.uri.path() == "/v1/web/token";
            if is_exchange { Ok((nobody(), None)) } else { admit(pages, bearer(&head)?) }
        });
        match judged {
            Ok((peer, used)) => {
                let peer = Arc::new(peer);
                let answer = control::answer(office, &peer, Request::from_parts(head, body)).await;
                until_ended(peer.say_scope(answer), used)
            }
            Err(error) => control::with_headers(refusal(&error), &office.control.cursor().to_string()),
        }
    };
    // What is left of its body must not be taken for the next request.
    if has_body && answer.status().is_client_error() {
        answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    answer
}

/// Who has not been let in may bring a code, and nothing else.
fn nobody() -> Peer {
    Peer { uid: None, pid: None, program: None, face: "web".to_owned(), scope: Scope::Nobody }
}

fn admit(pages: &Arc<Pages>, token: Option<&str>) -> Result<(Peer, Option<Use>), CommandError> {
    let (scope, used) = token.and_then(|token| pages.begin(token)).ok_or_else(none)?;
    let peer =
        Peer { uid: None, pid: None, program: None, face: format!("web:{}", used.id()), scope: scope.into() };
    Ok((peer, Some(used)))
}

/// Has a stream end with the session it belongs to, which is in use for as long.
fn until_ended(answer: Answer, used: Option<Use>) -> Answer {
    let is_stream = answer.headers().get(CONTENT_TYPE).is_some_and(|kind| kind == "text/event-stream");
    let Some(used) = used.filter(|_| is_stream) else { return answer };
    answer.map(|body| {
        let mut ended = used.ended();
        let over = async move { while ended.changed().await.is_ok() {} };
        let frames = BodyStream::new(body).take_until(Box::pin(over)).map(move |frame| {
            let _ = &used;
            frame
        });
        StreamBody::new(frames).boxed_unsync()
    })
}
