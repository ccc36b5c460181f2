use std::task::Waker;

use super::*;

fn open(stream: &Arc<Stream>, last_seen: u64) -> EventBody {
    stream.attach(last_seen, Bytes::new(), std::future::pending())
}

fn next(body: &mut EventBody) -> Option<Option<String>> {
    match body.poll_bytes(&mut Context::from_waker(Waker::noop())) {
        Poll::Pending => None,
        Poll::Ready(bytes) => Some(bytes.map(|bytes| String::from_utf8(bytes.to_vec()).unwrap())),
    }
}

fn text(events: &[(u64, u64, &str)]) -> String {
    events
        .iter()
        .map(|(stream, event, data)| format!("id: {stream}-{event}\nevent: message\ndata: {data}\n\n"))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn events_that_are_ready_leave_together_and_the_stream_ends_with_its_answer() {
    let stream = Stream::new(3, &Budget::new(1 << 30));
    let mut body = open(&stream, 0);
    assert_eq!(next(&mut body), None);
    stream.tell(Bytes::from_static(b"1"));
    stream.push(Bytes::from_static(b"2"));
    assert_eq!(next(&mut body), Some(Some(text(&[(3, 1, "1"), (3, 2, "2")]))));
    stream.push(Bytes::from_static(b"3"));
    stream.finish();
    assert_eq!(next(&mut body), Some(Some(text(&[(3, 3, "3")]))));
    assert_eq!(next(&mut body), Some(None));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_comes_back_gets_what_it_missed() {
    let stream = Stream::new(1, &Budget::new(1 << 30));
    let mut body = open(&stream, 0);
    stream.push(Bytes::from_static(b"a"));
    next(&mut body);
    drop(body);
    stream.push(Bytes::from_static(b"b"));
    stream.push(Bytes::from_static(b"c"));
    stream.finish();
    let mut again = open(&stream, 1);
    assert_eq!(next(&mut again), Some(Some(text(&[(1, 2, "b"), (1, 3, "c")]))));
    assert_eq!(next(&mut again), Some(None));
    // Nothing is left to say: held open, since a client told "the end" would come back for ever.
    let mut nothing = open(&stream, 3).holding();
    assert_eq!(next(&mut nothing), None);
}

#[tokio::test(start_paused = true)]
async fn the_newest_reader_is_served() {
    let stream = Stream::new(0, &Budget::new(1 << 30));
    let mut old = open(&stream, 0);
    let mut new = open(&stream, 0);
    stream.push(Bytes::from_static(b"x"));
    assert_eq!(next(&mut old), Some(None));
    assert_eq!(next(&mut new), Some(Some(text(&[(0, 1, "x")]))));
    drop(old);
    assert!(stream.is_attached());
}

#[tokio::test(start_paused = true)]
async fn silence_is_broken_by_comments() {
    let stream = Stream::new(0, &Budget::new(1 << 30));
    let mut body = open(&stream, 0);
    assert_eq!(next(&mut body), None);
    tokio::time::advance(KEEP_ALIVE + Duration::from_millis(1)).await;
    assert_eq!(next(&mut body), Some(Some(":\n\n".to_owned())));
    assert_eq!(next(&mut body), None);
}

#[tokio::test(start_paused = true)]
async fn what_nobody_reads_stays_bounded() {
    let stream = Stream::new(0, &Budget::new(1 << 30));
    for _ in 0..10_000 {
        stream.tell(Bytes::from_static(&[b'x'; 1000]));
    }
    assert_eq!(stream.lock().bytes, 0, "nobody listens");
    let mut body = open(&stream, 0);
    for _ in 0..10_000 {
        stream.tell(Bytes::from_static(&[b'x'; 1000]));
    }
    assert!(stream.lock().bytes <= KEPT_BYTES + 1000);
    next(&mut body);
    for _ in 0..10_000 {
        stream.tell(Bytes::from_static(&[b'y'; 1000]));
        next(&mut body);
    }
    assert!(stream.lock().bytes <= KEPT_BYTES + 1000);
}

#[test]
fn event_ids_name_stream_and_event() {
    assert_eq!(parse_event_id("12-7"), Some((12, 7)));
    for odd in ["", "-", "7", "a-b", "1-", "-1", "99999999999999999999-1"] {
        assert_eq!(parse_event_id(odd), None, "{odd}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_id_from_nowhere_swallows_nothing() {
    let stream = Stream::new(0, &Budget::new(1 << 30));
    let mut body = open(&stream, u64::MAX);
    stream.push(Bytes::from_static(b"x"));
    assert_eq!(next(&mut body), Some(Some(text(&[(0, 1, "x")]))));
}

#[tokio::test(start_paused = true)]
async fn a_change_said_twice_is_one_change() {
    let stream = Stream::new(0, &Budget::new(1 << 30));
    for _ in 0..1000 {
        stream.ask(Bytes::from_static(b"changed"));
    }
    let mut body = open(&stream, 0);
    assert_eq!(next(&mut body), Some(Some(text(&[(0, 1, "changed")]))));
    assert_eq!(next(&mut body), None);
}
