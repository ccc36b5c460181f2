//! A connection that is cut, stays silent or is slow: one error, and nothing sent twice (F14).

use super::*;

// F14: a stream cut before the answer fails its call at once
#[test]
fn a_cut_stream_without_an_id_fails_at_once_and_is_not_sent_again() {
    for clean in [false, true] {
        let sandbox = Sandbox::new();
        let (server, mut client) = in_session(&sandbox, Style::Events, json!({}));
        server.trouble("tools/call", 1, Trouble::Cut { id: false, clean });
        let began = Instant::now();
        let answer = client.call("far.echo", json!({"text": "cut"}));
        let took = began.elapsed();
        typed(&mut client, &answer, -32603);
        figures::took("F14: the error of a cut stream", took, Duration::from_millis(500));
        assert_eq!(times(&server, "cut").0, 1, "it may have been carried out: never again");
        assert_eq!(text_of(&client.call("far.echo", json!({"text": "next"}))), "next");
        eprintln!("F14: a cut stream (clean: {clean}) failed its call after {took:?}");
    }
}

// F14: with an id it is taken up again
#[test]
fn a_cut_stream_with_an_id_is_taken_up_again() {
    for clean in [false, true] {
        let sandbox = Sandbox::new();
        let (server, mut client) = in_session(&sandbox, Style::Events, json!({}));
        server.trouble("tools/call", 1, Trouble::Cut { id: true, clean });
        assert_eq!(text_of(&client.call("far.echo", json!({"text": "resumed"}))), "resumed");
        assert_eq!(times(&server, "resumed"), (1, 1));
        let resumed: Vec<_> =
            server.record().into_iter().filter(|request| request.header("last-event-id").is_some()).collect();
        assert_eq!(resumed.len(), 1);
        assert_eq!(resumed[0].method, "GET");
        assert!(resumed[0].header("mcp-session-id").is_some());
    }
}

// F14: what was written and not answered is never written again
#[test]
fn a_call_that_was_written_is_not_sent_again() {
    for style in [Style::Json, Style::Events] {
        let sandbox = Sandbox::new();
        let (server, mut client) = in_session(&sandbox, style, json!({"retries": 5, "retryDelay": 100}));
        server.trouble("tools/call", 1, Trouble::Close);
        let began = Instant::now();
        let answer = client.call("far.echo", json!({"text": "written"}));
        typed(&mut client, &answer, -32603);
        figures::took("F14: the error of a closed connection", began.elapsed(), Duration::from_millis(500));
        assert_eq!(times(&server, "written").0, 1);
        assert_eq!(text_of(&client.call("far.echo", json!({"text": "next"}))), "next");
        // And when the whole server goes down under a call.
        let id = client
            .request("tools/call", json!({"name": "far.sleep", "arguments": {"text": "slow", "ms": 9000}}));
        assert!(until(SOON, || times(&server, "slow").1 == 1));
        server.go_down();
        let answer = client.wait_for(id, SOON);
        typed(&mut client, &answer, -32603);
        server.come_back();
        assert!(until(SOON, || client.call("far.echo", json!({"text": "again"}))["error"].is_null()));
        assert_eq!(times(&server, "slow").0, 1);
    }
}

// F14: a peer that takes the call and says nothing costs its caller the deadline, and nobody else anything
#[test]
fn a_half_open_server_costs_its_own_calls_their_deadline() {
    let sandbox = Sandbox::new();
    let (server, mut client) = in_session(&sandbox, Style::Json, json!({"timeout": 1000}));
    server.trouble_for_good("tools/call", Trouble::HalfOpen);
    let began = Instant::now();
    let calls: Vec<u64> = (0..20)
        .map(|_| client.request("tools/call", json!({"name": "far.echo", "arguments": {"text": "dead"}})))
        .collect();
    for _ in 0..200 {
        assert_eq!(text_of(&client.call("near.echo", json!({"text": "fine"}))), "fine");
    }
    let others = began.elapsed();
    for id in calls {
        let answer = client.wait_for(id, SOON);
        assert_eq!(answer["error"]["code"], -32002, "{answer}");
        assert_eq!(answer["error"]["data"]["timeoutMs"], 1000);
    }
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(950), "{took:?}");
    assert!(
        until(SOON, || server.received("notifications/cancelled").len() == 20),
        "each is cancelled upstream"
    );
    // Nobody waits for those answers: their connections are let go.
    let dead = server.received("tools/call");
    let dead: Vec<u64> = dead.iter().skip(1).map(|request| request.connection).collect();
    assert_eq!(dead.len(), 20);
    let held = || server.connections().iter().filter(|open| dead.contains(open)).count();
    assert!(until(SOON, || held() == 0), "{} of 20 connections are still held", held());
    server.heal();
    assert_eq!(text_of(&client.call("far.echo", json!({"text": "alive"}))), "alive");
    assert_eq!(times(&server, "dead").0, 20);
    eprintln!("F14: 20 half-open calls ended after {took:?}; 200 calls next door took {others:?}");
}

// F14: at the handshake, too
#[test]
fn a_server_that_never_answers_the_handshake_is_given_up() {
    for kind in ["http", "sse"] {
        let sandbox = Sandbox::new();
        let server = HttpFake::start(Style::Json, &TOOLS);
        server.trouble_for_good("*", Trouble::HalfOpen);
        let url = if kind == "sse" { server.sse_url() } else { server.url() };
        let mut config = beside_a_local_one(&url, json!({"startTimeout": 1000}));
        config["mcpServers"]["far"]["type"] = json!(kind);
        let mut client = studio(&sandbox, &config);
        let began = Instant::now();
        let answer = client.call("far.echo", json!({}));
        typed(&mut client, &answer, -32001);
        assert!(began.elapsed() >= Duration::from_millis(900), "{:?}", began.elapsed());
        server.heal();
        assert!(until(SOON, || client.call("far.echo", json!({"text": "hi"}))["error"].is_null()), "{kind}");
    }
}

// Decision 25: a slow body is an answer, as long as it comes in time
#[test]
fn a_slow_body_is_waited_for_until_the_deadline() {
    let sandbox = Sandbox::new();
    let (server, mut client) = in_session(&sandbox, Style::Json, json!({"timeout": 1000}));
    server.trouble("tools/call", 1, Trouble::SlowBody { pause: Duration::from_millis(100) });
    assert_eq!(text_of(&client.call("far.echo", json!({"text": "slow"}))), "slow");
    server.trouble("tools/call", 1, Trouble::SlowBody { pause: Duration::from_millis(600) });
    let answer = client.call("far.echo", json!({"text": "too slow"}));
    typed(&mut client, &answer, -32002);
    assert_eq!(text_of(&client.call("far.echo", json!({"text": "next"}))), "next");
}
