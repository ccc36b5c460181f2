//! Orders of an operator, and the end of all.

use super::*;

// Decision 32
#[tokio::test(start_paused = true)]
async fn what_was_stopped_stays_stopped() {
    let stage = stage("", [RUNS, RUNS]);
    stage.upstream.discover().await;
    assert_eq!(stage.upstream.order(Order::Stop).await, Ok(()));
    assert_eq!((stage.stops(), stage.phase()), (1, Phase::Stopped));
    assert!(stage.upstream.listing().is_none());
    assert_eq!(
        stage.call().await,
        "fault -32003 Server 's' is not running: it was stopped; use the servers_start tool to start it"
    );
    stage.upstream.discover().await;
    tokio::time::sleep(60 * SECOND).await;
    assert_eq!(stage.upstream.order(Order::Stop).await, Ok(()));
    assert_eq!(stage.starts().len(), 1);
    assert_eq!(stage.upstream.order(Order::Start).await, Ok(()));
    assert_eq!(stage.call().await, "2");
    assert_eq!(stage.upstream.order(Order::Start).await, Ok(()), "it runs already");
    assert_eq!(stage.starts().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn stopping_fails_calls_in_flight_and_those_that_wait() {
    let stage = stage(r#","maxConcurrency":1"#, [DEAF, SLOW]);
    let (in_flight, queued) = (stage.ask(), stage.ask());
    settle().await;
    assert_eq!(stage.upstream.order(Order::Stop).await, Ok(()));
    assert!(
        in_flight
            .answered()
            .await
            .starts_with("fault -32603 Server 's' went away during the call: it was stopped")
    );
    assert!(queued.answered().await.starts_with("fault -32003"));

    let starting = stage.upstream.order(Order::Start);
    let stopping = stage.upstream.order(Order::Stop);
    let (started, stopped) = tokio::join!(starting, async {
        tokio::time::sleep(SECOND).await;
        stopping.await
    });
    assert!(started.is_err(), "it was stopped before it ran");
    assert_eq!((stopped, stage.phase()), (Ok(()), Phase::Stopped));
}

#[tokio::test(start_paused = true)]
async fn a_restart_ends_the_old_one_first_and_keeps_what_was_never_sent() {
    let stage = stage(r#","maxConcurrency":1"#, [DEAF, RUNS]);
    let (in_flight, queued) = (stage.ask(), stage.ask());
    settle().await;
    assert_eq!(stage.upstream.order(Order::Restart).await, Ok(()));
    assert_eq!((stage.stops(), stage.starts()), (1, vec![0, 501]));
    assert!(in_flight.answered().await.starts_with("fault -32603"));
    assert_eq!(queued.answered().await, "2");
}

#[tokio::test(start_paused = true)]
async fn a_restart_that_fails_says_so() {
    let stage = stage("", [RUNS]);
    stage.call().await;
    assert!(stage.upstream.order(Order::Restart).await.is_err());
    assert!(matches!(stage.phase(), Phase::Failed(_)));
}

#[tokio::test(start_paused = true)]
async fn an_operator_need_not_wait_for_a_rest_to_end() {
    let stage = stage("", [Start::Fails, RUNS]);
    assert_eq!(stage.call().await, FAILED);
    assert_eq!(stage.upstream.order(Order::Start).await, Ok(()));
    assert_eq!(stage.starts(), [0, 0]);
}

// S1-26
#[tokio::test(start_paused = true)]
async fn a_server_only_an_operator_may_start_is_not_started_by_calls() {
    let stage = stage(r#","eager":false,"lazy":false"#, [RUNS]);
    assert!(stage.call().await.starts_with("fault -32003"));
    stage.upstream.discover().await;
    assert!(stage.starts().is_empty());
    assert_eq!(stage.upstream.order(Order::Start).await, Ok(()));
    assert_eq!(stage.call().await, "1");
}

// S1-61
#[tokio::test(start_paused = true)]
async fn closing_ends_it_for_good() {
    let running = stage("", [DEAF]);
    let in_flight = running.ask();
    settle().await;
    running.upstream.close(Duration::ZERO).await;
    assert_eq!((running.stops(), lock(&running.record).alive), (1, 0));
    assert!(in_flight.answered().await.starts_with("fault -32603"));
    assert!(running.call().await.starts_with("fault -32003"));
    running.upstream.discover().await;
    running.upstream.close(Duration::ZERO).await;
    assert_eq!(running.upstream.order(Order::Start).await, Err(Fault::ShuttingDown));
    assert_eq!(running.starts().len(), 1);

    let starting = stage("", [SLOW]);
    let waiting = starting.ask();
    settle().await;
    starting.upstream.close(Duration::ZERO).await;
    assert!(waiting.answered().await.contains("shutting down"));
    assert!(starting.began.elapsed() < SECOND, "a start is not waited for");
}

#[tokio::test(start_paused = true)]
async fn lists_are_read_anew_by_order() {
    let stage = stage("", [RUNS, RUNS]);
    assert_eq!(stage.upstream.order(Order::Refresh).await, Ok(()), "it is started for that");
    let first = stage.upstream.listing().unwrap();
    assert_eq!(stage.upstream.order(Order::Refresh).await, Ok(()));
    let second = stage.upstream.listing().unwrap();
    assert!(!Arc::ptr_eq(&first, &second), "it was asked once more");
    assert_eq!(stage.starts().len(), 1);
    assert_eq!(stage.upstream.order(Order::Stop).await, Ok(()));
    assert!(stage.upstream.order(Order::Refresh).await.is_err(), "what was stopped stays stopped");
    assert_eq!(stage.phase(), Phase::Stopped);
}
