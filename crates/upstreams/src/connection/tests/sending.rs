//! What is sent and what is not: queues, a server that does not read, cancelling, the end.

use super::*;
use crate::connection::outgoing::CROWDED_BYTES;

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

// What was not handed to a server may be asked again by whoever took the call.
#[tokio::test(start_paused = true)]
async fn a_call_is_dispatched_when_it_is_written_and_not_while_it_waits() {
    let wire = wire(r#","maxConcurrency":1"#);
    let asked = [wire.ask("{}"), wire.ask("{}")];
    assert_eq!(asked.each_ref().map(Asked::dispatches), [1, 0]);
    wire.answer(&wire.ids()[0], "{}");
    assert_eq!(asked.each_ref().map(Asked::dispatches), [1, 1]);
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
