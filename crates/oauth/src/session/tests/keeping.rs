//! Refreshes ahead of time, and stores that refuse.

use std::sync::atomic::Ordering;

use super::*;

/// Under steady use no call waits: the new token is there before the old one ends.
#[tokio::test(start_paused = true)]
async fn a_token_that_is_used_is_renewed_ahead_of_time() {
    let (world, sign_in) = signed_in(Rules { life: Some(60), ..Rules::default() }).await;
    for second in 0..600 {
        assert!(sign_in.current().is_some(), "a call would wait at {second} s");
        sleep(1).await;
    }
    let asked = world.issuer.asked("refresh_token");
    assert!((12..=15).contains(&asked), "about every 45 s, not {asked} times");
    assert_eq!(world.store.record().unwrap().generation, 1 + asked as u64);
}

#[tokio::test(start_paused = true)]
async fn a_token_that_is_not_used_is_left_alone() {
    let (world, sign_in) = signed_in(Rules { life: Some(60), ..Rules::default() }).await;
    sleep(3600).await;
    assert_eq!(world.issuer.asked("refresh_token"), 0);
    call(&world, &sign_in).await.1.unwrap();
    assert_eq!(world.issuer.asked("refresh_token"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_life_nobody_tells_ends_with_a_refusal() {
    let (world, sign_in) = signed_in(Rules { life: None, ..Rules::default() }).await;
    sleep(86_400).await;
    assert!(sign_in.current().is_some());
    sleep(86_400).await;
    assert_eq!(world.issuer.asked("refresh_token"), 0);
    let bearer = sign_in.current().unwrap();
    let verdict = sign_in.refused(Sent { bearer: Some(&bearer), is_second: false }, 401, None).await;
    assert!(matches!(verdict, Verdict::Resend(_)));
}

#[tokio::test(start_paused = true)]
async fn a_life_of_nothing_is_renewed_for_each_call_and_never_in_a_loop() {
    let (world, sign_in) = signed_in(Rules { life: Some(0), ..Rules::default() }).await;
    assert!(sign_in.current().is_none());
    call(&world, &sign_in).await.1.unwrap();
    sleep(600).await;
    assert!(world.issuer.asked("refresh_token") <= 2, "{}", world.issuer.asked("refresh_token"));
}

/// The disk is full when a new token comes, and has room later: no call fails, and within a minute it is on disk.
#[tokio::test(start_paused = true)]
async fn a_full_disk_loses_no_login() {
    let (world, sign_in) = signed_in(Rules { life: Some(60), ..Rules::default() }).await;
    world.store.is_full.store(true, Ordering::SeqCst);
    for _ in 0..300 {
        call(&world, &sign_in).await.1.unwrap();
        sleep(1).await;
    }
    assert!(sign_in.shown().is_unsaved && world.store.record().unwrap().generation == 1);
    world.store.is_full.store(false, Ordering::SeqCst);
    sleep(60).await;
    assert!(!sign_in.shown().is_unsaved);
    let (stored, used) = (world.store.record().unwrap(), sign_in.credential().unwrap());
    assert_eq!((stored.tokens, stored.generation), (used.tokens, used.generation));
    let next = world.process().await;
    call(&world, &next).await.1.unwrap();
}

/// Who signs out means also what is not on disk yet.
#[tokio::test(start_paused = true)]
async fn a_logout_is_not_undone_by_a_late_save() {
    for forget in [false, true] {
        let (world, sign_in) = signed_in(Rules { life: Some(60), ..Rules::default() }).await;
        world.store.is_full.store(true, Ordering::SeqCst);
        sleep(61).await;
        call(&world, &sign_in).await.1.unwrap();
        sleep(1).await;
        assert!(sign_in.shown().is_unsaved);
        world.store.is_full.store(false, Ordering::SeqCst);
        crate::logout(&world.context(), world.store.as_ref(), forget).await.unwrap();
        sleep(30).await;
        assert_eq!((sign_in.state(), sign_in.current().is_none()), (State::NeedsLogin, true));
        assert!(world.store.record().is_none_or(|record| record.tokens.is_none()));
    }
}

/// Another process that knows only the spent token ends the login on disk; the one that has the new token mends it.
#[tokio::test(start_paused = true)]
async fn a_late_save_mends_what_another_has_ended() {
    let (world, sign_in) = signed_in(Rules { life: Some(600), ..Rules::default() }).await;
    sleep(601).await;
    world.store.is_full.store(true, Ordering::SeqCst);
    call(&world, &sign_in).await.1.unwrap();
    sleep(1).await;
    world.store.is_full.store(false, Ordering::SeqCst);
    let other = world.process().await;
    other.bearer().await.unwrap_err();
    sleep(30).await;
    assert_eq!(world.store.record().unwrap().tokens.unwrap().refresh.unwrap().expose(), "refresh-2");
    other.changed_on_disk().await;
    call(&world, &other).await.1.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_store_that_cannot_be_read_is_no_reason_to_sign_in() {
    let world = World::new(Rules::default());
    world.log_in().await;
    world.store.is_unreadable.store(true, Ordering::SeqCst);
    let sign_in = world.process().await;
    assert!(matches!(sign_in.state(), State::StoreFailed { .. }) && !sign_in.state().needs_login());
    world.store.is_unreadable.store(false, Ordering::SeqCst);
    sign_in.changed_on_disk().await;
    assert_eq!(sign_in.state(), State::Ready);
}

/// Endpoints may move: metadata is read anew once a day, with a refresh, and never without one.
#[tokio::test(start_paused = true)]
async fn metadata_is_a_day_old_at_the_most() {
    let (world, sign_in) = signed_in(Rules { life: Some(7200), ..Rules::default() }).await;
    let looked = |world: &World| world.http.urls().iter().filter(|url| url.contains("well-known")).count();
    let at_login = looked(&world);
    for _ in 0..20 {
        sleep(7200).await;
        call(&world, &sign_in).await.1.unwrap();
    }
    assert_eq!(looked(&world), 2 * at_login, "once in forty hours");
}

/// The task that keeps a sign-in ends with it.
#[tokio::test(start_paused = true)]
async fn nothing_is_left_of_a_sign_in_that_is_dropped() {
    let (_world, sign_in) = signed_in(Rules::default()).await;
    let weak = Arc::downgrade(&sign_in.inner);
    sleep(1).await;
    drop(sign_in);
    sleep(1).await;
    assert_eq!(weak.strong_count(), 0);
}
