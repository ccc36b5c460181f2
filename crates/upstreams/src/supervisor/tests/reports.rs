//! What an operator sees of a server's life.

use manifold_engine::InstanceReport;

use super::*;

fn report(stage: &Stage) -> InstanceReport {
    let mut reports = stage.upstream.reports();
    assert_eq!(reports.len(), 1);
    reports.remove(0)
}

#[tokio::test(start_paused = true)]
async fn failures_and_the_next_try_are_reported_until_it_is_up() {
    let stage = stage("", [Start::Fails, Start::Fails, RUNS]);
    let asleep = report(&stage).history;
    assert_eq!((asleep.lives, asleep.failures, asleep.revision), (Some(0), Some(0), None));
    stage.upstream.discover().await;
    let failed = report(&stage).history;
    assert_eq!(failed.failures, Some(1));
    let retry_in = failed.retry_at.expect("it is tried again") - Instant::now();
    assert!(retry_in > Duration::ZERO && retry_in <= FIRST_BACKOFF, "{retry_in:?}");
    assert!(matches!(failed.last_fault, Some((Fault::FailedToStart { .. }, _))));
    tokio::time::sleep(10 * SECOND).await;
    let up = report(&stage);
    assert_eq!((up.status.phase, up.status.pid, up.is_unresponsive), (Phase::Ready, Some(3), false));
    assert_eq!((up.history.lives, up.history.failures, up.history.retry_at), (Some(1), Some(0), None));
    assert!(up.history.revision.is_some());
    assert!(up.history.last_fault.is_some(), "what went wrong last stays known");
}

/// Tries in between change nothing in since when it fails; what ends it is that it works again.
#[tokio::test(start_paused = true)]
async fn a_trouble_is_told_from_when_it_began() {
    let stage = stage("", [Start::Fails, Start::Fails, Start::Fails, RUNS]);
    stage.upstream.discover().await;
    let began = report(&stage).status.since;
    while stage.starts().len() < 3 {
        tokio::time::sleep(SECOND / 10).await;
    }
    tokio::time::sleep(SECOND / 10).await;
    let failed = report(&stage);
    assert!(matches!(failed.status.phase, Phase::Failed(_)), "{failed:?}");
    assert_eq!((failed.status.since, failed.history.failing_since), (began, Some(began)));
    let (_, last) = failed.history.last_fault.expect("it has failed");
    assert!(last > began, "what went wrong last has its own time");
    tokio::time::sleep(10 * SECOND).await;
    assert_eq!(report(&stage).status.phase, Phase::Ready);
    assert_eq!(stage.call().await, "4");
    let works = Instant::now();
    stage.crash();
    tokio::time::sleep(10 * SECOND).await;
    let failed = report(&stage);
    assert!(matches!(failed.status.phase, Phase::Failed(_)), "{failed:?}");
    assert!(failed.status.since >= works, "that is another trouble");
}

#[tokio::test(start_paused = true)]
async fn every_life_is_counted_and_a_crash_is_remembered() {
    let stage = stage("", [RUNS, RUNS]);
    assert_eq!(stage.call().await, "1");
    stage.crash();
    settle().await;
    assert_eq!(stage.call().await, "2");
    let history = report(&stage).history;
    assert_eq!(history.lives, Some(2));
    let Some((Fault::NotRunning { reason, .. }, _)) = history.last_fault else { panic!("{history:?}") };
    assert!(reason.starts_with("it ended with exit code 1"), "{reason}");
}

#[tokio::test(start_paused = true)]
async fn every_change_is_told_to_the_host() {
    let stage = stage("", [RUNS]);
    assert_eq!(stage.call().await, "1");
    stage.upstream.order(Order::Stop).await.unwrap();
    assert_eq!(stage.host.phases(), 4, "idle, starting, ready, stopped");
}

#[tokio::test(start_paused = true)]
async fn calls_are_counted_from_life_to_life() {
    let stage = stage("", [RUNS, RUNS]);
    assert_eq!(stage.call().await, "1");
    let calls = report(&stage).calls.unwrap();
    assert_eq!((calls.ended, calls.failed, calls.in_flight), (1, 0, 0));
    assert!(calls.percentile_us(50).is_some() && calls.percentile_us(95) >= calls.percentile_us(50));
    stage.crash();
    settle().await;
    assert_eq!(stage.call().await, "2");
    let calls = report(&stage).calls.unwrap();
    assert_eq!((calls.ended, calls.failed), (2, 0));
    stage.upstream.order(Order::Stop).await.unwrap();
    assert_eq!(report(&stage).calls.unwrap().ended, 2);
}

#[tokio::test(start_paused = true)]
async fn calls_that_end_with_their_server_have_failed() {
    let stage = stage("", [DEAF]);
    let asked = stage.ask();
    settle().await;
    assert_eq!(report(&stage).calls.unwrap().in_flight, 1);
    stage.upstream.order(Order::Stop).await.unwrap();
    asked.answered().await;
    let calls = report(&stage).calls.unwrap();
    assert_eq!((calls.ended, calls.failed, calls.in_flight), (1, 1, 0));
}
