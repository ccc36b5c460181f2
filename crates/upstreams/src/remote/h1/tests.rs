use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use manifold_engine::Tasks;
use manifold_protocol::Outgoing;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::wire::Wire;
use super::*;

/// What a scripted peer does when it is read.
enum Does {
    Says(Vec<u8>),
    Breaks,
    HangsUp,
}

/// A peer that does one thing after another, and nothing when it has done all. Each is waited for, once.
#[derive(Default)]
struct Peer {
    script: VecDeque<Does>,
    is_due: bool,
    /// How many bytes it still takes, and what it does after that.
    takes: Option<(usize, AtLast)>,
    heard: Arc<Mutex<Vec<u8>>>,
    sent: u64,
}

#[derive(Clone, Copy)]
enum AtLast {
    Waits,
    Breaks,
}

impl Peer {
    fn new(script: impl IntoIterator<Item = Does>) -> Self {
        Self { script: script.into_iter().collect(), ..Self::default() }
    }

    fn says(text: &[u8]) -> Self {
        Self::new([Does::Says(text.to_vec())])
    }

    fn taking(self, bytes: usize, at_last: AtLast) -> Self {
        Self { takes: Some((bytes, at_last)), ..self }
    }
}

impl AsyncRead for Peer {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.is_due = !self.is_due;
        if self.is_due && !self.script.is_empty() {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        match self.script.pop_front() {
            None => Poll::Pending,
            Some(Does::Breaks) => Poll::Ready(Err(ErrorKind::ConnectionReset.into())),
            Some(Does::HangsUp) => Poll::Ready(Ok(())),
            Some(Does::Says(mut text)) => {
                let rest = text.split_off(text.len().min(buffer.remaining()));
                buffer.put_slice(&text);
                if !rest.is_empty() {
                    self.script.push_front(Does::Says(rest));
                }
                Poll::Ready(Ok(()))
            }
        }
    }
}

impl AsyncWrite for Peer {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let taken = match &mut self.takes {
            None => bytes.len(),
            Some((0, AtLast::Waits)) => return Poll::Pending,
            Some((0, AtLast::Breaks)) => return Poll::Ready(Err(ErrorKind::BrokenPipe.into())),
            Some((left, _)) => {
                let taken = bytes.len().min(*left);
                *left -= taken;
                taken
            }
        };
        self.sent += taken as u64;
        self.heard.lock().unwrap().extend_from_slice(&bytes[..taken]);
        Poll::Ready(Ok(taken))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl Stream for Peer {
    fn sent_bytes(&self) -> u64 {
        self.sent
    }

    fn is_quiet(&mut self) -> bool {
        self.script.is_empty()
    }
}

const LIMIT: usize = 1 << 20;

/// Sends a request of this body, and waits for the head of the answer.
async fn open(peer: Peer, body: &Outgoing) -> (Arc<Pool>, Result<(Head, Body), Lost>) {
    open_asking(peer, body, Asked::Body).await
}

async fn open_asking(peer: Peer, body: &Outgoing, asked: Asked) -> (Arc<Pool>, Result<(Head, Body), Lost>) {
    let pool = Pool::new(Tasks::new());
    let mut wire = Wire::new(Box::new(peer));
    wire.begin(body, |out| out.extend_from_slice(b"POST / HTTP/1.1\r\n\r\n"));
    let answer = exchange(wire, asked, &pool).await;
    (pool, answer)
}

/// Returns status, body and whether the connection serves again, or why there is no answer.
async fn ask(peer: Peer) -> Result<(u16, String, bool), String> {
    let (pool, answer) = open(peer, &Outgoing::default()).await;
    let (head, body) = answer.map_err(|lost| format!("{lost:?}"))?;
    let body = body.read(LIMIT).await.map_err(|lost| format!("{lost:?}"))?;
    Ok((head.status, String::from_utf8(body.to_vec()).unwrap(), pool.take().is_some()))
}

/// Asks a peer that says this, cut in two at every place, and in single bytes.
async fn check(text: &str, expected: (u16, &str, bool)) {
    let closes = !expected.2;
    let end = || closes.then_some(Does::HangsUp);
    let said = |piece: &[u8]| Does::Says(piece.to_vec());
    let expected = Ok((expected.0, expected.1.to_owned(), expected.2));
    assert_eq!(ask(Peer::new([said(text.as_bytes())].into_iter().chain(end()))).await, expected, "{text}");
    for at in 1..text.len() {
        let (first, second) = text.as_bytes().split_at(at);
        let peer = Peer::new([said(first), said(second)].into_iter().chain(end()));
        assert_eq!(ask(peer).await, expected, "{text} cut at {at}");
    }
    let bytes = text.as_bytes().chunks(1).map(said);
    assert_eq!(ask(Peer::new(bytes.chain(end()))).await, expected, "{text} byte by byte");
}

#[tokio::test]
async fn an_answer_is_the_same_in_any_pieces() {
    check("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", (200, "hello", true)).await;
    check("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello", (200, "hello", true))
        .await;
    check("HTTP/1.1 202 \r\nContent-Length: 0\r\n\r\n", (202, "", true)).await;
    let chunked = "5\r\nhello\r\n00B ; a=\"b\"\r\n, and again\r\n0\r\nTrailer: x\r\n\r\n";
    let head = "HTTP/1.1 404 X\r\nTransfer-Encoding: Chunked\r\n\r\n";
    check(&format!("{head}{chunked}"), (404, "hello, and again", true)).await;
    check("HTTP/1.1 200 OK\r\n\r\nto the end", (200, "to the end", false)).await;
    check("HTTP/1.1 204 X\r\n\r\n", (204, "", true)).await;
    check("HTTP/1.1 304 X\r\nContent-Length: 0\r\n\r\n", (304, "", true)).await;
    check(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 X\r\nLink: x\r\n\r\nHTTP/1.1 200 X\r\nContent-Length: 1\r\n\r\n1",
        (200, "1", true),
    )
    .await;
    check("HTTP/1.1 200 X\r\nConnection: x, Close\r\nContent-Length: 1\r\n\r\n1", (200, "1", false)).await;
    check("HTTP/1.0 200 X\r\nContent-Length: 1\r\n\r\n1", (200, "1", false)).await;
    check("HTTP/1.0 200 X\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\n1", (200, "1", true)).await;
}

#[tokio::test]
async fn large_answers_are_read_whole() {
    let large = "x".repeat(300_000);
    let length = format!("HTTP/1.1 200 X\r\nContent-Length: 300000\r\n\r\n{large}");
    assert_eq!(ask(Peer::says(length.as_bytes())).await, Ok((200, large.clone(), true)));
    let chunks = format!("HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n493E0\r\n{large}\r\n0\r\n\r\n");
    assert_eq!(ask(Peer::says(chunks.as_bytes())).await, Ok((200, large, true)));
}

// T31: where two readers could differ about the end of an answer, there is none.
#[tokio::test]
async fn what_could_be_read_in_two_ways_is_refused() {
    for (head, expected) in [
        ("Content-Length: 5\r\nTransfer-Encoding: chunked", Malformed::Length),
        ("Content-Length: 5\r\nContent-Length: 6", Malformed::Length),
        ("Content-Length: 5, 5", Malformed::Length),
        ("Content-Length: +5", Malformed::Length),
        ("Content-Length: ", Malformed::Length),
        ("Content-Length: 99999999999999999999999", Malformed::Length),
        ("Transfer-Encoding: gzip, chunked", Malformed::Coding),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", Malformed::Coding),
        ("Transfer-Encoding: xchunked", Malformed::Coding),
        ("Ho st: x", Malformed::Head),
        ("Host: x\r\n folded", Malformed::Head),
        ("Host: x\nContent-Length: 5", Malformed::Head),
        ("Host: x\rContent-Length: 5", Malformed::Head),
        ("Host: \0x", Malformed::Head),
    ] {
        let text = format!("HTTP/1.1 200 X\r\n{head}\r\n\r\nhello");
        assert_eq!(ask(Peer::says(text.as_bytes())).await, Err(format!("Malformed({expected:?})")), "{head}");
    }
    let old = "HTTP/1.0 200 X\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    assert_eq!(ask(Peer::says(old.as_bytes())).await, Err("Malformed(Length)".to_owned()));
    let long = format!("5;{}", "x".repeat(300));
    let longs = format!("1;{}\r\n1\r\n", "x".repeat(250)).repeat(40);
    let trailers = format!("0\r\n{}", "a: b\r\n".repeat(2000));
    for chunk in [
        "x\r\n",
        "\r\n",
        " 5\r\n",
        "-5\r\n",
        "0x5\r\n",
        "5\nhello",
        "5\r\nhello0\r\n",
        "5\r\nhello\n0\r\n",
        "10000000000000000\r\n",
        "5;\n",
        "5;a\0",
        "5;a\rb",
        "5 x\r\nhello",
        "0\r\na: b\n\r\n",
        "0\r\na: \0\r\n\r\n",
        "0\r\na\r\n\r\n",
        "0\r\n: b\r\n\r\n",
        "0\r\n a: b\r\n\r\n",
        "0\r\n\n",
        "0\r\na: b\rc\r\n\r\n",
        &long,
        &longs,
        &trailers,
    ] {
        let text = format!("HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}");
        let answer = ask(Peer::says(text.as_bytes())).await;
        assert_eq!(answer, Err("Malformed(Chunk)".to_owned()), "{chunk}");
    }
}

// L18: what nobody asked for is an error at once, the peer saying no more; and so is what has no end.
#[tokio::test]
async fn what_nobody_asked_for_is_no_answer() {
    let switched = Err("Malformed(Switched)".to_owned());
    for text in ["HTTP/1.1 101 X\r\n\r\n", "HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"] {
        assert_eq!(ask(Peer::says(text.as_bytes())).await, switched, "{text}");
        let late = format!("HTTP/1.1 100 Continue\r\n\r\n{text}");
        assert_eq!(ask(Peer::says(late.as_bytes())).await, switched, "{late}");
    }
    let interim = "HTTP/1.1 102 X\r\n\r\n";
    let many = || std::iter::repeat_with(|| Does::Says(interim.as_bytes().to_vec()));
    let last = "HTTP/1.1 200 X\r\nContent-Length: 1\r\n\r\n1";
    let patient = many().take(32).chain([Does::Says(last.as_bytes().to_vec())]);
    assert_eq!(ask(Peer::new(patient)).await, Ok((200, "1".to_owned(), true)));
    assert_eq!(ask(Peer::new(many().take(33))).await, Err("Malformed(Interim)".to_owned()));
    let at_once = interim.repeat(33);
    assert_eq!(ask(Peer::says(at_once.as_bytes())).await, Err("Malformed(Interim)".to_owned()));
}

// L18: what is said to have a body and may have none could be followed by that body, in place of the next answer.
#[tokio::test]
async fn a_body_that_may_not_be_is_the_end_of_its_connection() {
    for status in [204, 304] {
        for said in ["Content-Length: 5", "Transfer-Encoding: chunked"] {
            let text = format!("HTTP/1.1 {status} X\r\n{said}\r\n\r\n");
            assert_eq!(ask(Peer::says(text.as_bytes())).await, Ok((status, String::new(), false)), "{text}");
        }
    }
}

#[tokio::test]
async fn what_breaks_off_is_no_answer() {
    for text in [
        "",
        "HTTP/1.1 200 OK\r\nContent-Le",
        "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n",
    ] {
        let said = (!text.is_empty()).then(|| Does::Says(text.as_bytes().to_vec()));
        let hung_up = ask(Peer::new(said.into_iter().chain([Does::HangsUp]))).await;
        assert_eq!(hung_up, Err("Closed".to_owned()), "{text}");
        let said = (!text.is_empty()).then(|| Does::Says(text.as_bytes().to_vec()));
        let broke = ask(Peer::new(said.into_iter().chain([Does::Breaks]))).await;
        assert_eq!(broke, Err("Broken(Kind(ConnectionReset))".to_owned()), "{text}");
    }
    for text in ["SSH-2.0-OpenSSH_9.2\r\n", "HTTP/2.0 200 OK\r\n\r\n", "HTTP/1.1 2x0 OK\r\n\r\n"] {
        assert_eq!(ask(Peer::says(text.as_bytes())).await, Err("Malformed(Head)".to_owned()), "{text}");
    }
    let too_large = Err("Malformed(TooLarge)".to_owned());
    let long = format!("HTTP/1.1 200 X\r\nX: {}", "x".repeat(70_000));
    assert_eq!(ask(Peer::says(long.as_bytes())).await, too_large);
    assert_eq!(ask(Peer::says(format!("{long}\r\n\r\n").as_bytes())).await, too_large);
    let many = format!("HTTP/1.1 200 X\r\n{}\r\n", "a: b\r\n".repeat(101));
    assert_eq!(ask(Peer::says(many.as_bytes())).await, too_large);
}

#[tokio::test]
async fn answers_have_their_limit() {
    for text in [
        "HTTP/1.1 200 X\r\nContent-Length: 6\r\n\r\nhello!",
        "HTTP/1.1 200 X\r\nContent-Length: 99999999\r\n\r\nhello!",
        "HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nhello!\r\n",
        "HTTP/1.1 200 X\r\n\r\nhello!",
    ] {
        let peer = Peer::new([Does::Says(text.as_bytes().to_vec()), Does::Says(b"more".to_vec())]);
        let (pool, answer) = open(peer, &Outgoing::default()).await;
        let read = answer.unwrap().1.read(5).await;
        assert!(matches!(read, Err(Lost::TooLarge(5))), "{text}: {read:?}");
        assert!(pool.take().is_none(), "more was said");
    }
}

#[tokio::test]
async fn a_stream_is_read_as_it_comes() {
    let said = |text: &str| Does::Says(text.as_bytes().to_vec());
    let head = "HTTP/1.1 200 X\r\nContent-Type: Text/Event-Stream; a=b\r\nTransfer-Encoding: chunked\r\n\r\n";
    let peer = Peer::new([said(head), said("4\r\none\n\r"), said("\n4\r\ntw"), said("o\n\r\n0\r\n\r\n")]);
    let (pool, answer) = open(peer, &Outgoing::default()).await;
    let (head, mut body) = answer.unwrap();
    assert!(head.is_events);
    for piece in ["one\n", "tw", "o\n"] {
        assert!(pool.take().is_none(), "it is in use");
        assert_eq!(body.next().await.unwrap().unwrap(), piece);
    }
    assert_eq!(body.next().await.unwrap(), None);
    assert!(pool.take().is_some(), "it serves again");
}

#[tokio::test]
async fn a_connection_that_may_not_be_used_again_is_closed() {
    let stray = "HTTP/1.1 200 X\r\nContent-Length: 1\r\n\r\n12";
    assert_eq!(ask(Peer::says(stray.as_bytes())).await, Ok((200, "1".to_owned(), false)));
    let chunks = "HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n1\r\n0\r\n\r\nHTTP/1.1 200 X\r\n";
    assert_eq!(ask(Peer::says(chunks.as_bytes())).await, Ok((200, "1".to_owned(), false)));
    // What comes at rest was not asked for.
    let peer =
        Peer::new([Does::Says(stray[..stray.len() - 1].into()), Does::Says(b"HTTP/1.1 408 X".to_vec())]);
    assert_eq!(ask(peer).await, Ok((200, "1".to_owned(), false)));
    let (pool, answer) =
        open(Peer::says(b"HTTP/1.1 200 X\r\nContent-Length: 2\r\n\r\n1"), &Outgoing::default()).await;
    drop(answer);
    assert!(pool.take().is_none(), "nobody read the answer to its end");
}

#[tokio::test(start_paused = true)]
async fn a_connection_rests_only_for_a_while() {
    let text = b"HTTP/1.1 200 X\r\nContent-Length: 1\r\n\r\n1";
    let (pool, answer) = open(Peer::says(text), &Outgoing::default()).await;
    answer.unwrap();
    assert_eq!(pool.idle(), 1);
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    assert_eq!(pool.idle(), 0, "closed without anybody looking for it");
}

/// A request larger than what is copied.
fn large() -> (Outgoing, Vec<u8>) {
    let body = Bytes::from(vec![b'x'; 100_000]);
    let mut request = b"POST / HTTP/1.1\r\n\r\n".to_vec();
    request.extend_from_slice(&body);
    (body.into(), request)
}

const DONE: &[u8] = b"HTTP/1.1 413 X\r\nContent-Length: 2\r\n\r\nno";

#[tokio::test]
async fn a_large_request_is_written_whole() {
    let (body, request) = large();
    let peer = Peer::says(DONE);
    let heard = Arc::clone(&peer.heard);
    let (pool, answer) = open(peer, &body).await;
    assert_eq!(answer.unwrap().0.status, 413);
    assert_eq!(*heard.lock().unwrap(), request);
    assert!(pool.take().is_some());
}

#[tokio::test]
async fn an_answer_may_come_before_the_request_is_written() {
    for at_last in [AtLast::Waits, AtLast::Breaks] {
        let (pool, answer) = open(Peer::says(DONE).taking(50_000, at_last), &large().0).await;
        assert_eq!(answer.unwrap().1.read(LIMIT).await.unwrap(), "no");
        assert!(pool.take().is_none(), "the request is not whole");
    }
}

#[tokio::test]
async fn a_request_goes_another_way_only_if_nothing_of_it_has_left() {
    let (_, answer) = open(Peer::says(DONE).taking(0, AtLast::Breaks), &large().0).await;
    assert!(matches!(answer, Err(Lost::Unwritten(_))));
    let peer = Peer::new([Does::HangsUp]).taking(1, AtLast::Breaks);
    let (_, answer) = open(peer, &large().0).await;
    assert!(matches!(answer, Err(Lost::Broken(error)) if error.kind() == ErrorKind::BrokenPipe));
    let (_, answer) = open(Peer::new([Does::HangsUp]), &large().0).await;
    assert!(matches!(answer, Err(Lost::Closed)), "all of it has left");
}

#[tokio::test]
async fn another_protocol_gets_what_came_along() {
    let text = b"HTTP/1.1 101 X\r\nUpgrade: x\r\nSec-WebSocket-Accept: key\r\n\r\nframe";
    let (_, answer) = open_asking(Peer::says(text), &Outgoing::default(), Asked::Upgrade).await;
    let (head, body) = answer.unwrap();
    assert_eq!((head.status, head.noted_text(Noted::WebSocketAccept)), (101, Some("key")));
    assert_eq!(body.into_stream().unwrap().1, "frame");
}
