//! HTTP/1.1 as we serve it: one task per connection, next to nothing held while it rests, one write per answer.

mod alarm;
mod body;
mod head;
mod respond;
mod wire;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::{Response, StatusCode};
use manifold_http1::{Length, Malformed, RequestHead};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;

use self::alarm::Alarm;
use self::head::Head;
use self::wire::Wire;
use super::admission::{Admitted, Entry};
use super::answers;
use super::body::{Body, Upgrade};
use super::peer::{Origin, Peer};
use super::rewind::Rewind;
use super::route;
use super::shared::Shared;
use super::timeouts::{KEEP_ALIVE, REQUEST_PATIENCE};

/// How long the head of the last request is kept for the next.
const HEAD_KEPT: Duration = Duration::from_secs(1);

/// How a connection ended.
pub(super) enum End<S> {
    /// By the rules: somebody said it is the last request, or the peer left between two.
    Done,
    TooSlow,
    Broken(io::Error),
    /// It is HTTP/2 that is spoken here.
    Preface(Rewind<S>),
    /// It has become something else.
    Upgraded(Rewind<S>, Upgrade),
}

impl<S> From<io::Error> for End<S> {
    fn from(error: io::Error) -> Self {
        Self::Broken(error)
    }
}

/// Answers the requests of a connection, one after another.
pub(super) async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    peer: &Arc<Peer>,
    shared: &Arc<Shared>,
) -> End<S> {
    let mut wire = Wire::new(stream);
    let mut alarm = Alarm::new(Instant::now() + REQUEST_PATIENCE);
    let mut last = None;
    let closed = shared.closed();
    tokio::pin!(closed);
    loop {
        let head = tokio::select! {
            biased;
            head = next_head(&mut wire, &mut alarm, &mut last) => Some(head),
            () = closed.as_mut() => None,
        };
        let head = match head {
            Some(head) => head,
            None if wire.input.is_empty() => return End::Done,
            // A request that has begun to come is still answered.
            None => next_head(&mut wire, &mut alarm, &mut last).await,
        };
        match head {
            Ok(Next::Request(mut head)) => match answer(&mut wire, &mut head, peer, shared).await {
                Ok(After::Next) => {
                    last = Some(head).filter(|head| head.is_worth_keeping());
                    alarm.set(Instant::now() + if last.is_some() { HEAD_KEPT } else { KEEP_ALIVE });
                }
                Ok(After::Upgrade(upgrade)) => return End::Upgraded(wire.rewound(), upgrade),
                Ok(After::Last) => {
                    wire.linger().await;
                    return End::Done;
                }
                Err(error) => return End::Broken(error),
            },
            Ok(Next::Nothing) => return End::Done,
            Ok(Next::Preface) => {
                return End::Preface(wire.rewound());
            }
            Ok(Next::Malformed(what)) => {
                let _ = respond::write(&mut wire, refuse(what), respond::Manner::LAST, &peer.budget).await;
                wire.linger().await;
                return End::Done;
            }
            Err(Late::TooSlow) => return End::TooSlow,
            Err(Late::Broken(error)) => return End::Broken(error),
        }
    }
}

/// What comes next on a connection.
enum Next {
    Request(Box<Head>),
    Malformed(Malformed),
    Preface,
    Nothing,
}

/// Why nothing came.
enum Late {
    TooSlow,
    Broken(io::Error),
}

/// Waits for the next head, which may be the last one again. May be dropped: what was read stays in the wire.
async fn next_head<S: AsyncRead + AsyncWrite + Unpin>(
    wire: &mut Wire<S>,
    alarm: &mut Alarm,
    last: &mut Option<Box<Head>>,
) -> Result<Next, Late> {
    let mut searched = 0;
    loop {
        if wire.input.len() > searched {
            if let Some(head) = last.take_if(|last| last.request.again(&mut wire.input)) {
                return Ok(Next::Request(head));
            }
            match RequestHead::take(&mut wire.input, searched) {
                Ok(Some(request)) => return Ok(Next::Request(Box::new(Head::new(request)))),
                Ok(None) => {}
                Err(Malformed::Preface) => return Ok(Next::Preface),
                Err(what) => return Ok(Next::Malformed(what)),
            }
            if searched == 0 {
                alarm.set(Instant::now() + REQUEST_PATIENCE);
            }
            searched = wire.input.len();
        }
        let filled = tokio::select! {
            biased;
            filled = wire.fill() => filled,
            () = alarm.rings() => {
                // One that has rested for a while holds nothing any more (F37).
                if wire.input.is_empty() && last.take().is_some() {
                    alarm.set(Instant::now() + (KEEP_ALIVE - HEAD_KEPT));
                    continue;
                }
                return Err(Late::TooSlow);
            }
        };
        match filled {
            Ok(0) => return Ok(Next::Nothing),
            Ok(_) => {}
            Err(error) => return Err(Late::Broken(error)),
        }
    }
}

/// What may follow an answer.
enum After {
    Next,
    Last,
    Upgrade(Upgrade),
}

async fn answer<S: AsyncRead + AsyncWrite + Unpin>(
    wire: &mut Wire<S>,
    head: &mut Head,
    peer: &Arc<Peer>,
    shared: &Arc<Shared>,
) -> io::Result<After> {
    let mut manner = head.manner();
    wire.owes_body = head.request.length != Length::Known(0);
    let stands = |admitted: &Admitted| admitted.stands(&shared.site.admission);
    let admitted = match head.admitted.take().filter(stands) {
        Some(admitted) => Ok(admitted),
        None => match route::admit(&head.request.parts, peer, shared) {
            Ok(Entry::In(admitted)) => Ok(admitted),
            // Boxed: few wait for this, and all would carry its room along.
            Ok(Entry::Unverified(entering)) => {
                Box::pin(route::verify(&head.request.parts, entering, peer, shared)).await
            }
            Err(response) => Err(response),
        },
    };
    let mut response = match admitted {
        Err(response) => *response,
        Ok(admitted) => {
            let origin = Origin::new(peer, head.admitted.insert(admitted));
            let body = body::read(wire, &head.request, peer, &shared.site).await;
            // Boxed, so that it is gone once the answer begins: a stream may rest for hours (F37).
            let mut answering = Box::pin(route::answer(&head.request.parts, body, origin, shared));
            tokio::select! {
                biased;
                response = &mut answering => response,
                // Dropping the future takes the call back.
                () = wire.hung_up() => return Err(io::ErrorKind::ConnectionReset.into()),
            }
        }
    };
    if response.body().is_stream() {
        // It may rest for hours (F37).
        head.request.let_go();
    }
    let ends_with_it = response.body().is_stream() && !manner.has_chunks;
    if ends_with_it || says_close(&response) || shared.is_closing() {
        manner.is_last = true;
    }
    let upgrade = response.body_mut().take_upgrade();
    let manner = respond::write(wire, response, manner, &peer.budget).await?;
    if let Some(upgrade) = upgrade {
        return Ok(After::Upgrade(upgrade));
    }
    Ok(if manner.is_last { After::Last } else { After::Next })
}

fn says_close(response: &Response<Body>) -> bool {
    response.headers().get(hyper::header::CONNECTION).is_some_and(|value| value == "close")
}

fn refuse(what: Malformed) -> Response<Body> {
    let status = match what {
        Malformed::TooLarge => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
        _ => StatusCode::BAD_REQUEST,
    };
    answers::problem(status, head::message(what))
}
