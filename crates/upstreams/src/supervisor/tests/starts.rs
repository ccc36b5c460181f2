//! Starts: one at a time, told to all who wait, and tried again after a failure (F1).

use super::*;
use crate::supervisor::backoff::jittered;

// S1-23, S1-24
#[tokio::test(start_paused = true)]
async fn a_server_sleeps_until_it_is_needed() {
    let stage = stage("", [RUNS]);
    tokio::time::sleep(60 * SECOND).await;
    assert_eq!((stage.starts(), stage.phase()), (vec![], Phase::Idle));
    assert_eq!(stage.call().await, "1");
    assert_eq!((stage.starts(), stage.phase()), (vec![60_000], Phase::Ready));
    assert_eq!(stage.upstream.status().pid, Some(1));
}

#[tokio::test(start_paused = true)]
async fn however_many_ask_it_is_started_once() {
    let stage = stage("", [SLOW]);
    let asked: Vec<Asked> = (0..50).map(|_| stage.ask()).collect();
    let ordered = stage.upstream.order(Order::Start);
    let ((), done) = tokio::join!(stage.upstream.discover(), ordered);
    assert_eq!(done, Ok(()));
    assert_eq!(stage.phase(), Phase::Ready);
    for one in asked {
        assert_eq!(one.answered().await, "1");
    }
    assert_eq!(stage.starts(), [0]);
}

// S1-33
#[tokio::test(start_paused = true)]
async fn a_failed_start_is_told_to_all_at_once_and_rested_after() {
    let stage = stage("", []);
    let asked: Vec<Asked> = (0..5).map(|_| stage.ask()).collect();
    let ordered = stage.upstream.order(Order::Start);
    for one in asked {
        assert_eq!(one.answered().await, FAILED);
    }
    assert_eq!(
        ordered.await.map_err(|fault| fault.message()),
        Err("Server 's' failed to start: no".to_owned())
    );
    // The order started it again.
    assert_eq!(stage.starts(), [0, 0]);
    assert!(matches!(stage.phase(), Phase::Failed(_)));
}

// D4, F1: after a failure it is tried again by itself, with rests that double up to five minutes
#[tokio::test(start_paused = true)]
async fn a_server_that_fails_is_tried_again_by_itself_ever_more_seldom() {
    let stage = stage("", []);
    stage.upstream.discover().await;
    tokio::time::sleep(40 * 60 * SECOND).await;
    let starts = stage.starts();
    let rests: Vec<u64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let doubled = (0..10).map(|n| 500 << n).chain(std::iter::repeat(300_000));
    for (rest, most) in rests.iter().zip(doubled) {
        let most = most.min(300_000);
        assert!(*rest >= most * 3 / 4 - 1 && *rest <= most + 1, "{rests:?}");
    }
    assert!(rests.len() > 14, "{rests:?}");
    let in_the_first_minute = starts.iter().filter(|start| **start < 60_000).count();
    println!("F1: {in_the_first_minute} starts in the first minute");
    assert!(in_the_first_minute <= 8, "F1");
}

// D4
#[tokio::test(start_paused = true)]
async fn a_list_waits_for_the_first_start_alone() {
    let hangs = || Start::Hangs(10 * SECOND);
    let stage = stage("", [hangs(), hangs(), hangs(), SLOW]);
    stage.upstream.discover().await;
    assert_eq!(stage.began.elapsed(), 10 * SECOND, "the first time nobody knows better");
    // Whether it rests or is being tried, for as long as it does not work.
    while stage.starts().len() < 4 {
        let before = Instant::now();
        stage.upstream.discover().await;
        assert_eq!(before.elapsed(), Duration::ZERO);
        assert!(matches!(stage.phase(), Phase::Failed(_)), "{:?}", stage.phase());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    tokio::time::sleep(4 * SECOND).await;
    assert_eq!(stage.phase(), Phase::Ready);
    assert!(stage.upstream.listing().is_some(), "and once it works it is there by itself");
    assert_eq!(stage.host.notices(), ["listing"]);
}

// D4
#[tokio::test(start_paused = true)]
async fn a_call_starts_a_server_that_failed_at_once() {
    let stage = stage("", [Start::Fails, Start::Fails, RUNS]);
    stage.upstream.discover().await;
    assert_eq!(stage.call().await, FAILED, "with what it fails for now");
    assert_eq!(stage.call().await, "3");
    assert_eq!(stage.starts(), [0, 0, 0]);
}

// D4, F1: however many call, one start is in flight, and it is not started in a circle
#[tokio::test(start_paused = true)]
async fn a_flood_of_calls_starts_a_failing_server_seldom() {
    let stage = stage("", (0..1000).map(|_| Start::Hangs(SECOND / 10)));
    let mut calls = 0;
    while stage.began.elapsed() < 60 * SECOND {
        let together: Vec<Asked> = (0..20).map(|_| stage.ask()).collect();
        for one in together {
            assert_eq!(one.answered().await, FAILED);
            calls += 1;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let starts = stage.starts().len();
    println!("F1: {starts} starts for {calls} calls in a minute");
    // Eight by itself, three for the first calls, one in five seconds for all others.
    assert!(starts <= 8 + 3 + 12, "{starts}");
    // The rests it takes by itself are not prolonged by calls.
    let before = stage.starts().len();
    tokio::time::sleep(64 * SECOND).await;
    assert!(stage.starts().len() > before);
}

#[test]
fn only_another_reason_is_news() {
    let mut complaint = Complaint::default();
    assert!(complaint.is_new("it ended with exit code 3"));
    assert!(!complaint.is_new("it ended with exit code 3"));
    assert!(complaint.is_new("no such program"));
    assert!(complaint.is_new("it ended; its log: 10:00:01 pid 12 no database"));
    assert!(!complaint.is_new("it ended; its log: 10:00:07 pid 99 no database"), "a number is no reason");
    complaint.forget();
    assert!(complaint.is_new("it ended; its log: 10:00:07 pid 99 no database"));
}

// F1: servers that fail together do not come back together
#[test]
fn rests_differ_from_server_to_server_and_from_time_to_time() {
    let rests: std::collections::BTreeSet<Duration> =
        (0..20).flat_map(|n| [jittered(SECOND, &format!("s{n}"), 1), jittered(SECOND, "s", n + 2)]).collect();
    assert!(rests.len() > 20, "{rests:?}");
    assert!(rests.iter().all(|rest| *rest <= SECOND && *rest > SECOND.mul_f64(0.74)));
}

// M9: it was "is not running: too many calls are waiting", for everybody.
#[tokio::test(start_paused = true)]
async fn one_client_s_flood_at_a_starting_server_makes_no_other_s_call_be_refused() {
    let stage = stage("", [SLOW]);
    let ask = |client: u64| {
        let (exchange, asked) = Asked::open_by(ClientId(client), 60 * SECOND, false);
        stage.upstream.send(Call::new(Method::ToolsCall, Some(raw("{}"))), exchange);
        asked
    };
    let mut flood: Vec<Asked> = (0..5_000).map(|_| ask(1)).collect();
    let mut others: Vec<Asked> = (2..5_000).map(ask).collect();
    settle().await;
    let refused: Vec<String> = flood.iter_mut().filter_map(Asked::answer).collect();
    assert_eq!(refused.len(), 5_000 - 4_096);
    let busy = "fault -32603 Server 's' is busy: 4096 calls of this client are waiting for it; try again in a moment";
    assert!(refused.iter().all(|answer| answer == busy), "{}", refused[0]);
    assert!(others.iter_mut().all(|other| other.answer().is_none()));
    for other in others {
        assert_eq!(other.answered().await, "1");
    }
}
