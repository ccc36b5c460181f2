//! A connection: a request out, the head of its answer in.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, BytesMut};
use manifold_engine::busy_poll;
use manifold_http1::{Answers, Asked, Framing, Length, Malformed, ResponseHead};
use manifold_protocol::{Frames, Outgoing};
use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};

use super::head::{Head, Notes};
use super::{Stream, message};

/// What is read at once; answers are mostly smaller.
const SCRATCH_BYTES: usize = 32 << 10;
/// Pieces that one write takes.
const MAX_PIECES: usize = 16;
thread_local! {
    /// Bytes are read into here and only kept at their size.
    static SCRATCH: RefCell<Box<[u8]>> = RefCell::new(vec![0; SCRATCH_BYTES].into_boxed_slice());
}

/// Why there is no answer.
#[derive(Debug)]
pub(in crate::remote) enum Lost {
    /// Nothing has left us: the request may go another way.
    Unwritten(io::Error),
    Broken(io::Error),
    /// The peer hung up.
    Closed,
    Malformed(Malformed),
    /// It is over this limit; the rest was not read.
    TooLarge(usize),
}

impl Lost {
    pub(in crate::remote) fn message(&self) -> String {
        match self {
            Self::Unwritten(error) | Self::Broken(error) => error.to_string(),
            Self::Closed => "it hung up before its answer was whole".to_owned(),
            Self::Malformed(malformed) => message(*malformed).to_owned(),
            Self::TooLarge(limit_bytes) => format!("its answer is larger than {limit_bytes} bytes"),
        }
    }
}

impl From<Malformed> for Lost {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

/// A connection with at most one request under way.
pub(in crate::remote) struct Wire {
    pub(super) stream: Box<dyn Stream>,
    /// What is left to be written of a request.
    out: Frames,
    state: Sending,
    /// What has come of a head that is not whole.
    input: Vec<u8>,
}

/// How far a request has come.
enum Sending {
    Done,
    /// `before` bytes had left us when it began.
    Underway {
        before: u64,
    },
    Unwritten(io::Error),
    /// It could not be written to its end; there may be an answer all the same.
    Failed(io::Error),
}

/// An answer of which the head has come, and perhaps more.
pub(super) struct Begun {
    pub(super) head: Head,
    pub(super) framing: Framing,
    pub(super) data: BytesMut,
    /// Whether more came than belongs to the answer.
    pub(super) has_more: bool,
}

impl Wire {
    pub(in crate::remote) fn new(stream: Box<dyn Stream>) -> Box<Self> {
        Box::new(Self { stream, out: Frames::default(), state: Sending::Done, input: Vec::new() })
    }

    /// Begins a request: `head` writes all of it but the body.
    pub(in crate::remote) fn begin(&mut self, body: &Outgoing, head: impl FnOnce(&mut BytesMut)) {
        self.out.push_after(head, body.clone());
        self.state = Sending::Underway { before: self.stream.sent_bytes() };
    }

    /// Writes the request and waits for the head of its answer.
    pub(super) async fn answer(&mut self, asked: Asked) -> Result<Begun, Lost> {
        let mut answers = Answers::new(asked);
        poll_fn(|context| self.poll_answer(context, &mut answers)).await
    }

    /// Returns whether another request may follow once an answer has been read.
    pub(super) fn is_free(&self) -> bool {
        matches!(self.state, Sending::Done)
    }

    /// Gives up the connection as such.
    pub(super) fn into_stream(self) -> Box<dyn Stream> {
        self.stream
    }

    fn poll_answer(&mut self, context: &mut Context<'_>, answers: &mut Answers) -> Poll<Result<Begun, Lost>> {
        // An answer may come before the request is written.
        self.go_on_writing(context);
        if let Sending::Unwritten(error) = &mut self.state {
            return Poll::Ready(Err(Lost::Unwritten(std::mem::replace(error, io::ErrorKind::Other.into()))));
        }
        loop {
            let mut input = std::mem::take(&mut self.input);
            let taken = self.poll_scratch(context, |came| match came {
                [] => Err(Lost::Closed),
                came => begun_by(&mut input, came, answers).map_err(Lost::from),
            });
            self.input = input;
            match ready!(taken) {
                Ok(Ok(None)) => {}
                Ok(Ok(Some(begun))) => return Poll::Ready(Ok(begun)),
                Ok(Err(lost)) => return Poll::Ready(Err(self.why(lost))),
                Err(error) => return Poll::Ready(Err(self.why(Lost::Broken(error)))),
            }
        }
    }

    /// Writes on if there is anything to write; failing is no reason not to read.
    pub(super) fn go_on_writing(&mut self, context: &mut Context<'_>) {
        let Sending::Underway { before } = self.state else { return };
        match self.poll_write(context) {
            Poll::Pending => {}
            Poll::Ready(Ok(())) => self.state = Sending::Done,
            Poll::Ready(Err(error)) if self.stream.sent_bytes() == before => {
                self.state = Sending::Unwritten(error);
            }
            Poll::Ready(Err(error)) => self.state = Sending::Failed(error),
        }
    }

    fn poll_write(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.out.has_remaining() {
            let mut pieces = [IoSlice::new(&[]); MAX_PIECES];
            let filled = self.out.chunks_vectored(&mut pieces);
            let stream = Pin::new(&mut self.stream);
            let wrote = ready!(match &pieces[..filled] {
                [piece] => stream.poll_write(context, piece),
                pieces => stream.poll_write_vectored(context, pieces),
            })?;
            if wrote == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.out.advance(wrote);
        }
        // Without TLS there is nothing to flush.
        Pin::new(&mut self.stream).poll_flush(context)
    }

    /// Reads some more into the scratch and hands it to `take`; nothing is the end.
    pub(super) fn poll_scratch<T>(
        &mut self,
        context: &mut Context<'_>,
        take: impl FnOnce(&[u8]) -> T,
    ) -> Poll<io::Result<T>> {
        SCRATCH.with_borrow_mut(|scratch| {
            let mut buffer = ReadBuf::new(scratch);
            ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer))?;
            busy_poll::mark();
            Poll::Ready(Ok(take(buffer.filled())))
        })
    }

    /// Prefers to say why the request could not be written.
    fn why(&mut self, lost: Lost) -> Lost {
        match std::mem::replace(&mut self.state, Sending::Done) {
            Sending::Failed(error) => Lost::Broken(error),
            _ => lost,
        }
    }
}

/// Looks for a head in what came, behind what had come before, and goes on to its body. What is not enough is kept.
fn begun_by(input: &mut Vec<u8>, came: &[u8], answers: &mut Answers) -> Result<Option<Begun>, Malformed> {
    let searched = input.len();
    if searched > 0 {
        input.extend_from_slice(came);
    }
    let text = if searched > 0 { &input[..] } else { came };
    let mut notes = Notes::default();
    let (taken, head) = answers.take(text, searched, |name, value| notes.take(name, value))?;
    if let Some(head) = head {
        let begun = Begun::new(head, notes, &text[taken..])?;
        input.clear();
        return Ok(Some(begun));
    }
    match searched {
        0 => input.extend_from_slice(&came[taken..]),
        _ => drop(input.drain(..taken)),
    }
    Ok(None)
}

impl Begun {
    fn new(head: ResponseHead, notes: Notes, rest: &[u8]) -> Result<Self, Malformed> {
        let mut framing = Framing::new(head.length);
        // One that is not whole yet gets its room when it is its turn.
        let room = match head.length {
            Length::Known(bytes) => bytes.min(rest.len()),
            Length::Chunked | Length::Open => rest.len(),
        };
        let mut data = BytesMut::with_capacity(room);
        let taken = framing.take(rest, &mut data)?;
        Ok(Self { head: notes.into_head(head), framing, data, has_more: taken < rest.len() })
    }
}
