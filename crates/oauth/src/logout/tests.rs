use super::*;
use crate::fakes::{Rules, World};

#[tokio::test(start_paused = true)]
async fn tokens_are_revoked_and_gone() {
    let world = World::new(Rules::default());
    world.log_in().await;
    let done = logout(&world.context(), world.store.as_ref(), false).await.unwrap();
    assert_eq!(done, LoggedOut { was_signed_in: true, revoked: Revoked::Yes, client_deleted: None });
    assert_eq!(world.issuer.revoked(), ["refresh-1", "access-1"]);
    let left = world.store.record().unwrap();
    assert_eq!((left.tokens, left.registration.client_id.as_str()), (None, "registered-id"));
    world.log_in().await;
    assert_eq!(
        world.http.urls().iter().filter(|url| url.ends_with("/register")).count(),
        1,
        "we are known there"
    );
}

/// RFC 7009, 2.2.1: an issuer need not take back access tokens.
#[tokio::test(start_paused = true)]
async fn an_issuer_may_take_back_refresh_tokens_alone() {
    let world = World::new(Rules { keeps_access: true, ..Rules::default() });
    world.log_in().await;
    let done = logout(&world.context(), world.store.as_ref(), false).await.unwrap();
    assert_eq!((done.was_signed_in, done.revoked), (true, Revoked::RefreshOnly));
    assert_eq!(world.issuer.revoked(), ["refresh-1"]);
    assert!(world.store.record().unwrap().tokens.is_none());
    let world = World::new(Rules { keeps_access: true, gives_refresh: false, ..Rules::default() });
    world.log_in().await;
    let done = logout(&world.context(), world.store.as_ref(), false).await.unwrap();
    assert!(matches!(done.revoked, Revoked::Failed(_)), "there was none to take back");
}

#[tokio::test(start_paused = true)]
async fn a_client_is_forgotten_on_both_sides() {
    let world = World::new(Rules::default());
    world.log_in().await;
    let done = logout(&world.context(), world.store.as_ref(), true).await.unwrap();
    assert_eq!((done.client_deleted, world.store.record()), (Some(true), None));
    assert!(world.http.said_to("as.example").contains("Bearer registration-token"));
    let nothing = logout(&world.context(), world.store.as_ref(), true).await.unwrap();
    assert_eq!(nothing, LoggedOut { was_signed_in: false, revoked: Revoked::Nothing, client_deleted: None });
}

#[tokio::test(start_paused = true)]
async fn an_issuer_that_is_down_keeps_nobody_signed_in() {
    let mut world = World::new(Rules::default());
    world.log_in().await;
    world.http =
        crate::fakes::FakeHttp::new(|request| Err(HttpError::TimedOut { host: request.url.authority() }));
    let done = logout(&world.context(), world.store.as_ref(), false).await.unwrap();
    assert!(matches!(done.revoked, Revoked::Failed(_)) && world.store.record().unwrap().tokens.is_none());
}

#[tokio::test(start_paused = true)]
async fn an_issuer_that_never_answers_costs_five_seconds() {
    let mut world = World::new(Rules::default());
    world.log_in().await;
    let mut silent = crate::fakes::FakeHttp::new(|_| Ok(crate::fakes::json(200, "")));
    std::sync::Arc::get_mut(&mut silent).unwrap().delay = Duration::from_secs(3600);
    world.http = silent;
    let began = Instant::now();
    let done = logout(&world.context(), world.store.as_ref(), false).await.unwrap();
    assert!(matches!(done.revoked, Revoked::Failed(_)) && began.elapsed() < Duration::from_secs(6));
    assert!(world.store.record().unwrap().tokens.is_none());
}

/// Row 21: somebody refreshes, and the issuer lets it hang.
#[tokio::test(start_paused = true)]
async fn a_refresh_that_hangs_keeps_nobody_signed_in() {
    for forget_client in [false, true] {
        let mut world = World::new(Rules { life: Some(60), ..Rules::default() });
        world.log_in().await;
        let mut silent = crate::fakes::FakeHttp::new(|_| Ok(crate::fakes::json(200, "")));
        std::sync::Arc::get_mut(&mut silent).unwrap().delay = Duration::from_secs(3600);
        world.http = silent;
        let sign_in = world.process().await;
        tokio::time::sleep(Duration::from_secs(61)).await;
        let refreshing = sign_in.clone();
        #[expect(clippy::disallowed_methods, reason = "tests end with their runtime")]
        tokio::spawn(async move { refreshing.bearer().await.map(drop) });
        tokio::time::sleep(Duration::from_millis(100)).await;
        let began = Instant::now();
        let done = logout(&world.context(), world.store.as_ref(), forget_client).await.unwrap();
        assert!(done.was_signed_in && matches!(done.revoked, Revoked::Failed(_)), "{done:?}");
        assert!(began.elapsed() <= Duration::from_secs(5), "{:?}", began.elapsed());
        assert!(world.store.record().is_none_or(|record| record.tokens.is_none()));
    }
}

/// The refresh comes back after the logout: what it brings is not kept.
#[tokio::test(start_paused = true)]
async fn a_refresh_that_ends_after_the_logout_signs_nobody_in() {
    let mut world = World::new(Rules { life: Some(60), ..Rules::default() });
    world.log_in().await;
    let issuer = world.issuer.clone();
    let mut slow = crate::fakes::FakeHttp::new(move |request| issuer.answer(request));
    std::sync::Arc::get_mut(&mut slow).unwrap().delay = Duration::from_secs(20);
    world.http = slow;
    let sign_in = world.process().await;
    tokio::time::sleep(Duration::from_secs(61)).await;
    let refreshing = sign_in.clone();
    #[expect(clippy::disallowed_methods, reason = "tests end with their runtime")]
    let refreshed = tokio::spawn(async move { refreshing.bearer().await.map(drop) });
    tokio::time::sleep(Duration::from_millis(100)).await;
    logout(&world.context(), world.store.as_ref(), false).await.unwrap();
    let _ = refreshed.await.unwrap();
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert!(world.store.record().unwrap().tokens.is_none());
    assert!(sign_in.bearer().await.is_err());
}
