//! What goes over HTTP: request bodies read within limits, response bodies whole or as a stream.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use hyper::body::{Body as _, Incoming};
use manifold_engine::{BoxFuture, Budget};
use manifold_protocol::Outgoing;
use tokio::io::{AsyncRead, AsyncWrite};

use super::modern_lane::LaneBody;
use super::stream::EventBody;
use crate::admin::AnswerBody;

/// Such an answer goes into the kernel's buffers, or its connection is gone.
const SMALL_BYTES: usize = 64 << 10;

/// The body of a response.
pub(super) struct Body {
    content: Content,
    /// What the client it is for may leave unread.
    owed: Option<Budget>,
}

enum Content {
    Whole(Outgoing),
    Events(EventBody),
    Lane(LaneBody),
    /// What another replica answers.
    Forwarded(Incoming),
    /// A stream of the control API.
    Control(AnswerBody),
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
    pub(super) fn whole(message: impl Into<Outgoing>) -> Self {
        Self { content: Content::Whole(message.into()), owed: None }
    }

    pub(super) fn empty() -> Self {
        Self::whole(Outgoing::default())
    }

    pub(super) fn events(events: EventBody) -> Self {
        Self { content: Content::Events(events), owed: None }
    }

    pub(super) fn lane(lane: LaneBody) -> Self {
        Self { content: Content::Lane(lane), owed: None }
    }

    pub(super) fn forwarded(answer: Incoming) -> Self {
        Self { content: Content::Forwarded(answer), owed: None }
    }

    pub(super) fn control(stream: AnswerBody) -> Self {
        Self { content: Content::Control(stream), owed: None }
    }

    pub(super) fn upgrade(upgrade: impl FnOnce(Upgraded) -> BoxFuture<()> + Send + 'static) -> Self {
        Self { content: Content::Upgrade(Box::new(upgrade)), owed: None }
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
        matches!(
            self.content,
            Content::Events(_) | Content::Lane(_) | Content::Control(_) | Content::Forwarded(_)
        )
    }

    /// Takes out what the connection is to become, if anything.
    pub(super) fn take_upgrade(&mut self) -> Option<Upgrade> {
        match std::mem::replace(&mut self.content, Content::Whole(Outgoing::default())) {
            Content::Upgrade(upgrade) => Some(upgrade),
            content => {
                self.content = content;
                None
            }
        }
    }

    /// Returns a body that is there whole, or gives back a stream.
    pub(super) fn into_whole(self) -> Result<Outgoing, Self> {
        match self.content {
            Content::Whole(message) => Ok(message),
            Content::Upgrade(_) => Ok(Outgoing::default()),
            Content::Events(_) | Content::Lane(_) | Content::Control(_) | Content::Forwarded(_) => Err(self),
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
            Content::Control(stream) => poll_control(stream, context),
            Content::Forwarded(answer) => poll_forwarded(answer, context),
            Content::Upgrade(_) => Poll::Ready(None),
        }
    }
}

fn poll_control(stream: &mut AnswerBody, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
    loop {
        match ready!(Pin::new(&mut *stream).poll_frame(context)) {
            Some(Ok(frame)) => match frame.into_data() {
                Ok(bytes) => return Poll::Ready(Some(bytes)),
                // Trailers: there are none.
                Err(_) => continue,
            },
            None => return Poll::Ready(None),
        }
    }
}

fn poll_forwarded(answer: &mut Incoming, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
    loop {
        match ready!(Pin::new(&mut *answer).poll_frame(context)) {
            Some(Ok(frame)) => match frame.into_data() {
                Ok(bytes) => return Poll::Ready(Some(bytes)),
                Err(_) => continue,
            },
            // A replica that is gone cannot say more; its client comes back.
            Some(Err(_)) | None => return Poll::Ready(None),
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

/// A body as it comes in. Most come in one piece, which is then never copied.
#[derive(Default)]
pub(super) struct Read {
    first: Bytes,
    all: BytesMut,
}

impl Read {
    pub(super) fn len(&self) -> usize {
        self.first.len() + self.all.len()
    }

    pub(super) fn push(&mut self, data: Bytes, expected: Option<usize>) {
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

    pub(super) fn finish(self) -> Bytes {
        if self.all.is_empty() { self.first } else { self.all.freeze() }
    }
}
