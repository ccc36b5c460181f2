//! What goes over HTTP: request bodies read within limits, response bodies whole or as a stream.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use hyper::{HeaderMap, Response, StatusCode};
use manifold_engine::{BoxFuture, Budget};
use manifold_protocol::Parcel;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, timeout_at};

use super::connection::REQUEST_PATIENCE;
use super::h2::Busy;
use super::modern::LaneBody;
use super::stream::EventBody;
use super::{Peer, Site};

/// The slowest a long body may come.
pub(super) const SLOWEST_BYTES_PER_MS: u64 = 16;

/// Such an answer goes into the kernel's buffers, or its connection is gone.
const SMALL_BYTES: usize = 64 << 10;

/// The body of a response.
pub(super) struct Body {
    content: Content,
    /// Held until the body has been taken: the connection is busy till then.
    _busy: Option<Busy>,
    /// Where what has been handed on counts until it is written.
    budget: Option<Budget>,
    /// What the client it is for may leave unread.
    owed: Option<Budget>,
}

enum Content {
    Whole(Parcel),
    Events(EventBody),
    Lane(LaneBody),
    /// No body at all: the connection is something else from here on.
    Upgrade(Upgrade),
}

/// Bytes both ways.
pub(super) trait Duplex: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Duplex for S {}

/// A connection that is no longer HTTP.
pub(super) type Upgraded = Box<dyn Duplex>;

/// What goes on on a connection that is no longer HTTP.
pub(super) type Upgrade = Box<dyn FnOnce(Upgraded) -> BoxFuture<()> + Send>;

impl Body {
    pub(super) fn whole(message: impl Into<Parcel>) -> Self {
        Self { content: Content::Whole(message.into()), _busy: None, budget: None, owed: None }
    }

    pub(super) fn empty() -> Self {
        Self::whole(Parcel::default())
    }

    pub(super) fn events(events: EventBody) -> Self {
        Self { content: Content::Events(events), _busy: None, budget: None, owed: None }
    }

    pub(super) fn lane(lane: LaneBody) -> Self {
        Self { content: Content::Lane(lane), _busy: None, budget: None, owed: None }
    }

    pub(super) fn upgrade(upgrade: impl FnOnce(Upgraded) -> BoxFuture<()> + Send + 'static) -> Self {
        Self { content: Content::Upgrade(Box::new(upgrade)), _busy: None, budget: None, owed: None }
    }

    /// Names whose it is: a client that reads too little loses it.
    pub(super) fn owe_to(&mut self, client: &Budget) {
        self.owed = Some(client.clone());
    }

    /// Returns whose it is, where that matters: what is small is written at once.
    pub(super) fn owed_to(&self) -> Option<Budget> {
        match &self.content {
            Content::Whole(message) if message.len() <= SMALL_BYTES => None,
            _ => self.owed.clone(),
        }
    }

    pub(super) fn is_stream(&self) -> bool {
        matches!(self.content, Content::Events(_) | Content::Lane(_))
    }

    /// Takes out what the connection is to become, if anything.
    pub(super) fn take_upgrade(&mut self) -> Option<Upgrade> {
        match std::mem::replace(&mut self.content, Content::Whole(Parcel::default())) {
            Content::Upgrade(upgrade) => Some(upgrade),
            content => {
                self.content = content;
                None
            }
        }
    }

    /// Returns a body that is there whole, or gives back a stream.
    pub(super) fn into_whole(self) -> Result<Parcel, Self> {
        match self.content {
            Content::Whole(message) => Ok(message),
            Content::Upgrade(_) => Ok(Parcel::default()),
            Content::Events(_) | Content::Lane(_) => Err(self),
        }
    }

    /// Gives the next bytes; `None` ends the body.
    pub(super) fn poll_bytes(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        match &mut self.content {
            Content::Whole(message) => {
                let bytes = std::mem::take(message).into_bytes();
                Poll::Ready(Some(bytes).filter(|bytes| !bytes.is_empty()))
            }
            Content::Events(events) => events.poll_bytes(context),
            Content::Lane(lane) => lane.poll_bytes(context),
            Content::Upgrade(_) => Poll::Ready(None),
        }
    }

    pub(super) fn held(self, busy: Busy, budget: &Budget) -> Self {
        Self { _busy: Some(busy), budget: Some(budget.clone()), ..self }
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.poll_bytes(context).map(|bytes| {
            let bytes = match (bytes?, &self.budget) {
                (bytes, Some(budget)) => budget.hold(bytes),
                (bytes, None) => bytes,
            };
            Some(Ok(Frame::data(bytes)))
        })
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.content, Content::Whole(message) if message.len() == 0)
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Whole(message) => SizeHint::with_exact(message.len() as u64),
            Content::Events(_) | Content::Lane(_) => SizeHint::default(),
            Content::Upgrade(_) => SizeHint::with_exact(0),
        }
    }
}

/// Why a request body was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unread {
    TooLarge,
    Overloaded,
    Stalled,
    Broken,
}

/// Reads a request body over HTTP/2, giving up as soon as it is too large or too slow, or too much is under way with it.
pub(super) async fn read(
    headers: &HeaderMap,
    body: Incoming,
    peer: &Peer,
    site: &Site,
) -> Result<Bytes, Unread> {
    let (limit_bytes, budget) = (site.limit_bytes, &peer.budget);
    let declared = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if declared.is_some_and(|declared| declared > limit_bytes) {
        return Err(Unread::TooLarge);
    }
    if !budget.admits(declared.unwrap_or(0)) {
        return Err(Unread::Overloaded);
    }
    let mut body = body;
    let mut read = Read::default();
    // What is only announced counts for nothing: a client could keep others out with it.
    let mut share = budget.share();
    let began = Instant::now();
    loop {
        // Each byte buys a little more time, so that a body that only trickles is not waited for (T30).
        let bought = Duration::from_millis(read.len() as u64 / SLOWEST_BYTES_PER_MS);
        let deadline = began + REQUEST_PATIENCE + bought;
        let frame = match timeout_at(deadline, body.frame()).await {
            Err(_) => return Err(Unread::Stalled),
            Ok(Some(Err(_))) => return Err(Unread::Broken),
            Ok(Some(Ok(frame))) => frame,
            Ok(None) => return Ok(budget.hold(read.finish())),
        };
        if let Ok(data) = frame.into_data() {
            if read.len() + data.len() > limit_bytes {
                return Err(Unread::TooLarge);
            }
            if !budget.admits(data.len()) {
                return Err(Unread::Overloaded);
            }
            share.grow(data.len());
            read.push(data, declared);
        }
    }
}

/// A body as it comes in. Most come in one piece, which is then never copied.
#[derive(Default)]
struct Read {
    first: Bytes,
    all: BytesMut,
}

impl Read {
    fn len(&self) -> usize {
        self.first.len() + self.all.len()
    }

    fn push(&mut self, data: Bytes, expected: Option<usize>) {
        if self.len() == 0 {
            self.first = data;
            return;
        }
        if !self.first.is_empty() {
            self.all.reserve(expected.unwrap_or(0));
            self.all.extend_from_slice(&std::mem::take(&mut self.first));
        }
        self.all.extend_from_slice(&data);
    }

    fn finish(self) -> Bytes {
        if self.all.is_empty() { self.first } else { self.all.freeze() }
    }
}

/// Makes a JSON response.
pub(super) fn json(status: StatusCode, body: impl Into<Parcel>) -> Response<Body> {
    let mut response = Response::new(Body::whole(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
    response
}

/// Makes a response that is its status.
pub(super) fn bare(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}
