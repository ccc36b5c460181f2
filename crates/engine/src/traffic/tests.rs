use bytes::Bytes;
use manifold_admin::{Frame, FrameKind};
use manifold_protocol::{Id, Outgoing};

use super::*;

fn traffic() -> (Observers, Arc<Traffic>) {
    let observers = Observers::default();
    let traffic = Traffic::new(&observers);
    (observers, traffic)
}

fn client(traffic: &Arc<Traffic>) -> Tap {
    Tap::new(traffic, Party { hop: Hop::Client, ..Party::default() })
}

fn said(tap: &Tap, text: &'static str) {
    tap.said(&Outgoing::from(Bytes::from_static(text.as_bytes())), Link::default());
}

fn heard(tap: &Tap, text: &'static str) {
    tap.heard(&Bytes::from_static(text.as_bytes()));
}

fn frame(item: Option<TrafficItem>) -> Frame {
    match item {
        Some(TrafficItem::Frame(frame)) => *frame,
        other => panic!("no frame: {other:?}"),
    }
}

fn with_bodies() -> SubscribeOptions {
    SubscribeOptions { bodies: true, ..SubscribeOptions::default() }
}

#[tokio::test(start_paused = true)]
async fn a_request_and_its_answer_have_one_number() {
    let (_observers, traffic) = traffic();
    let tap = client(&traffic);
    assert!(!tap.is_on());
    let mut watcher = traffic.subscribe(with_bodies());
    assert!(tap.is_on());
    heard(&tap, r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"add"}}"#);
    assert_eq!(tap.number_of(&Id::number(1)), None);
    tokio::time::advance(Duration::from_millis(3)).await;
    said(&tap, r#"{"jsonrpc":"2.0","id":"a","result":{"isError":true}}"#);
    let request = frame(watcher.next().await);
    assert_eq!((request.n, request.kind, request.dir), (1, FrameKind::Request, Direction::In));
    assert_eq!((request.method.as_deref(), request.tool.as_deref()), (Some("tools/call"), Some("add")));
    assert_eq!((request.id.as_ref().map(|id| id.get()), request.call), (Some("\"a\""), Some(1)));
    let answer = frame(watcher.next().await);
    assert_eq!(
        (answer.call, answer.status, answer.took),
        (Some(1), Some(FrameStatus::Error), Some(3_000_000))
    );
    assert_eq!(answer.tool.as_deref(), Some("add"));
    assert_eq!(answer.body.unwrap().get(), r#"{"jsonrpc":"2.0","id":"a","result":{"isError":true}}"#);
    assert!(watcher.try_next().is_none());
}

#[tokio::test]
async fn an_answer_to_what_was_taken_back_is_late() {
    let (_observers, traffic) = traffic();
    let tap = Tap::new(&traffic, Party { hop: Hop::Server, ..Party::default() });
    let mut watcher = traffic.subscribe(SubscribeOptions::default());
    said(&tap, r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}"#);
    said(&tap, r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#);
    tap.note(Direction::Out, &Id::number(1), FrameStatus::Timeout);
    said(&tap, r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
    heard(&tap, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    tap.dropped(Direction::Out, &Id::number(2), FrameStatus::Cancelled);
    let mut next = || {
        let frame = frame(watcher.try_next());
        (frame.kind, frame.call, frame.status)
    };
    assert_eq!(next(), (FrameKind::Request, Some(1), None));
    assert_eq!(next(), (FrameKind::Request, Some(2), None));
    assert_eq!(next(), (FrameKind::Notification, Some(1), Some(FrameStatus::Timeout)));
    assert_eq!(next(), (FrameKind::Response, Some(1), Some(FrameStatus::Late)));
    assert_eq!(next(), (FrameKind::Http, Some(2), Some(FrameStatus::Cancelled)));
}

#[tokio::test]
async fn each_message_of_a_batch_is_a_frame() {
    let (_observers, traffic) = traffic();
    let tap = client(&traffic);
    let mut watcher = traffic.subscribe(with_bodies());
    heard(&tap, r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}, {"jsonrpc":"2.0","method":"x"},5]"#);
    heard(&tap, "no JSON");
    let bodies: Vec<_> = std::iter::from_fn(|| watcher.try_next())
        .map(|item| {
            let frame = frame(Some(item));
            (frame.bytes, frame.body.map(|body| body.get().to_owned()).or(frame.text).unwrap())
        })
        .collect();
    assert_eq!(
        bodies,
        [
            (40, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.to_owned()),
            (30, r#"{"jsonrpc":"2.0","method":"x"}"#.to_owned()),
            (1, "5".to_owned()),
            (7, "no JSON".to_owned()),
        ]
    );
}

// F39: nobody waits for a reader that does not read, and it is told what it lost
#[tokio::test]
async fn who_does_not_read_loses_frames_and_is_told_how_many() {
    let (_observers, traffic) = traffic();
    let tap = client(&traffic);
    let mut stalled = traffic.subscribe(SubscribeOptions::default());
    let total = CAPACITY_BYTES / ring::MIN_FRAME_BYTES + 1000;
    for _ in 0..total {
        heard(&tap, r#"{"jsonrpc":"2.0","method":"x"}"#);
    }
    let gap = match stalled.next().await {
        Some(TrafficItem::Gap { gap }) => gap,
        other => panic!("no gap: {other:?}"),
    };
    let next = frame(stalled.next().await);
    assert_eq!((next.n, gap > 0), (gap + 1, true));
    let rest = std::iter::from_fn(|| stalled.try_next()).count() as u64;
    assert_eq!(gap + 1 + rest, total as u64);
}

#[tokio::test]
async fn what_is_kept_has_a_bound() {
    let (_observers, traffic) = traffic();
    let tap = client(&traffic);
    let mut watcher = traffic.subscribe(SubscribeOptions { capacity_bytes: 64 << 10, ..with_bodies() });
    let long: &'static str =
        format!(r#"{{"jsonrpc":"2.0","method":"x","params":{{"a":"{}"}}}}"#, "y".repeat(40_000)).leak();
    for _ in 0..10 {
        heard(&tap, long);
    }
    assert!(matches!(watcher.try_next(), Some(TrafficItem::Gap { gap }) if gap >= 6));
    let frame = frame(watcher.try_next());
    assert_eq!((frame.bytes, frame.cut), (long.len() as u64, Some((long.len() - WATCHED_BODY_BYTES) as u64)));
    assert_eq!(frame.text.unwrap(), long[..WATCHED_BODY_BYTES]);
}

#[tokio::test(start_paused = true)]
async fn who_comes_back_in_time_goes_on_where_it_was() {
    let (_observers, traffic) = traffic();
    let tap = client(&traffic);
    let mut first = traffic.subscribe(SubscribeOptions::default());
    heard(&tap, r#"{"jsonrpc":"2.0","method":"a"}"#);
    assert_eq!(frame(first.try_next()).n, 1);
    let after = Some(first.cursor());
    drop(first);
    assert!(tap.is_on(), "it may come back");
    heard(&tap, r#"{"jsonrpc":"2.0","method":"b"}"#);
    let mut again = traffic.subscribe(SubscribeOptions { after, ..SubscribeOptions::default() });
    assert_eq!(frame(again.try_next()).method.as_deref(), Some("b"));
    drop(again);
    tokio::time::advance(LINGER + Duration::from_secs(1)).await;
    heard(&tap, r#"{"jsonrpc":"2.0","method":"c"}"#);
    assert!(!tap.is_on(), "nobody did");
    let mut late = traffic.subscribe(SubscribeOptions { after, ..SubscribeOptions::default() });
    assert!(matches!(late.try_next(), Some(TrafficItem::Gap { gap: 1 })));
    let elsewhere = Some(Cursor { epoch: 1, seq: 5 });
    let mut other = traffic.subscribe(SubscribeOptions { after: elsewhere, ..SubscribeOptions::default() });
    assert!(matches!(other.try_next(), Some(TrafficItem::Gap { gap: 0 })));
}

#[tokio::test(start_paused = true)]
async fn who_asks_for_the_past_is_shown_what_is_still_known() {
    let (_observers, traffic) = traffic();
    let tap = client(&traffic);
    let _other = traffic.subscribe(SubscribeOptions::default());
    heard(&tap, r#"{"jsonrpc":"2.0","method":"a"}"#);
    let mut later = traffic.subscribe(SubscribeOptions::default());
    let mut past = traffic.subscribe(SubscribeOptions { past: true, ..SubscribeOptions::default() });
    assert!(later.try_next().is_none());
    assert_eq!(frame(past.try_next()).method.as_deref(), Some("a"));
    assert!(past.try_next().is_none());
}

#[tokio::test(start_paused = true)]
async fn numbers_and_time_go_on_where_another_stopped() {
    let (_observers, before) = traffic();
    let mut watcher = before.subscribe(SubscribeOptions::default());
    tokio::time::advance(Duration::from_secs(5)).await;
    heard(&client(&before), r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    let last = frame(watcher.try_next());
    let (_observers, after) = traffic();
    after.go_on_from(before.place());
    let mut watcher = after.subscribe(SubscribeOptions::default());
    tokio::time::advance(Duration::from_secs(1)).await;
    heard(&client(&after), r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    let next = frame(watcher.try_next());
    assert_eq!((next.n, next.call), (last.n + 1, last.call.map(|call| call + 1)));
    assert_eq!(next.t, last.t + 1_000_000_000);
}

#[tokio::test]
async fn the_end_of_the_gateway_ends_the_frames() {
    let (_observers, traffic) = traffic();
    let mut watcher = traffic.subscribe(SubscribeOptions::default());
    heard(&client(&traffic), r#"{"jsonrpc":"2.0","method":"a"}"#);
    traffic.close();
    assert!(watcher.next().await.is_some());
    assert!(watcher.next().await.is_none());
}
