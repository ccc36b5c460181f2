//! Servers that end by themselves, and what follows.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_server_that_did_its_work_is_back_at_once() {
    let stage = stage("", [RUNS, RUNS]);
    assert_eq!(stage.call().await, "1");
    stage.crash();
    settle().await;
    assert_eq!((stage.starts(), stage.phase()), (vec![0, 0], Phase::Ready));
    assert_eq!(stage.call().await, "2");
}

#[tokio::test(start_paused = true)]
async fn a_configured_delay_is_kept_even_then() {
    let stage = stage(r#","restartDelay":5000"#, [RUNS, RUNS]);
    stage.call().await;
    stage.crash();
    settle().await;
    assert_eq!(stage.phase(), Phase::Starting);
    tokio::time::sleep(6 * SECOND).await;
    assert_eq!(stage.starts(), [0, 5000]);
}

// A server that only lists and dies would otherwise be started in a circle, without a pause.
#[tokio::test(start_paused = true)]
async fn a_server_that_only_dies_is_given_ever_longer_rests() {
    let stage = stage("", (0..6).map(|_| RUNS));
    stage.upstream.discover().await;
    for _ in 0..5 {
        let started = stage.starts().len();
        stage.crash();
        while stage.starts().len() == started {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        settle().await;
    }
    let starts = stage.starts();
    let rests: Vec<u64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    for (rest, most) in rests.iter().zip([500, 1000, 2000, 4000, 8000]) {
        assert!(*rest >= most * 3 / 4 && *rest <= most + 100, "{rests:?}");
    }
    assert_eq!(stage.call().await, "6");
}

#[tokio::test(start_paused = true)]
async fn a_crash_fails_the_call_in_flight_once_and_later_ones_wait_for_the_next_life() {
    let stage = stage("", [DEAF, RUNS]);
    let lost = stage.ask();
    settle().await;
    stage.crash();
    assert!(
        lost.answered()
            .await
            .starts_with("fault -32603 Server 's' went away during the call: it ended with exit code 1")
    );
    assert_eq!(stage.call().await, "2", "waits through a short rest");
}

// D4: nor is one of a server that only dies
#[tokio::test(start_paused = true)]
async fn a_long_rest_is_not_waited_out() {
    let stage = stage("", (0..4).map(|_| DEAF).chain([RUNS]));
    stage.upstream.discover().await;
    for rest in [500, 1000, 2000] {
        stage.crash();
        tokio::time::sleep(Duration::from_millis(rest + 2)).await;
    }
    stage.crash();
    settle().await;
    let before = Instant::now();
    stage.upstream.discover().await;
    assert_eq!((before.elapsed(), stage.starts().len()), (Duration::ZERO, 4), "no list waits for it");
    assert_eq!(stage.call().await, "5");
    assert_eq!(before.elapsed(), Duration::ZERO);
}

// A delay in the config is somebody's wish
#[tokio::test(start_paused = true)]
async fn a_configured_delay_is_not_cut_short_by_calls() {
    let stage = stage(r#","restartDelay":5000"#, [DEAF, RUNS]);
    stage.upstream.discover().await;
    stage.crash();
    settle().await;
    let answer = stage.call().await;
    assert!(
        answer.starts_with("fault -32003 Server 's' is not running: it ended with exit code 1"),
        "{answer}"
    );
    assert_eq!(stage.starts().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_leaves_in_good_order_sleeps_again() {
    let stage = stage("", [RUNS, RUNS]);
    stage.upstream.discover().await;
    assert_eq!(stage.call().await, "1");
    stage.exit();
    tokio::time::sleep(60 * SECOND).await;
    assert_eq!((stage.starts(), stage.phase()), (vec![0], Phase::Idle));
    assert!(stage.upstream.listing().is_some(), "what it offers is still known");
    assert_eq!(stage.call().await, "2");
}

#[tokio::test(start_paused = true)]
async fn one_that_leaves_in_the_middle_of_a_call_or_is_eager_is_started_again() {
    let busy = stage("", [DEAF, RUNS]);
    let lost = busy.ask();
    settle().await;
    busy.exit();
    assert!(lost.answered().await.starts_with("fault -32603"));
    tokio::time::sleep(SECOND).await;
    assert_eq!(busy.starts().len(), 2);

    let eager = stage(r#","eager":true"#, [RUNS, RUNS]);
    eager.call().await;
    eager.exit();
    settle().await;
    assert_eq!(eager.starts().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_says_nothing_any_more_is_ended_and_replaced() {
    let stage = stage("", [RUNS, RUNS]);
    stage.call().await;
    stage.ends(Ending::Silent);
    tokio::time::sleep(2 * SECOND).await;
    assert_eq!(stage.call().await, "2");
}

#[tokio::test(start_paused = true)]
async fn without_restart_a_dead_server_waits_for_the_next_call() {
    let stage = stage(r#","restart":false"#, [RUNS, RUNS]);
    stage.call().await;
    stage.crash();
    tokio::time::sleep(60 * SECOND).await;
    assert_eq!(stage.starts().len(), 1);
    assert!(matches!(stage.phase(), Phase::Failed(_)));
    assert_eq!(stage.call().await, "2");
}
