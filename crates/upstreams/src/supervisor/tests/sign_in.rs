//! A server that wants somebody to sign in: nothing is asked of it until somebody has, and what it offers stays known.

use super::*;

#[tokio::test(start_paused = true)]
async fn calls_are_told_at_once_and_somebody_signing_in_starts_it() {
    let home = tempfile::tempdir().unwrap();
    let cache = Cache::new(Some(home.path().to_owned()));
    let before = stage_with(cache.clone(), "", [RUNS]);
    before.upstream.discover().await;

    let stage = stage_with(cache, "", [Start::WantsSignIn, RUNS]);
    lock(&stage.record).is_held_back = true;
    let told = stage.call().await;
    assert!(told.ends_with("run `manifold login s`"), "{told}");
    assert!(stage.upstream.listing().is_some(), "its lists stay");
    for _ in 0..10 {
        assert_eq!(stage.call().await, told);
    }
    assert_eq!(stage.starts().len(), 1, "it is not asked again");

    lock(&stage.record).is_held_back = false;
    stage.host.notices();
    stage.upstream.mailbox.orders().send(Command::SignIn(true)).await.unwrap();
    settle().await;
    assert_eq!((stage.phase(), stage.starts().len()), (Phase::Ready, 2));
    assert_eq!(stage.host.notices(), ["listing"], "told once");
    assert_eq!(stage.call().await, "2");
}

#[tokio::test(start_paused = true)]
async fn who_signs_in_while_it_runs_has_its_lists_read_anew() {
    let stage = stage("", [RUNS]);
    stage.upstream.discover().await;
    stage.host.notices();
    stage.upstream.mailbox.orders().send(Command::SignIn(true)).await.unwrap();
    settle().await;
    assert_eq!((stage.starts().len(), stage.host.notices()), (1, vec!["listing".to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn nobody_who_signs_in_starts_a_server_that_sleeps_or_was_stopped() {
    let stage = stage("", [RUNS]);
    stage.upstream.mailbox.orders().send(Command::SignIn(true)).await.unwrap();
    settle().await;
    assert_eq!(stage.phase(), Phase::Idle);
    stage.upstream.order(Order::Stop).await.unwrap();
    stage.upstream.mailbox.orders().send(Command::SignIn(true)).await.unwrap();
    settle().await;
    assert_eq!((stage.phase(), stage.starts().len()), (Phase::Stopped, 0));
}
