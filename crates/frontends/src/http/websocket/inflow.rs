//! What comes in on a WebSocket, watched on its way: a message counts from its first byte, and must keep coming (M7).

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use manifold_engine::{Budget, Share, delegate_io};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::http::timeouts::{REQUEST_PATIENCE, SLOWEST_BYTES_PER_MS};

/// The most that stands before a frame's payload (RFC 6455, 5.2).
const MAX_HEAD_BYTES: usize = 14;

/// A connection whose frames are followed as they are read. A read fails with `QuotaExceeded` where there is no room for a
/// message, and with `TimedOut` where one has begun and does not come.
pub(super) struct Inflow<S> {
    stream: S,
    budget: Budget,
    frame: Frame,
    /// The message that has begun and not ended, if one has.
    message: Option<Message>,
    /// Set only while something unfinished is waited for.
    alarm: Option<Pin<Box<Sleep>>>,
}

struct Message {
    share: Share,
    began: Instant,
    last: Instant,
    /// A part of it has ended, and another must follow.
    has_parts: bool,
}

impl Message {
    /// Each byte buys a little more time, as for a request's body (T30), but none that has stopped coming.
    fn deadline(&self) -> Instant {
        let bought = Duration::from_millis(self.share.bytes() as u64 / SLOWEST_BYTES_PER_MS);
        (self.began + bought).min(self.last) + REQUEST_PATIENCE
    }
}

/// Where in a frame we are.
enum Frame {
    Head { bytes: [u8; MAX_HEAD_BYTES], read: usize },
    Payload { left: u64, is_control: bool, is_last: bool },
}

const NO_FRAME: Frame = Frame::Head { bytes: [0; MAX_HEAD_BYTES], read: 0 };

impl<S> Inflow<S> {
    pub(super) fn new(stream: S, budget: Budget) -> Self {
        Self { stream, budget, frame: NO_FRAME, message: None, alarm: None }
    }

    /// Follows what was read through its frames. Returns false if there is no room for it.
    fn follow(&mut self, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            match &mut self.frame {
                Frame::Head { bytes: head, read } => {
                    head[*read] = bytes[0];
                    *read += 1;
                    bytes = &bytes[1..];
                    let payload = payload_after(&head[..*read]);
                    // A control frame may stand between two parts of a message; it is short, and no progress of that.
                    if self.message.is_none() {
                        self.message = Some(self.begin());
                    }
                    if let Some(payload) = payload {
                        self.enter(payload);
                    }
                }
                Frame::Payload { left, is_control, .. } => {
                    let size = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                    let is_control = *is_control;
                    *left -= size as u64;
                    bytes = &bytes[size..];
                    if let Some(message) = self.message.as_mut().filter(|_| !is_control) {
                        if !message.share.admits(size) {
                            return false;
                        }
                        message.share.grow(size);
                        message.last = Instant::now();
                    }
                    self.leave();
                }
            }
        }
        true
    }

    fn begin(&self) -> Message {
        let now = Instant::now();
        Message { share: self.budget.share(), began: now, last: now, has_parts: false }
    }

    fn enter(&mut self, payload: Frame) {
        self.frame = payload;
        self.leave();
    }

    /// Notes the end of a frame, and of its message, once nothing of it is left.
    fn leave(&mut self) {
        let Frame::Payload { left: 0, is_control, is_last } = self.frame else { return };
        self.frame = NO_FRAME;
        // Of a control frame outside any message nothing is left; one inside leaves the message as it is.
        match &mut self.message {
            Some(message) if !is_control && !is_last => message.has_parts = true,
            Some(message) if is_control && message.has_parts => {}
            message => {
                *message = None;
                self.alarm = None;
            }
        }
    }

    /// Resolves when what has begun has not come for too long.
    fn poll_stalled(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(message) = &self.message else { return Poll::Pending };
        let deadline = message.deadline();
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        if alarm.deadline() != deadline {
            alarm.as_mut().reset(deadline);
        }
        alarm.as_mut().poll(context)
    }
}

/// Returns what follows a frame's head, once that is there whole.
fn payload_after(head: &[u8]) -> Option<Frame> {
    let (&first, &second) = (head.first()?, head.get(1)?);
    let extended = match second & 0x7f {
        126 => 2,
        127 => 8,
        _ => 0,
    };
    let mask = if second & 0x80 == 0 { 0 } else { 4 };
    if head.len() < 2 + extended + mask {
        return None;
    }
    let left = match extended {
        0 => u64::from(second & 0x7f),
        _ => head[2..2 + extended].iter().fold(0, |length, byte| length << 8 | u64::from(*byte)),
    };
    Some(Frame::Payload { left, is_control: first & 0x08 != 0, is_last: first & 0x80 != 0 })
}

impl<S: AsyncRead + Unpin> AsyncRead for Inflow<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        match Pin::new(&mut self.stream).poll_read(context, buffer) {
            Poll::Ready(Ok(())) if self.follow(&buffer.filled()[before..]) => Poll::Ready(Ok(())),
            Poll::Ready(Ok(())) => Poll::Ready(Err(io::ErrorKind::QuotaExceeded.into())),
            Poll::Ready(error) => Poll::Ready(error),
            Poll::Pending => self.poll_stalled(context).map(|()| Err(io::ErrorKind::TimedOut.into())),
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Inflow<S> {
    delegate_io!(write: stream);
}

#[cfg(test)]
mod tests;
