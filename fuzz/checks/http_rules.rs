//! What holds for whatever either leg of HTTP/1.1 has read.

use bytes::BytesMut;
use manifold_http1::{Framing, LAST_CHUNK, Length, put_chunk};

use crate::http_messages::Said;

/// In pieces the same is read as at once; but what is wrong may come out later, when the head is whole.
pub(crate) fn check_pieces(whole: &Said, pieces: &Said) {
    assert_eq!(whole.messages, pieces.messages);
    assert!(pieces.wrong.is_none() || pieces.wrong == whole.wrong, "{pieces:?} {whole:?}");
}

pub(crate) fn check(said: &Said, data: &[u8]) {
    let mut begin = 0;
    for message in &said.messages {
        assert!(begin < message.end && message.end <= data.len(), "it has an end and a beginning");
        let text = &data[begin..message.end];
        check_lines(text);
        for (name, value) in &message.headers {
            assert!(!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':'));
            assert!(value.iter().all(|byte| !matches!(byte, 0..=8 | 10..=31 | 127)), "{value:?}");
        }
        check_chunks(&message.body);
        begin = message.end;
    }
}

/// The head of a message, up to its first empty line, has no end of a line but CR LF, and no NUL (M5).
fn check_lines(text: &[u8]) {
    let begin = text.chunks(2).take_while(|line| *line == b"\r\n").count() * 2;
    let end = text[begin..].windows(4).position(|four| four == b"\r\n\r\n").expect("a head has an end");
    let head = &text[..begin + end + 4];
    for (at, byte) in head.iter().enumerate() {
        match byte {
            b'\n' => assert!(at > 0 && head[at - 1] == b'\r', "a bare LF in {head:?}"),
            b'\r' => assert!(head.get(at + 1) == Some(&b'\n'), "a bare CR in {head:?}"),
            0 => panic!("a NUL in {head:?}"),
            _ => {}
        }
    }
}

/// What is written in chunks is read as it was.
fn check_chunks(body: &[u8]) {
    let mut text = Vec::new();
    body.chunks(7).for_each(|part| put_chunk(&mut text, part));
    text.extend_from_slice(LAST_CHUNK);
    let length = text.len();
    text.extend_from_slice(b"GET");
    let (mut framing, mut read) = (Framing::new(Length::Chunked), BytesMut::new());
    assert_eq!(framing.take(&text, &mut read), Ok(length));
    assert!(framing.is_over() && read == body);
}
