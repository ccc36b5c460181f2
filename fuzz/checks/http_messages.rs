//! All messages in what one peer says on a connection, as either leg reads it, in whatever pieces it comes.

use std::fmt::Write as _;

use bytes::{Buf, BytesMut};
use manifold_http1::{Answers, Asked, Framing, Length, Malformed, RequestHead};

/// A message that has come to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    /// Method, target and version, or the status.
    pub(crate) start: String,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
    /// Where it ends, counted from the first byte of all.
    pub(crate) end: usize,
    /// Whether nothing is looked for behind it.
    pub(crate) is_last: bool,
}

/// What one peer said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) messages: Vec<Message>,
    /// What is wrong with what follows; `None` if it only is not whole.
    pub(crate) wrong: Option<Malformed>,
}

/// Reads what a client says.
#[allow(dead_code, reason = "a fuzz target reads one leg")]
pub(crate) fn requests(pieces: &[&[u8]]) -> Said {
    read(pieces, |input, searched| {
        let Some(head) = RequestHead::take(input, searched)? else { return Ok(None) };
        let parts = &head.parts;
        let mut start = String::new();
        let _ = write!(start, "{} {} {:?}", parts.method, parts.uri, parts.version);
        let headers = parts.headers.iter();
        let headers = headers.map(|(name, value)| (name.to_string(), value.as_bytes().to_vec())).collect();
        // One whose end is not known is not read.
        let is_last = !head.keeps_alive || head.length == Length::Open;
        let length = if head.length == Length::Open { Length::Known(0) } else { head.length };
        Ok(Some((Message { start, headers, body: Vec::new(), end: 0, is_last }, length)))
    })
}

/// Reads what a server says to those who always ask for the same.
#[allow(dead_code, reason = "a fuzz target reads one leg")]
pub(crate) fn responses(pieces: &[&[u8]], asked: Asked) -> Said {
    let mut answers = Answers::new(asked);
    read(pieces, |input, searched| {
        let mut headers = Vec::new();
        let note = |name: &str, value: &[u8]| headers.push((name.to_ascii_lowercase(), value.to_vec()));
        let (taken, head) = answers.take(input, searched, note)?;
        input.advance(taken);
        let Some(head) = head else { return Ok(None) };
        answers = Answers::new(asked);
        let is_last = !head.keeps_alive || head.length == Length::Open;
        let start = head.status.to_string();
        Ok(Some((Message { start, headers, body: Vec::new(), end: 0, is_last }, head.length)))
    })
}

type Head = Option<(Message, Length)>;

fn read(
    pieces: &[&[u8]],
    mut take_head: impl FnMut(&mut BytesMut, usize) -> Result<Head, Malformed>,
) -> Said {
    let mut said = Said { messages: Vec::new(), wrong: None };
    let (mut input, mut searched, mut came) = (BytesMut::new(), 0, 0);
    let mut coming: Option<(Message, Framing, BytesMut)> = None;
    for piece in pieces {
        let mut piece = *piece;
        came += piece.len();
        // Data may be read past the framing, straight to where it belongs.
        if let (true, Some((_, framing, data))) = (input.is_empty(), &mut coming) {
            let (straight, rest) = piece.split_at(framing.data_left().min(piece.len()));
            data.extend_from_slice(straight);
            framing.took(straight.len());
            piece = rest;
        }
        input.extend_from_slice(piece);
        loop {
            let Some((mut message, mut framing, mut data)) = coming.take() else {
                if input.len() == searched {
                    break;
                }
                match take_head(&mut input, searched) {
                    Ok(Some((message, length))) => {
                        coming = Some((message, Framing::new(length), BytesMut::new()));
                        searched = 0;
                        continue;
                    }
                    Ok(None) => searched = input.len(),
                    Err(wrong) => return Said { wrong: Some(wrong), ..said },
                }
                break;
            };
            match framing.take(&input, &mut data) {
                Ok(taken) => input.advance(taken),
                Err(wrong) => return Said { wrong: Some(wrong), ..said },
            }
            if !framing.is_over() {
                coming = Some((message, framing, data));
                break;
            }
            message.end = came - input.len();
            message.body = data.to_vec();
            let is_last = message.is_last;
            said.messages.push(message);
            if is_last {
                return said;
            }
        }
    }
    // One that ends with the connection has ended now.
    if let Some((mut message, Framing::UntilClose, data)) = coming {
        message.end = came - input.len();
        message.body = data.to_vec();
        said.messages.push(message);
    }
    said
}
