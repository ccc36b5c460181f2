mod interleavings;
mod owners;

use expect_test::expect;
use manifold_engine::ClientId;
use manifold_protocol::Kind;
use manifold_protocol::framing::Line;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::*;
use crate::fake::{Asked, FakeHost, connection, id_of, raw, receive, show, written};

const SECOND: Duration = Duration::from_secs(1);

struct Wire {
    connection: Arc<Connection>,
    host: Arc<FakeHost>,
    _keeper: JoinSet<()>,
}

fn wire(keys: &str) -> Wire {
    let host = Arc::new(FakeHost::default());
    let connection = connection(keys, &host);
    let mut keeper = JoinSet::new();
    keeper.spawn(Arc::clone(&connection).keep_deadlines());
    Wire { connection, host, _keeper: keeper }
}

impl Wire {
    fn ask(&self, params: &str) -> Asked {
        self.ask_within(params, 10 * SECOND)
    }

    fn ask_within(&self, params: &str, timeout: Duration) -> Asked {
        let (exchange, asked) = Asked::open(timeout);
        let sent = self.connection.send(Call::new(Method::ToolsCall, Some(raw(params))), exchange);
        assert!(sent.is_ok(), "the connection is open");
        asked
    }

    fn receive(&self, line: &str) {
        receive(&self.connection, line);
    }

    /// Returns the ids of the requests just written.
    fn ids(&self) -> Vec<String> {
        written(&self.connection).iter().map(|line| id_of(line).to_string()).collect()
    }

    fn answer(&self, id: &str, result: &str) {
        self.receive(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#));
    }

    fn progress(&self, id: &str) {
        self.receive(&format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{id},"progress":1}}}}"#
        ));
    }

    fn question(&self, id: &str) {
        self.receive(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"sampling/createMessage","params":{{"q":1}}}}"#
        ));
    }
}

/// Lets the deadline keeper run at this very moment.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

#[tokio::test(start_paused = true)]
async fn results_and_errors_keep_their_bytes() {
    let wire = wire("");
    let (first, second) = (wire.ask(r#"{ "name":"x","n":1.0 }"#), wire.ask("{}"));
    let lines = written(&wire.connection);
    assert!(lines[0].ends_with(r#","method":"tools/call","params":{ "name":"x","n":1.0 }}"#), "{}", lines[0]);
    wire.answer(&id_of(&lines[0]).to_string(), r#"{ "a" : 1.0 }"#);
    let error = r#"{ "code":-1.0, "message":"m" }"#;
    wire.receive(&format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, id_of(&lines[1])));
    assert_eq!(first.answered().await, r#"{ "a" : 1.0 }"#);
    assert_eq!(second.answered().await, format!("peer {error}"));
}

// F-list: a slow server must not be flooded; what it cannot take yet waits.
#[tokio::test(start_paused = true)]
async fn calls_beyond_the_limit_wait_their_turn() {
    let wire = wire(r#","maxConcurrency":2"#);
    let asked: Vec<Asked> = (0..4).map(|n| wire.ask(&format!(r#"{{"n":{n}}}"#))).collect();
    let first = wire.ids();
    assert_eq!(first.len(), 2);
    asked[2].flight.cancel(None);
    assert_eq!(written(&wire.connection), [""; 0], "what was never written needs no cancelling");
    wire.answer(&first[1], "{}");
    let next = written(&wire.connection);
    assert_eq!(next.len(), 1);
    assert!(next[0].ends_with(r#""params":{"n":3}}"#), "the cancelled one is passed over: {next:?}");
}

// M9: 5,000 slow calls of one client made every other's fail.
#[tokio::test(start_paused = true)]
async fn one_client_s_flood_makes_no_other_s_call_be_refused() {
    let wire = wire(r#","maxConcurrency":1"#);
    let mut flood: Vec<Asked> = (0..5_000).map(|_| call_of(&wire, 1)).collect();
    let mut others: Vec<Asked> = (2..102).map(|client| call_of(&wire, client)).collect();
    let answers: Vec<String> = flood.iter_mut().filter_map(Asked::answer).collect();
    assert_eq!(answers.len(), 5_000 - 4_097, "one is in flight, 4,096 are waiting");
    let busy = "fault -32603 Server 's' is busy: 4096 calls of this client are waiting for it; try again in a moment";
    assert!(answers.iter().all(|answer| answer == busy), "{}", answers[0]);
    assert!(others.iter_mut().all(|other| other.answer().is_none()));
    // And they take turns: after two rounds each of the others has been served.
    for _ in 0..102 {
        wire.answer(&wire.ids()[0], "{}");
    }
    assert!(others.iter_mut().all(|other| other.answer().is_some()));
}

// Decision 25: the clock starts when the call is written.
#[tokio::test(start_paused = true)]
async fn a_queued_call_s_clock_starts_when_it_is_written() {
    let wire = wire(r#","maxConcurrency":1"#);
    let start = Instant::now();
    let (first, second) = (wire.ask_within("{}", 3 * SECOND), wire.ask_within("{}", 3 * SECOND));
    assert!(first.answered().await.starts_with("fault -32002"));
    assert_eq!(start.elapsed().as_secs(), 3);
    assert!(second.answered().await.starts_with("fault -32002"));
    assert_eq!(start.elapsed().as_secs(), 6);
}

// S1-43
#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_fails_and_is_cancelled_upstream() {
    let wire = wire("");
    let mut slow = wire.ask_within("{}", 30 * SECOND);
    let quick = wire.ask_within("{}", 2 * SECOND);
    let ids = wire.ids();
    let start = Instant::now();
    expect!["fault -32002 Tool 't' of server 's' did not answer within 2000 ms; raise the server's `timeout` if it needs longer"]
        .assert_eq(&quick.answered().await);
    assert_eq!(start.elapsed().as_secs(), 2);
    assert_eq!(
        written(&wire.connection)[0],
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{},"reason":"timed out"}}}}"#,
            ids[1]
        )
    );
    wire.answer(&ids[1], r#""late""#);
    assert_eq!(slow.answer(), None);
    wire.answer(&ids[0], r#""in time""#);
    assert_eq!(slow.answered().await, r#""in time""#);
}

// F15
#[tokio::test(start_paused = true)]
async fn a_server_that_lets_calls_time_out_is_asked_for_a_sign_of_life() {
    let wire = wire("");
    let times_out = async || {
        let calls = [wire.ask_within("{}", SECOND), wire.ask_within("{}", SECOND)];
        for call in calls {
            assert!(call.answered().await.starts_with("fault -32002"));
        }
        settle().await;
        let pings = written(&wire.connection).into_iter().filter(|line| line.contains(r#""method":"ping""#));
        pings.collect::<Vec<_>>()
    };
    let pings = times_out().await;
    assert_eq!(pings.len(), 1, "one for all");
    wire.answer(&id_of(&pings[0]).to_string(), "{}");
    settle().await;
    assert!(!wire.connection.is_unresponsive(), "a call may fail where the server is well");

    assert_eq!(times_out().await.len(), 1);
    assert!(!wire.connection.is_busy(), "nobody waits for it");
    tokio::time::sleep(2 * SECOND).await;
    assert!(wire.connection.is_unresponsive());
    assert_eq!(written(&wire.connection), [""; 0], "it is not taken back");
    wire.progress("7");
    assert!(!wire.connection.is_unresponsive(), "whatever it says is a sign of life");
}

// Decision 25
#[tokio::test(start_paused = true)]
async fn progress_starts_the_clock_afresh_up_to_the_hard_limit() {
    let wire = wire("");
    let mut asked = wire.ask_within(r#"{"_meta":{"progressToken":"p"}}"#, 60 * SECOND);
    let id = wire.ids().remove(0);
    let start = Instant::now();
    for _ in 0..11 {
        tokio::time::sleep(50 * SECOND).await;
        wire.progress(&id);
        assert_eq!(asked.answer(), None);
    }
    tokio::time::sleep(49 * SECOND).await;
    wire.progress(&id);
    assert_eq!(asked.progress().len(), 12);
    assert!(asked.answered().await.starts_with("fault -32002"));
    assert_eq!(start.elapsed().as_secs(), HARD_LIMIT.as_secs());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_may_take_longer_than_the_hard_limit_does() {
    let wire = wire("");
    let start = Instant::now();
    assert!(wire.ask_within("{}", 900 * SECOND).answered().await.starts_with("fault -32002"));
    assert_eq!(start.elapsed().as_secs(), 900);
}

// Decision 25
#[tokio::test(start_paused = true)]
async fn an_open_question_stops_the_clock_of_its_call() {
    let wire = wire("");
    let start = Instant::now();
    let mut other = wire.ask_within("{}", 150 * SECOND);
    let mut asked = wire.ask_within(r#"{"_meta":{"progressToken":1}}"#, 10 * SECOND);
    let id = wire.ids().remove(1);
    tokio::time::sleep(4 * SECOND).await;
    wire.question("1");
    wire.question(r#""two""#);
    tokio::time::sleep(100 * SECOND).await;
    let mut questions = asked.questions();
    assert_eq!(questions.len(), 2);
    questions.remove(0).1.finish(Ok(raw("{}")));
    assert_eq!(other.answer(), None);
    tokio::time::sleep(100 * SECOND).await;
    assert!(other.answer().unwrap().starts_with("fault -32002"), "it was asked nothing");
    assert_eq!(asked.answer(), None);
    questions.remove(0).1.finish(Ok(raw("{}")));
    tokio::time::sleep(5 * SECOND).await;
    assert_eq!(asked.answer(), None, "four before the questions, five after");
    wire.progress(&id);
    assert!(asked.answered().await.starts_with("fault -32002"));
    assert_eq!(start.elapsed().as_secs(), 219);
}

// The time before a question must not count twice.
#[tokio::test(start_paused = true)]
async fn progress_during_a_question_gives_no_more_than_a_fresh_start() {
    let wire = wire("");
    let start = Instant::now();
    let asked = wire.ask_within(r#"{"_meta":{"progressToken":1}}"#, 10 * SECOND);
    let id = wire.ids().remove(0);
    wire.question("1");
    tokio::time::sleep(100 * SECOND).await;
    wire.progress(&id);
    tokio::time::sleep(50 * SECOND).await;
    asked.questions().remove(0).1.finish(Ok(raw("{}")));
    assert!(asked.answered().await.starts_with("fault -32002"));
    assert_eq!(start.elapsed().as_secs(), 160);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_question_lets_the_clock_run_again() {
    let wire = wire("");
    let start = Instant::now();
    let asked = wire.ask_within("{}", 10 * SECOND);
    wire.question("1");
    tokio::time::sleep(5 * SECOND).await;
    drop(asked.questions());
    assert!(asked.answered().await.starts_with("fault -32002"));
    assert_eq!(start.elapsed().as_secs(), 15);
}

#[tokio::test(start_paused = true)]
async fn questions_go_to_the_latest_call_and_are_answered_under_their_own_ids() {
    let wire = wire("");
    let (first, second) = (wire.ask("{}"), wire.ask("{}"));
    written(&wire.connection);
    wire.question(r#""a\u0062""#);
    wire.question("1.0");
    assert_eq!(first.questions().len(), 0);
    let mut questions = second.questions();
    assert_eq!(questions[0].0.params, Some(raw(r#"{"q":1}"#)));
    let (_, last) = questions.remove(1);
    last.fail(Fault::ClientCannot { what: "that".to_owned() });
    questions.remove(0).1.finish(Ok(raw(r#"{ "model":"m" }"#)));
    expect![[r#"
        {"jsonrpc":"2.0","id":1.0,"error":{"code":-32601,"message":"The client does not support that"}}
        {"jsonrpc":"2.0","id":"a\u0062","result":{ "model":"m" }}"#]]
    .assert_eq(&written(&wire.connection).join("\n"));
    wire.receive(r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#);
    assert_eq!(written(&wire.connection), [r#"{"jsonrpc":"2.0","id":9,"result":{}}"#]);
}

#[tokio::test(start_paused = true)]
async fn a_question_outside_any_call_goes_to_the_host() {
    let wire = wire("");
    wire.question("1");
    let (call, exchange) = wire.host.questions().remove(0);
    assert_eq!(call.method, Method::CreateMessage);
    drop(exchange);
    assert!(written(&wire.connection)[0].starts_with(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603"#));
}

#[tokio::test(start_paused = true)]
async fn a_server_may_take_a_question_back() {
    let wire = wire("");
    let asked = wire.ask("{}");
    written(&wire.connection);
    wire.question("7");
    let (_, exchange) = asked.questions().remove(0);
    wire.receive(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"no"}}"#,
    );
    assert!(exchange.is_cancelled());
    exchange.finish(Ok(raw("{}")));
    assert_eq!(written(&wire.connection), [""; 0]);
}

// S1-44
#[tokio::test(start_paused = true)]
async fn a_cancelled_call_is_cancelled_upstream_once_and_never_answered() {
    let wire = wire("");
    let mut asked = wire.ask("{}");
    let id = wire.ids().remove(0);
    asked.flight.cancel(Some(raw(r#""changed my mind""#)));
    asked.flight.cancel(None);
    assert_eq!(
        written(&wire.connection),
        [format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"changed my mind"}}}}"#
        )]
    );
    wire.answer(&id, "{}");
    assert_eq!(asked.answer(), None);
    settle().await;
    assert!(!wire.connection.is_busy());
}

#[tokio::test(start_paused = true)]
async fn closing_fails_what_is_in_flight_once_and_gives_back_the_rest() {
    let wire = wire(r#","maxConcurrency":1"#);
    let (mut written_one, mut queued) = (wire.ask(r#"{"n":1}"#), wire.ask(r#"{"n":2}"#));
    let id = wire.ids().remove(0);
    wire.question("5");
    let question = written_one.questions().remove(0).1;
    let unsent = wire.connection.close("it ended with exit code 3");
    assert_eq!(
        written_one.answer().as_deref(),
        Some("fault -32603 Server 's' went away during the call: it ended with exit code 3")
    );
    assert!(question.is_cancelled(), "the client is told that nobody waits for its answer");
    wire.answer(&id, "{}");
    assert_eq!(queued.answer(), None);
    assert_eq!(unsent.len(), 1);
    assert_eq!(unsent[0].0.params, Some(raw(r#"{"n":2}"#)));
    let (exchange, _asked) = Asked::open(SECOND);
    assert!(wire.connection.send(Call::new(Method::Ping, None), exchange).is_err(), "given back unsent");
    assert_eq!(wire.connection.close("again").len(), 0);
}

// Decision 33
#[tokio::test(start_paused = true)]
async fn an_over_long_answer_fails_its_call() {
    let wire = wire("");
    let (mut by_head, mut by_tail, mut other) = (wire.ask("{}"), wire.ask("{}"), wire.ask("{}"));
    let ids = wire.ids();
    let too_long =
        |head: String, tail: String| Line::TooLong { head: head.into(), tail: tail.into(), bytes: 99 };
    wire.connection.receive(too_long(
        format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"x":"aaa"#, ids[0]),
        "aaa\"}}".to_owned(),
    ));
    wire.connection.receive(too_long(
        r#"{"jsonrpc":"2.0","result":{"x":"aa"#.to_owned(),
        format!(r#"aa"}},"id":{}}}"#, ids[1]),
    ));
    wire.connection.receive(too_long("{\"result\":\"aaa".to_owned(), "aaa\"}".to_owned()));
    let expected = "fault -32603 The answer of server 's' is larger than 1048576 bytes (limits.messageBytes)";
    assert_eq!(by_head.answer().as_deref(), Some(expected));
    assert_eq!(by_tail.answer().as_deref(), Some(expected));
    assert_eq!(other.answer(), None);
}

#[tokio::test(start_paused = true)]
async fn a_malformed_answer_fails_its_call() {
    let wire = wire("");
    let mut asked: Vec<Asked> = (0..4).map(|_| wire.ask("{}")).collect();
    let ids = wire.ids();
    wire.receive(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":1,"error":{{}}}}"#, ids[0]));
    wire.receive(&format!(r#"{{"id":{},"result":1}}"#, ids[1]));
    wire.receive(&format!(r#"{{"jsonrpc":"2.0","id":{},"error":"oops"}}"#, ids[2]));
    let answers: Vec<String> = asked.iter_mut().take(3).map(|one| one.answer().unwrap()).collect();
    expect![[r#"
        fault -32603 Server 's' sent an answer that is not a valid message: a response has either a result or an error
        fault -32603 Server 's' sent an answer that is not a valid message: jsonrpc must be "2.0"
        fault -32603 Server 's' sent an answer that is not a valid message: error must be an object"#]].assert_eq(&answers.join("\n"));
    for noise in [
        "Listening on stdio…",
        "",
        "null",
        "[]",
        r#"{"jsonrpc":"2.0"}"#,
        "{\"jsonrpc\":",
        r#"{"jsonrpc":"2.0","id":null,"result":1}"#,
    ] {
        wire.receive(noise);
    }
    assert_eq!(asked[3].answer(), None, "noise is no answer");
    wire.receive(&format!(r#"[{{"jsonrpc":"2.0","id":{},"result":"in a batch"}},7]"#, ids[3]));
    assert_eq!(asked[3].answer().as_deref(), Some(r#""in a batch""#));
}

#[tokio::test(start_paused = true)]
async fn progress_tokens_are_ours_there_and_the_client_s_back() {
    for token in [r#""t""#, "7", "1.50", r#""\u00e9""#, r#""""#, "18446744073709551616"] {
        let wire = wire("");
        let asked = wire.ask(&format!(r#"{{"name":"x","_meta":{{"a":1,"progressToken":{token},"z":2}}}}"#));
        let line = written(&wire.connection).remove(0);
        let id = id_of(&line);
        assert!(
            line.ends_with(&format!(
                r#""params":{{"name":"x","_meta":{{"a":1,"progressToken":{id},"z":2}}}}}}"#
            )),
            "{line}"
        );
        wire.receive(&format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progress":0.50,"progressToken":{id},"x":[ ]}}}}"#
        ));
        assert_eq!(asked.progress(), [format!(r#"{{"progress":0.50,"progressToken":{token},"x":[ ]}}"#)]);
    }
}

#[tokio::test(start_paused = true)]
async fn progress_of_nobody_s_call_is_dropped() {
    let wire = wire("");
    let asked = wire.ask("{}");
    let id = wire.ids().remove(0);
    wire.progress(&id);
    wire.progress("99");
    wire.progress(&format!(r#""{id}""#));
    wire.receive(r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#);
    assert_eq!(asked.progress(), [""; 0], "it gave no token");
}

#[tokio::test(start_paused = true)]
async fn notifications_go_where_they_belong() {
    let wire = wire("");
    for method in ["tools", "prompts", "resources", "tools"] {
        wire.receive(&format!(r#"{{"jsonrpc":"2.0","method":"notifications/{method}/list_changed"}}"#));
    }
    assert_eq!(wire.connection.stale.take(), [Kind::Tools, Kind::Prompts, Kind::Resources, Kind::Templates]);
    wire.receive(r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":1}}"#);
    wire.receive(r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x://1"}}"#);
    assert_eq!(
        wire.host.notices(),
        [
            r#"Only { last_caller: None } notifications/message {"data":1}"#,
            r#"notifications/resources/updated {"uri":"x://1"}"#
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn only_work_proves_a_server() {
    let wire = wire("");
    wire.connection.order(Method::SetLevel, raw("{}"));
    wire.answer(&wire.ids()[0], "{}");
    assert!(!wire.connection.has_answered(), "what it told us of itself");
    let _asked = wire.ask("{}");
    wire.answer(&wire.ids()[0], "{}");
    assert!(wire.connection.has_answered());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_read_gets_no_more_calls() {
    let wire = wire("");
    let big = format!(r#"{{"x":"{}"}}"#, "a".repeat(CROWDED_BYTES));
    let _first = wire.ask(&big);
    let answer = wire.ask("{}").answered().await;
    assert!(answer.starts_with("fault -32603 Server 's' is busy: more than 8 MiB of calls"), "{answer}");
    // M9: what one client leaves unread keeps no other out, as long as that asks for little.
    let mut other = call_of(&wire, 7);
    assert!(call_of(&wire, 7).answered().await.contains("is busy"));
    assert_eq!((other.answer(), wire.ids().len()), (None, 2));
    let mut third = wire.ask("{}");
    assert_eq!(third.answer(), None);
}

#[tokio::test(start_paused = true)]
async fn our_own_requests_time_out_and_end_with_the_server() {
    let wire = wire("");
    let reply = wire.connection.request(Method::ToolsList, None, 2 * SECOND).await;
    assert!(
        show(&reply.clone().map(Into::into))
            .starts_with("fault -32603 Server 's' did not answer within 2000 ms"),
        "{reply:?}"
    );
    wire.connection.close("gone");
    let reply = wire.connection.request(Method::ToolsList, None, 2 * SECOND).await;
    assert!(show(&reply.clone().map(Into::into)).contains("the server is gone"), "{reply:?}");
}

fn call_of(wire: &Wire, client: u64) -> Asked {
    let (exchange, asked) = Asked::open_by(ClientId(client), 60 * SECOND, false);
    assert!(wire.connection.send(Call::new(Method::ToolsCall, Some(raw("{}"))), exchange).is_ok());
    asked
}

#[tokio::test(start_paused = true)]
async fn a_question_that_may_be_another_call_s_does_not_end_with_the_one_it_was_put_in() {
    let wire = wire("");
    let (_first, second) = (call_of(&wire, 1), call_of(&wire, 1));
    let ids = wire.ids();
    wire.question("7");
    let (_, question) = second.questions().remove(0);
    wire.receive(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":2}}"#, ids[1]));
    assert!(!question.is_cancelled());
    written(&wire.connection);
    question.finish(Ok(raw("{}")));
    assert_eq!(written(&wire.connection), [r#"{"jsonrpc":"2.0","id":7,"result":{}}"#]);
}

// T6
#[tokio::test(start_paused = true)]
async fn a_question_in_a_call_that_is_over_is_nobody_s() {
    let wire = wire("");
    let first = call_of(&wire, 1);
    let id: u64 = wire.ids()[0].parse().unwrap();
    let second = call_of(&wire, 2);
    first.flight.cancel(None);
    written(&wire.connection);
    let line = r#"{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"of one"}}"#;
    wire.connection.receive_within(Line::Whole(line.into()), Some(id));
    assert_eq!(second.questions().len(), 0);
    assert!(written(&wire.connection)[0].contains("in a call that is over"));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_times_out_is_told_of_like_any_other() {
    let wire = wire("");
    let asked = wire.ask_within("{}", 3 * SECOND);
    let connection = Arc::clone(&wire.connection);
    let idle = tokio::time::timeout(60 * SECOND, connection.idle());
    let (answer, idle) = tokio::join!(asked.answered(), idle);
    assert!(answer.starts_with("fault"), "{answer}");
    assert!(idle.is_ok(), "whoever waits for the connection to rest hears of it");

    let asked = wire.ask_within("{}", 3 * SECOND);
    wire.question("7");
    let (_, question) = asked.questions().remove(0);
    assert!(asked.answered().await.starts_with("fault"));
    assert!(question.is_cancelled(), "no question outlives its call");
}

// H2: an answer that could be read in two ways is refused for its call alone, if it can be told which that is.
#[tokio::test(start_paused = true)]
async fn an_answer_with_doubles_is_malformed() {
    let wire = wire("");
    let mut asked = [wire.ask("{}"), wire.ask("{}"), wire.ask("{}"), wire.ask("{}")];
    let ids = wire.ids();
    let [first, second, third, fourth] = ids.as_slice() else { panic!("{ids:?}") };
    wire.receive(&format!(r#"{{"jsonrpc":"2.0","id":{first},"ID":{second},"result":{{}}}}"#));
    wire.receive(&format!(r#"{{"jsonrpc":"2.0","id":{third},"result":{{}},"Result":{{"x":1}}}}"#));
    wire.receive(&format!(
        r#"{{"jsonrpc":"2.0","id":{fourth},"result":{{"nextCursor":"a","NEXTCURSOR":"b"}}}}"#
    ));
    assert_eq!((asked[0].answer(), asked[1].answer()), (None, None), "nobody can tell whose it is");
    for refused in &mut asked[2..] {
        let answer = refused.answer().unwrap();
        assert!(
            answer.starts_with("fault -32603 Server 's' sent an answer that is not a valid message"),
            "{answer}"
        );
    }
    wire.answer(first, "{}");
    wire.answer(second, r#"{"a":1,"A":2}"#);
    assert_eq!(
        (asked[0].answer().as_deref(), asked[1].answer().as_deref()),
        (Some("{}"), Some(r#"{"a":1,"A":2}"#))
    );
}

// H2: a question that cannot be read bears an id of the server's, not of a call of ours.
#[tokio::test(start_paused = true)]
async fn a_question_with_doubles_ends_no_call() {
    let wire = wire("");
    let mut asked = wire.ask("{}");
    let ids = wire.ids();
    let id = &ids[0];
    wire.receive(&format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"elicitation/create","params":{{"mode":"form","MODE":"url"}}}}"#
    ));
    assert_eq!(asked.answer(), None);
    assert!(asked.questions().is_empty() && wire.host.questions().is_empty());
    let refused = written(&wire.connection);
    assert!(refused.len() == 1 && refused[0].contains(r#""code":-32600"#), "{refused:?}");
    assert_eq!(id_of(&refused[0]).to_string(), *id);
    wire.receive(
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","Level":"debug"}}"#,
    );
    assert!(asked.notices().is_empty() && wire.host.notices().is_empty());
    wire.answer(id, "{}");
    assert_eq!(asked.answer().as_deref(), Some("{}"));
}
