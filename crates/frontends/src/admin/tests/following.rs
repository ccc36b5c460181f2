//! Streams of events: where they begin, what a slow reader costs, and when they end.

use manifold_config::ServerKey;

use super::*;

fn key() -> ServerKey {
    ServerKey { schema: None, id: "s".to_owned() }
}

async fn follow(desk: &Desk, path: &str, headers: &str) -> (UnixStream, String) {
    let mut socket = desk.connect();
    socket.write_all(request("GET", path, headers, None).as_bytes()).await.unwrap();
    let mut read = String::new();
    until(&mut socket, &mut read, "event: cursor\n").await;
    (socket, read)
}

#[tokio::test(start_paused = true)]
async fn a_stream_begins_with_its_place_and_tells_what_happens() {
    let desk = desk();
    let (mut socket, mut read) = follow(&desk, "/v1/events", "").await;
    assert!(read.contains("retry: 1000\n\n"), "{read}");
    assert_eq!(desk.held(), 1);
    desk.world.fake.host().status_changed(&key());
    until(&mut socket, &mut read, "event: server\ndata: {\"seq\":").await;
    until(&mut socket, &mut read, ": still here\n\n").await;
    drop(socket);
    becomes(|| desk.held() == 0).await;
}

#[tokio::test]
async fn topics_that_nobody_knows_are_refused() {
    let desk = desk();
    let refused = desk.get("/v1/events?topics=server,weather").await;
    assert_eq!((refused.status, refused.code()), (400, "bad-request".to_owned()));
    assert_eq!(desk.get("/v1/events?after=yesterday").await.status, 400);
}

#[tokio::test]
async fn a_place_of_another_run_is_one_reset() {
    let desk = desk();
    for (path, headers) in [("/v1/events?after=1-1", ""), ("/v1/events", "Last-Event-ID: 1-1\r\n")] {
        let (mut socket, mut read) = follow(&desk, path, headers).await;
        let first = read.find("\nevent: ").map(|at| &read[at..]);
        assert!(first.is_some_and(|first| first.starts_with("\nevent: reset\n")), "{read}");
        desk.world.fake.host().status_changed(&key());
        until(&mut socket, &mut read, "event: server\n").await;
        assert_eq!(read.matches("event: reset\n").count(), 1, "{read}");
    }
}

/// Reads a stream's place, leaves, and returns the place.
async fn look_and_leave(desk: &Desk) -> String {
    let (mut socket, mut read) = follow(desk, "/v1/events", "").await;
    until(&mut socket, &mut read, "data: {\"at\":").await;
    let (_, id) = read.split_once("\nid: ").unwrap();
    let last = id.lines().next().unwrap().to_owned();
    drop(socket);
    becomes(|| desk.held() == 0).await;
    last
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_was_away_for_a_moment_has_missed_nothing() {
    let desk = desk();
    let last = look_and_leave(&desk).await;
    for order in ["stop", "start", "stop", "start", "restart"] {
        desk.send(&request("POST", &format!("/v1/servers/s/{order}"), "", None)).await;
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (mut socket, mut read) = follow(&desk, "/v1/events", &format!("Last-Event-ID: {last}\r\n")).await;
    until(&mut socket, &mut read, "\"verb\":\"restart\"").await;
    assert_eq!(read.matches("event: audit\n").count(), 5, "{read}");
    assert_eq!(read.matches("event: reset\n").count(), 0, "{read}");
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_was_away_for_long_reads_everything_anew_once() {
    let desk = desk();
    let last = look_and_leave(&desk).await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    desk.send(&request("POST", "/v1/servers/s/stop", "", None)).await;
    let (mut socket, mut read) = follow(&desk, &format!("/v1/events?after={last}"), "").await;
    until(&mut socket, &mut read, "event: reset\n").await;
    desk.send(&request("POST", "/v1/servers/s/start", "", None)).await;
    until(&mut socket, &mut read, "\"verb\":\"start\"").await;
    assert_eq!(read.matches("event: reset\n").count(), 1, "{read}");
    assert_eq!(read.matches("\"verb\":\"stop\"").count(), 0, "{read}");
}

#[tokio::test]
async fn a_hundred_readers_that_do_not_read_hold_up_nobody() {
    let desk = desk();
    let mut stalled = Vec::new();
    for _ in 0..100 {
        stalled.push(follow(&desk, "/v1/events", "").await.0);
    }
    let mut told = 0;
    for _ in 0..200 {
        for _ in 0..100 {
            desk.world.fake.host().status_changed(&key());
            told += 1;
        }
        let answer = desk.ask("POST", "/v1/call", r#"{"name":"s__echo","arguments":{}}"#).await;
        assert_eq!((answer.status, answer.body.as_str()), (200, "{}"));
    }
    // One that reads again is owed no more than its connection held, however much has happened.
    let mut last = stalled.pop().unwrap();
    desk.world.fake.host().status_changed(&key());
    let now = format!("{{\"seq\":{},", desk.office.control.snapshot().at.seq);
    let mut text = String::new();
    until(&mut last, &mut text, &now).await;
    let bytes = text.len();
    let events = text.matches("event: ").count();
    assert!(events < told, "{events} of {told}");
    assert!(bytes < 2 << 20, "{bytes} bytes");
    assert!(text.contains("event: server\n"));
    drop(stalled);
    drop(last);
    becomes(|| desk.held() == 0).await;
}
