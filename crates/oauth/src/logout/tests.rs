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
    let began = tokio::time::Instant::now();
    let done = logout(&world.context(), world.store.as_ref(), false).await.unwrap();
    assert!(matches!(done.revoked, Revoked::Failed(_)) && began.elapsed() < Duration::from_secs(6));
    assert!(world.store.record().unwrap().tokens.is_none());
}
