//! A server that is let go of for another program. What becomes of real processes is in `tests/process/handover.rs`.

use super::*;

#[tokio::test(start_paused = true)]
async fn what_does_not_outlive_us_fails_and_what_waits_is_forgotten() {
    let stage = stage(r#","maxConcurrency":1"#, [DEAF, RUNS]);
    stage.upstream.discover().await;
    let (in_flight, mut queued) = (stage.ask(), stage.ask());
    let suspended = stage.upstream.suspend(true).await.unwrap();
    assert!(suspended.process.is_none() && suspended.lives == 1 && !suspended.is_stopped);
    let why = "the gateway was upgraded and its connection to the server did not outlive that; the call may have run";
    assert!(in_flight.answered().await.ends_with(why));
    let mut late = stage.ask();
    tokio::time::sleep(60 * SECOND).await;
    assert_eq!((queued.answer(), late.answer()), (None, None), "whoever took them asks again");
    assert_eq!(stage.starts().len(), 1, "nothing is started any more");
}

#[tokio::test(start_paused = true)]
async fn a_start_under_way_is_given_up() {
    let stage = stage("", [SLOW]);
    let mut waiting = stage.ask();
    settle().await;
    assert_eq!(stage.phase(), Phase::Starting);
    assert!(stage.upstream.suspend(true).await.unwrap().process.is_none());
    tokio::time::sleep(60 * SECOND).await;
    assert_eq!(waiting.answer(), None);
    assert_eq!((stage.starts().len(), lock(&stage.record).alive), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn one_that_was_stopped_says_so() {
    let stage = stage("", [RUNS]);
    stage.upstream.discover().await;
    assert_eq!(stage.upstream.order(Order::Stop).await, Ok(()));
    assert!(stage.upstream.suspend(true).await.unwrap().is_stopped);
}
