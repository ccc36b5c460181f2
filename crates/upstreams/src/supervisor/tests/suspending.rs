//! A server that is let go of for another program. What becomes of real processes is in `tests/process/handover.rs`.

use super::*;
use crate::handover::SavedTrouble;

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
async fn what_it_failed_for_and_since_when_is_known_to_the_next_program() {
    let failing = stage("", [Start::Fails, Start::Fails]);
    failing.upstream.discover().await;
    let began = failing.upstream.status().since;
    tokio::time::sleep(60 * SECOND).await;
    let (fault, since) = failing.upstream.suspend(true).await.unwrap().trouble.expect("it has failed");
    assert_eq!(since, began);
    let saved = SavedTrouble::of((fault.clone(), since)).expect("it has a reason");
    let text = serde_json::to_string(&saved).unwrap();
    let trouble = serde_json::from_str::<SavedTrouble>(&text).unwrap().read("s");
    assert_eq!(trouble, (fault, since));
    let record = Arc::new(Mutex::new(Record::default()));
    let next = stage_of(Cache::default(), "", record, Begin { trouble: Some(trouble), ..Begin::default() });
    settle().await;
    let status = next.upstream.status();
    assert!(matches!(status.phase, Phase::Failed(_)), "{status:?}");
    assert_eq!(status.since, began);
    tokio::time::sleep(60 * SECOND).await;
    assert!(!next.starts().is_empty(), "it is tried again");
    assert_eq!(next.upstream.status().since, began);
}

#[tokio::test(start_paused = true)]
async fn one_that_was_stopped_says_so() {
    let stage = stage("", [RUNS]);
    stage.upstream.discover().await;
    assert_eq!(stage.upstream.order(Order::Stop).await, Ok(()));
    assert!(stage.upstream.suspend(true).await.unwrap().is_stopped);
}
