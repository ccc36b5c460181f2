//! Others made of the messages that are written down, the same every time.

/// What a byte becomes: what ends lines and words, what counts, and what is no text.
const BYTES: &[u8] = b"\r\n\0\t :;,=\"/019afxFG+-._~%?*\x7f\x80\xff";
/// What the end of a line becomes.
const ENDS: [&[u8]; 8] = [b"\n", b"\r", b"\0", b"\n\r", b"\r\r\n", b" \r\n", b"\r\n ", b"\r\n\r\n"];
/// Lines that decide where a message ends.
const LINES: [&[u8]; 12] = [
    b"Content-Length: 5\r\n",
    b"content-length:5 \r\n",
    b"Content-Length: 05\r\n",
    b"Content-Length: 0\r\n",
    b"Content-Length: 18446744073709551615\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: identity\r\n",
    b"Transfer-Encoding: gzip, chunked\r\n",
    b"Connection: close\r\n",
    b"Connection: keep-alive\r\n",
    b"Expect: 100-continue\r\n",
    b"X-Empty:\r\n",
];

pub(crate) struct Mutations<'t> {
    written: &'t [Vec<u8>],
    state: u64,
}

impl<'t> Mutations<'t> {
    pub(crate) fn new(written: &'t [Vec<u8>]) -> Self {
        Self { written, state: 0x9E37_79B9_7F4A_7C15 }
    }

    /// Returns another message, one to three changes away from this one.
    pub(crate) fn of(&mut self, text: &[u8]) -> Vec<u8> {
        let mut text = text.to_vec();
        for _ in 0..=self.below(3) {
            self.change(&mut text);
        }
        text
    }

    fn change(&mut self, text: &mut Vec<u8>) {
        let at = self.below(text.len());
        let byte = BYTES[self.below(BYTES.len())];
        match self.below(9) {
            0 => text.insert(at, byte),
            1 if at < text.len() => text[at] = byte,
            2 if at < text.len() => drop(text.remove(at)),
            3 if at < text.len() => text[at] ^= 1 << self.below(8),
            4 => {
                let end = (at + 1 + self.below(8)).min(text.len());
                let part = text[at.min(end)..end].to_vec();
                text.splice(at..at, part);
            }
            5 => drop(text.drain(at..(at + self.below(6)).min(text.len()))),
            6 | 7 => {
                let ends: Vec<usize> =
                    text.windows(2).enumerate().filter(|(_, two)| two == b"\r\n").map(|(at, _)| at).collect();
                let Some(at) = ends.get(self.below(ends.len())).copied() else { return };
                if self.below(2) == 0 {
                    text.splice(at..at + 2, ENDS[self.below(ENDS.len())].iter().copied());
                } else {
                    text.splice(at + 2..at + 2, LINES[self.below(LINES.len())].iter().copied());
                }
            }
            _ => {
                // The beginning of this one and the end of another.
                let other = &self.written[self.below(self.written.len())];
                let from = self.below(other.len());
                text.truncate(at);
                text.extend_from_slice(&other[from..]);
            }
        }
    }

    /// Returns a number below the limit; 0 if there is none.
    fn below(&mut self, limit: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state % limit.max(1) as u64) as usize
    }
}
