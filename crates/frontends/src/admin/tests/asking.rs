//! Calls of operators: results, what is told meanwhile, questions, and the end of patience.

use manifold_engine::Exchange;
use manifold_protocol::{Call, Failure, Method, Raw, Reply};
use tokio::sync::oneshot;

use super::*;

const EVENTS: &str = "Accept: text/event-stream\r\n";
const FORM: &str = r#"{"message":"who?","requestedSchema":{"type":"object"}}"#;

/// Begins a call that the server holds, and listens.
async fn begin(desk: &Desk, body: &str) -> (UnixStream, Call, Exchange) {
    let mut socket = desk.connect();
    socket.write_all(request("POST", "/v1/call", EVENTS, Some(body)).as_bytes()).await.unwrap();
    becomes(|| desk.world.fake.held_count() == 1).await;
    let (call, exchange) = desk.world.fake.held().remove(0);
    (socket, call, exchange)
}

/// Has the server ask something in the middle of a call.
fn question(exchange: &Exchange, method: Method) -> (oneshot::Receiver<Reply>, Arc<dyn Fn() + Send + Sync>) {
    let (asked, flight, answer) = {
        let (exchange, answer) = Exchange::answered();
        let flight = exchange.asker();
        (exchange, flight, answer)
    };
    exchange.asker().ask(Call::new(method, Some(Raw::from_static(FORM))), asked);
    (answer, Arc::new(move || flight.cancel(None)))
}

fn id_of(read: &str) -> String {
    let (_, rest) = read.split_once("event: question\ndata: {\"id\":\"").unwrap();
    rest.split('"').next().unwrap().to_owned()
}

#[tokio::test]
async fn a_result_keeps_its_bytes() {
    let desk = desk();
    let arguments = "{ \"b\":1.0,\n\t\"a\" : [1e2, \"\\u00fc\"] }";
    let answer =
        desk.ask("POST", "/v1/call", &format!("{{\"name\":\"s__echo\",\"arguments\":{arguments}}}")).await;
    assert_eq!((answer.status, answer.body.as_str()), (200, arguments));
    let streamed = request(
        "POST",
        "/v1/call",
        EVENTS,
        Some(&format!("{{\"name\":\"s__echo\",\"arguments\":{arguments}}}")),
    );
    let answer = desk.send(&streamed).await;
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let data = arguments.replace('\n', "\ndata: ");
    assert_eq!(answer.body, format!("event: result\ndata: {{\"result\":{data}}}\n\n"));
    assert_eq!((desk.held(), desk.lines().len()), (0, 0), "asking changes nothing");
}

#[tokio::test]
async fn errors_have_a_code_for_each_cause() {
    let desk = desk();
    let unknown = desk.ask("POST", "/v1/call", r#"{"name":"s__none"}"#).await;
    assert_eq!((unknown.status, unknown.code()), (404, "unknown-item".to_owned()), "{unknown:?}");
    let odd = desk.ask("POST", "/v1/call", r#"{"name":"s__echo","arguments":[]}"#).await;
    assert_eq!((odd.status, odd.code()), (400, "bad-request".to_owned()));
    let nothing = desk.ask("POST", "/v1/complete", r#"{"argument":"a"}"#).await;
    assert_eq!((nothing.status, nothing.code()), (400, "bad-request".to_owned()));
    let nowhere = desk.ask("POST", "/v1/call", r#"{"name":"s__echo","namespace":"x"}"#).await;
    assert_eq!((nowhere.status, nowhere.code()), (404, "unknown-namespace".to_owned()));
    let (mut socket, _, exchange) = begin(&desk, r#"{"name":"s__hold"}"#).await;
    exchange
        .finish(Err::<Raw, _>(Failure::Peer(Raw::from_static(r#"{"code":-32000,"message":"no \"luck\""}"#))));
    let ended = rest(&mut socket).await;
    assert!(ended.contains(r#"event: error"#) && ended.contains(r#""code":"server-error""#), "{ended}");
    assert!(ended.contains(r#"Server 's' answered with error -32000: no \"luck\""#), "{ended}");
}

#[tokio::test]
async fn variables_reach_the_program_that_opens_servers() {
    let desk = desk();
    let body = r#"{"name":"s__echo","namespace":"all","client":{"cwd":"/home/me","values":{"KEY":"v"}}}"#;
    assert_eq!(desk.ask("POST", "/v1/call", body).await.status, 200);
    let opened = std::mem::take(&mut *lock(&desk.program.opened));
    let [(namespace, Some(client))] = opened.as_slice() else { panic!("{opened:?}") };
    assert_eq!((namespace.as_deref(), client.cwd.as_str()), (Some("all"), "/home/me"));
    assert_eq!(client.values["KEY"], "v");
}

#[tokio::test]
async fn progress_is_told_before_the_result() {
    let desk = desk();
    let (mut socket, call, exchange) = begin(&desk, r#"{"name":"s__hold"}"#).await;
    assert_eq!(desk.held(), 1, "it is not to end meanwhile");
    assert!(call.params.as_ref().unwrap().path(&["_meta", "progressToken"]).is_some());
    let mut read = String::new();
    exchange.asker().progress(Raw::from_static(r#"{"progressToken":1,"progress":1,"total":2}"#));
    until(
        &mut socket,
        &mut read,
        "event: progress\ndata: {\"params\":{\"progressToken\":1,\"progress\":1,\"total\":2}}\n\n",
    )
    .await;
    exchange.finish(Ok(Raw::from_static("{}")));
    until(&mut socket, &mut read, "event: result\ndata: {\"result\":{}}\n\n").await;
    rest(&mut socket).await;
    becomes(|| desk.held() == 0).await;
}

#[tokio::test]
async fn of_much_progress_the_newest_is_kept() {
    let desk = desk();
    let (mut socket, _, exchange) = begin(&desk, r#"{"name":"s__hold"}"#).await;
    // Nobody reads between these.
    for number in 0..1000 {
        exchange.asker().progress(Raw::parse(format!("{{\"progress\":{number}}}")).unwrap());
    }
    exchange.finish(Ok(Raw::from_static("{}")));
    let all = Answered::of(&rest(&mut socket).await).body;
    assert_eq!(all.matches("event: progress").count(), 64);
    assert!(
        all.contains("{\"progress\":999}") && all.ends_with("event: result\ndata: {\"result\":{}}\n\n"),
        "{all}"
    );
}

#[tokio::test]
async fn a_question_is_told_and_answered_elsewhere() {
    let desk = desk();
    let (mut socket, _, exchange) = begin(&desk, r#"{"name":"s__hold","answersQuestions":true}"#).await;
    let (answer, _) = question(&exchange, Method::Elicit);
    let mut read = String::new();
    until(&mut socket, &mut read, "\n\n").await;
    assert!(
        read.contains(&format!("\"server\":\"s\",\"method\":\"elicitation/create\",\"params\":{FORM}}}")),
        "{read}"
    );
    let path = format!("/v1/questions/{}", id_of(&read));
    let odd = desk.ask("POST", &path, r#"{"result":{"content":{}}}"#).await;
    assert_eq!((odd.status, odd.code()), (400, "bad-request".to_owned()), "it may be answered still");
    let taken = desk.ask("POST", &path, r#"{"result":{"action":"accept","content":{"n":1.0}}}"#).await;
    assert_eq!(taken.status, 200);
    let Ok(Ok(answer)) = answer.await else { panic!("no answer") };
    assert_eq!(answer.plain().as_str(), r#"{"action":"accept","content":{"n":1.0}}"#);
    let again = desk.ask("POST", &path, "{}").await;
    assert_eq!((again.status, again.code()), (404, "unknown-item".to_owned()));
    exchange.finish(Ok(Raw::from_static("{}")));
    assert!(rest(&mut socket).await.contains("event: result"));
}

#[tokio::test]
async fn a_question_is_declined_by_the_operator_or_for_want_of_one() {
    let desk = desk();
    let (mut socket, _, exchange) = begin(&desk, r#"{"name":"s__hold","answersQuestions":true}"#).await;
    let (declined, _) = question(&exchange, Method::Elicit);
    let mut read = String::new();
    until(&mut socket, &mut read, "\n\n").await;
    desk.ask("POST", &format!("/v1/questions/{}", id_of(&read)), "{}").await;
    let Ok(Ok(answer)) = declined.await else { panic!("no answer") };
    assert_eq!(answer.plain().as_str(), r#"{"action":"decline"}"#);
    let (sampled, _) = question(&exchange, Method::CreateMessage);
    assert!(matches!(sampled.await, Ok(Err(_))), "no operator is a model");
    drop(exchange);
    rest(&mut socket).await;
    let (_socket, _, exchange) = begin(&desk, r#"{"name":"s__hold"}"#).await;
    let (declined, _) = question(&exchange, Method::Elicit);
    let Ok(Ok(answer)) = declined.await else { panic!("no answer") };
    assert_eq!(answer.plain().as_str(), r#"{"action":"decline"}"#);
}

#[tokio::test]
async fn a_question_that_is_withdrawn_can_be_answered_no_more() {
    let desk = desk();
    let (mut socket, _, exchange) = begin(&desk, r#"{"name":"s__hold","answersQuestions":true}"#).await;
    let (_answer, withdraw) = question(&exchange, Method::Elicit);
    let mut read = String::new();
    until(&mut socket, &mut read, "\n\n").await;
    let id = id_of(&read);
    withdraw();
    until(&mut socket, &mut read, &format!("event: withdrawn\ndata: {{\"id\":\"{id}\"}}\n\n")).await;
    assert_eq!(desk.ask("POST", &format!("/v1/questions/{id}"), "{}").await.status, 404);
}

#[tokio::test]
async fn whoever_leaves_takes_the_call_and_its_questions_back() {
    let desk = desk();
    for headers in ["", EVENTS] {
        let mut socket = desk.connect();
        let body = r#"{"name":"s__hold","answersQuestions":true}"#;
        socket.write_all(request("POST", "/v1/call", headers, Some(body)).as_bytes()).await.unwrap();
        becomes(|| desk.world.fake.held_count() == 1).await;
        let (_, exchange) = desk.world.fake.held().remove(0);
        let asked = (!headers.is_empty()).then(|| question(&exchange, Method::Elicit));
        let mut read = String::new();
        if asked.is_some() {
            until(&mut socket, &mut read, "\n\n").await;
        }
        assert!(!exchange.is_cancelled());
        drop(socket);
        becomes(|| exchange.is_cancelled()).await;
        becomes(|| desk.held() == 0).await;
        if asked.is_some() {
            let late = desk.ask("POST", &format!("/v1/questions/{}", id_of(&read)), "{}").await;
            assert_eq!(late.status, 404);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_is_cancelled_at_its_server() {
    let desk = desk();
    let answer = desk.ask("POST", "/v1/call", r#"{"name":"s__hold","timeoutMs":1500}"#).await;
    assert_eq!((answer.status, answer.code()), (504, "timed-out".to_owned()));
    let (_, exchange) = desk.world.fake.held().remove(0);
    assert!(exchange.is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn a_silent_call_shows_that_it_lives() {
    let desk = desk();
    let (mut socket, _, exchange) = begin(&desk, r#"{"name":"s__hold"}"#).await;
    let mut read = String::new();
    until(&mut socket, &mut read, ": still here\n\n").await;
    exchange.finish(Ok(Raw::from_static("{}")));
    until(&mut socket, &mut read, "event: result").await;
}

#[tokio::test]
async fn what_is_under_way_at_the_end_is_waited_for() {
    let desk = desk();
    let (mut socket, _, exchange) = begin(&desk, r#"{"name":"s__hold"}"#).await;
    let mut closing = std::pin::pin!(desk.office.close(Duration::from_secs(60)));
    assert!(futures_util::poll!(&mut closing).is_pending());
    let refused = desk.ask("POST", "/v1/call", r#"{"name":"s__echo"}"#).await;
    assert_eq!((refused.status, refused.code()), (503, "shutting-down".to_owned()));
    assert!(futures_util::poll!(&mut closing).is_pending());
    exchange.finish(Ok(Raw::from_static("{}")));
    closing.await;
    assert!(rest(&mut socket).await.contains("event: result\n"));
}

#[tokio::test]
async fn what_is_not_waited_for_any_longer_is_told_that_it_may_have_run() {
    let desk = desk();
    let (mut socket, _, exchange) = begin(&desk, r#"{"name":"s__hold"}"#).await;
    desk.office.settled(Duration::ZERO).await;
    let ((), ended) = tokio::join!(desk.office.close(Duration::ZERO), rest(&mut socket));
    assert!(ended.contains("event: error\n") && ended.contains("may have run"), "{ended}");
    drop(exchange);
}

#[tokio::test]
async fn bodies_and_cursors_that_are_none_are_refused() {
    let desk = desk();
    for path in ["/v1/call", "/v1/servers/s/start", "/v1/daemon/stop", "/v1/questions/x"] {
        for body in ["{", "nonsense", "[]", "5", "{}{}"] {
            let refused = desk.ask("POST", path, body).await;
            assert_eq!((refused.status, refused.code()), (400, "bad-request".to_owned()), "{path} {body}");
        }
    }
    assert!(lock(&desk.program.orders).is_empty(), "nothing was done");
    for cursor in ["x", "5", "-1:a", "9999999999999999999999:a"] {
        let refused = desk.get(&format!("/v1/tools?cursor={cursor}")).await;
        assert_eq!((refused.status, refused.code()), (400, "bad-request".to_owned()), "{cursor}");
    }
    assert_eq!(desk.get("/v1/tools?cursor=1:s__echo").await.status, 200);
}
