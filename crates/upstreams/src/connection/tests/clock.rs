//! The clock of a call: when it starts, what stops it, what starts it afresh (decision 25).

use expect_test::expect;
use tokio::time::Instant;

use super::*;
use crate::connection::deadlines::HARD_LIMIT;

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
