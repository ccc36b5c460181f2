//! A server that nobody uses.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_server_nobody_uses_rests_and_no_call_is_lost() {
    let stage = stage(r#","idleTimeout":5000"#, [RUNS, RUNS, RUNS]);
    assert_eq!(stage.call().await, "1");
    tokio::time::sleep(4 * SECOND).await;
    assert_eq!(stage.call().await, "1", "a call starts its time anew");
    tokio::time::sleep(4 * SECOND).await;
    assert_eq!(stage.phase(), Phase::Ready);
    tokio::time::sleep(2 * SECOND).await;
    assert_eq!(stage.phase(), Phase::Idle);
    assert!(stage.upstream.listing().is_some(), "what it offers is still known");
    assert_eq!(stage.call().await, "2");
    // A call that comes just as it is told to rest is answered, by this one or the next.
    tokio::time::sleep(5 * SECOND).await;
    let answer = stage.call().await;
    assert!(answer == "2" || answer == "3", "{answer}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_told_to_rest_does_so_unless_it_is_at_work() {
    let stage = stage("", [RUNS, DEAF]);
    assert_eq!(stage.upstream.order(Order::Sleep).await, Ok(()), "it does not run");
    assert_eq!(stage.starts().len(), 0);
    assert_eq!(stage.call().await, "1");
    settle().await;
    assert_eq!(stage.upstream.order(Order::Sleep).await, Ok(()));
    tokio::time::sleep(SECOND).await;
    assert_eq!(stage.phase(), Phase::Idle);
    assert!(stage.upstream.listing().is_some(), "what it offers is still known");
    let _in_flight = stage.ask();
    settle().await;
    assert_eq!(stage.upstream.order(Order::Sleep).await, Ok(()));
    tokio::time::sleep(SECOND).await;
    assert_eq!(stage.phase(), Phase::Ready);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_somebody_listens_to_does_not_rest() {
    let stage = stage(r#","idleTimeout":5000"#, [RUNS]);
    lock(&stage.host.standing).subscriptions.insert("a://b".to_owned());
    assert_eq!(stage.call().await, "1");
    tokio::time::sleep(60 * SECOND).await;
    assert_eq!(stage.phase(), Phase::Ready);
    lock(&stage.host.standing).subscriptions.clear();
    tokio::time::sleep(11 * SECOND).await;
    assert_eq!(stage.phase(), Phase::Idle);
}
