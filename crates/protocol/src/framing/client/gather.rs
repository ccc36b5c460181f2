use bytes::{BufMut, Bytes, BytesMut};

use super::{Frame, FrameError};
use crate::framing::newline::{Line, LineDecoder};
use crate::framing::oversized::Oversized;
use crate::scan::{Progress, Scanner, is_blank};

/// Makes messages of lines. A pretty-printed one is gathered for as long as it is a proper prefix of valid
/// JSON; at the first wrong byte it is refused, and the line holding that byte is tried afresh.
pub(super) struct MessageDecoder {
    lines: LineDecoder,
    max_bytes: usize,
    gathered: Option<Box<Gathered>>,
    /// A line that did not fit what was gathered before it.
    again: Option<Bytes>,
    /// What came of a message handed back.
    ready: Option<Frame>,
}

struct Gathered {
    scanner: Scanner,
    text: Text,
}

enum Text {
    Kept(BytesMut),
    TooLong(Oversized),
}

enum Verdict {
    NeedMore,
    Whole,
    Wrong,
}

impl MessageDecoder {
    pub(super) fn new(max_bytes: usize, lines: LineDecoder) -> Self {
        Self { lines, max_bytes, gathered: None, again: None, ready: None }
    }

    pub(super) fn buffer(&mut self) -> &mut BytesMut {
        self.lines.buffer()
    }

    pub(super) fn next(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = self.ready.take() {
                return Some(frame);
            }
            let line = match self.again.take() {
                Some(line) => Line::Whole(line),
                None => self.lines.next()?,
            };
            if let Some(frame) = self.take(line) {
                return Some(frame);
            }
        }
    }

    pub(super) fn finish(&mut self) -> Option<Frame> {
        if let Some(frame) = self.next() {
            return Some(frame);
        }
        let last = self.lines.finish().and_then(|line| self.take(line));
        last.or_else(|| self.next()).or_else(|| self.gathered.take().map(|gathered| gathered.refuse()))
    }

    pub(super) fn gather(&mut self, line: Bytes) {
        self.ready = self.add(line);
    }

    fn take(&mut self, line: Line) -> Option<Frame> {
        match line {
            // The usual case is not scanned here: whoever parses it finds out.
            Line::Whole(line) if self.gathered.is_none() && looks_whole(&line) => Some(Frame::Message(line)),
            Line::Whole(line) => self.add(line),
            Line::TooLong { head, tail, bytes } => {
                let mut seen = Oversized::default();
                if let Some(gathered) = self.gathered.take() {
                    seen = gathered.text.into_oversized();
                }
                seen.absorb(&head);
                if bytes > head.len() as u64 {
                    seen.absorb(&tail);
                }
                Some(Frame::Refused { id: seen.id(), why: FrameError::TooLong })
            }
        }
    }

    /// Adds a line to what was gathered, perhaps nothing yet.
    fn add(&mut self, line: Bytes) -> Option<Frame> {
        let (mut gathered, alone) = match self.gathered.take() {
            Some(gathered) => (gathered, false),
            None => (Box::new(Gathered::new()), true),
        };
        match (gathered.scan(&line), alone) {
            (Verdict::Whole, true) => Some(Frame::Message(line)),
            (Verdict::Wrong, true) => Some(gathered.refuse()),
            (Verdict::Wrong, false) => {
                self.again = Some(line);
                Some(gathered.refuse())
            }
            (Verdict::Whole, false) => {
                gathered.keep(&line, self.max_bytes);
                Some(match gathered.text {
                    Text::Kept(text) => Frame::Message(text.freeze()),
                    Text::TooLong(_) => gathered.refuse(),
                })
            }
            (Verdict::NeedMore, _) => {
                gathered.keep(&line, self.max_bytes);
                self.gathered = Some(gathered);
                None
            }
        }
    }
}

impl Gathered {
    fn new() -> Self {
        Self { scanner: Scanner::new(), text: Text::Kept(BytesMut::new()) }
    }

    fn scan(&mut self, line: &[u8]) -> Verdict {
        match self.scanner.feed(line) {
            Progress::Wrong { .. } => return Verdict::Wrong,
            Progress::Done { consumed } => {
                let blank = line.get(consumed..).unwrap_or_default().iter().all(|&byte| is_blank(byte));
                return if blank { Verdict::Whole } else { Verdict::Wrong };
            }
            Progress::NeedMore => {}
        }
        // The end of the line counts: it may end a number, and cannot stand in a string.
        match self.scanner.feed(b"\n") {
            Progress::Wrong { .. } => Verdict::Wrong,
            Progress::Done { .. } => Verdict::Whole,
            Progress::NeedMore => Verdict::NeedMore,
        }
    }

    /// Keeps the line, or if that is too much goes on without the text, so as to find its end.
    fn keep(&mut self, line: &[u8], max_bytes: usize) {
        if let Text::Kept(text) = &mut self.text
            && text.len() + line.len() > max_bytes
        {
            self.text = Text::TooLong(Text::Kept(std::mem::take(text)).into_oversized());
        }
        match &mut self.text {
            Text::Kept(text) => {
                text.put_slice(line);
                text.put_u8(b'\n');
            }
            Text::TooLong(seen) => {
                seen.absorb(line);
                seen.absorb(b"\n");
            }
        }
    }

    fn refuse(self) -> Frame {
        match self.text {
            Text::Kept(_) => Frame::Refused { id: None, why: FrameError::Parse },
            Text::TooLong(seen) => Frame::Refused { id: seen.id(), why: FrameError::TooLong },
        }
    }
}

impl Text {
    fn into_oversized(self) -> Oversized {
        match self {
            Text::TooLong(seen) => seen,
            Text::Kept(text) => {
                let mut seen = Oversized::default();
                seen.absorb(&text);
                seen
            }
        }
    }
}

/// Tells whether a line opens and closes with the same kind of bracket.
fn looks_whole(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    matches!((line.first(), line.last()), (Some(b'{'), Some(b'}')) | (Some(b'['), Some(b']')))
}
