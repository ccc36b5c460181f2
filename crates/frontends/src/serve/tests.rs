use manifold_protocol::framing::TripleNewlineDecoder;
use tokio::io::{duplex, empty};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};

use manifold_protocol::framing::Frame;

use super::*;

/// Takes as many frames as there is room for; the one that says `exit` is the last.
struct Taken<'s> {
    decoder: TripleNewlineDecoder,
    room: &'s Semaphore,
    frames: &'s mut Vec<String>,
}

impl<'s> Taken<'s> {
    fn new(room: &'s Semaphore, frames: &'s mut Vec<String>) -> Self {
        Self { decoder: TripleNewlineDecoder::new(100), room, frames }
    }
}

impl Reader for Taken<'_> {
    type Frame = Frame;

    fn buffer(&mut self) -> &mut BytesMut {
        self.decoder.buffer()
    }

    fn next(&mut self, ended: bool) -> Option<Frame> {
        self.decoder.next().or_else(|| if ended { self.decoder.finish() } else { None })
    }

    fn room(&mut self) -> Option<impl Future<Output = ()>> {
        Some(async { self.room.acquire().await.unwrap().forget() })
    }

    fn receive(&mut self, frame: Frame) -> ControlFlow<()> {
        let Frame::Message(message) = frame else { panic!("{frame:?}") };
        let message = String::from_utf8(message.to_vec()).unwrap();
        let is_last = message.contains("exit");
        self.frames.push(message);
        if is_last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

fn outbox() -> (Outbox, Budget) {
    let budget = Budget::new(1 << 20);
    (Outbox::new(100).within(&budget), budget)
}

async fn read_all(input: impl AsyncRead + Unpin) -> (End, Vec<String>) {
    let (outbox, budget) = outbox();
    let (room, mut frames) = (Semaphore::new(100), Vec::new());
    let end = read(Taken::new(&room, &mut frames), input, &outbox, &budget).await;
    (end, frames)
}

// F25
#[tokio::test(start_paused = true)]
async fn how_the_input_ended_is_told() {
    assert_eq!(read_all(empty()).await, (End::OfScript, vec![]));
    let script = &b"{\"a\":1}\n\n\n{\"b\":2}"[..];
    let both = vec![r#"{"a":1}"#.to_owned(), r#"{"b":2}"#.to_owned()];
    assert_eq!(read_all(script).await, (End::OfScript, both), "the last needs no terminator");

    let (mut to, input) = duplex(100);
    let client = async {
        to.write_all(b"{\"a\":1}\n\n\n").await.unwrap();
        sleep(Duration::from_secs(1)).await;
        drop(to);
    };
    let (read, ()) = tokio::join!(read_all(input), client);
    assert_eq!(read, (End::OfClient, vec![r#"{"a":1}"#.to_owned()]));

    let exits = &b"{\"exit\":1}\n\n\n{\"b\":2}\n\n\n"[..];
    assert_eq!(read_all(exits).await, (End::Exit, vec![r#"{"exit":1}"#.to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn no_frame_is_taken_before_there_is_room() {
    let (outbox, budget) = outbox();
    let (room, mut frames) = (Semaphore::new(1), Vec::new());
    let input = &b"{\"a\":1}\n\n\n{\"b\":2}\n\n\n"[..];
    let reading = read(Taken::new(&room, &mut frames), input, &outbox, &budget);
    assert!(timeout(Duration::from_secs(1), reading).await.is_err(), "it waits");
    assert_eq!(frames, [r#"{"a":1}"#]);
}

// F20
#[tokio::test(start_paused = true)]
async fn nothing_is_read_for_a_client_that_does_not_read() {
    let (outbox, budget) = outbox();
    outbox.push(bytes::Bytes::from_static(&[0; 101]));
    let (room, mut frames) = (Semaphore::new(100), Vec::new());
    let reading = read(Taken::new(&room, &mut frames), &b"{\"a\":1}\n\n\n"[..], &outbox, &budget);
    assert!(timeout(Duration::from_secs(1), reading).await.is_err(), "it waits");
    assert!(frames.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_drain_ends_with_its_calls_or_its_time() {
    let (outbox, _budget) = outbox();
    let began = Instant::now();
    drain(async {}, &outbox, Duration::from_secs(5)).await;
    assert_eq!(began.elapsed(), Duration::ZERO);
    drain(std::future::pending(), &outbox, Duration::from_secs(5)).await;
    assert_eq!(began.elapsed(), Duration::from_secs(5));
}
