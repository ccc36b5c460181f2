//! What other processes do, and clocks that jump.

use std::sync::Arc;

use super::*;
use crate::secret::Secret;

#[tokio::test(start_paused = true)]
async fn a_login_elsewhere_is_seen() {
    let world = World::new(Rules::default());
    let sign_in = world.process().await;
    call(&world, &sign_in).await.1.unwrap_err();
    assert_eq!(sign_in.state(), State::NeedsLogin);
    let mut watch = sign_in.watch();
    watch.mark_unchanged();
    world.log_in().await;
    sign_in.changed_on_disk().await;
    assert!(watch.has_changed().unwrap());
    call(&world, &sign_in).await.1.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_logout_elsewhere_is_seen() {
    let (world, sign_in) = signed_in(Rules::default()).await;
    crate::logout(&world.context(), world.store.as_ref(), false).await.unwrap();
    sign_in.changed_on_disk().await;
    assert_eq!((sign_in.state(), sign_in.current().is_none()), (State::NeedsLogin, true));
    world.store.clear();
    sign_in.changed_on_disk().await;
    assert_eq!(sign_in.state(), State::NeedsLogin);
}

/// A process that was asleep while another refreshed adopts what is there, and the record is untouched.
#[tokio::test(start_paused = true)]
async fn what_another_has_renewed_is_taken_over() {
    let (world, first) = signed_in(Rules { life: Some(60), ..Rules::default() }).await;
    let second = world.process().await;
    sleep(100).await;
    first.bearer().await.unwrap();
    let record = world.store.record();
    assert_eq!(second.bearer().await.unwrap().unwrap().header.expose(), "Bearer access-2");
    assert_eq!((world.issuer.asked("refresh_token"), world.store.record() == record), (1, true));
}

/// The same where the other kept to no lock and ours was told `invalid_grant`.
#[tokio::test(start_paused = true)]
async fn a_spent_token_is_no_end_if_another_is_stored() {
    let (world, sign_in) = signed_in(Rules { life: Some(60), ..Rules::default() }).await;
    let world = Arc::new(world);
    sleep(100).await;
    let mut other = world.store.record().unwrap();
    other.generation += 5;
    let tokens = other.tokens.as_mut().unwrap();
    tokens.access = Secret::new("access-of-another");
    tokens.refresh = Some(Secret::new("refresh-of-another"));
    tokens.expires_at = Some(world.clock.wall() + 60);
    world.issuer.rules(|rules| rules.instead = Some((400, r#"{"error":"invalid_grant"}"#)));
    let bearer = {
        let sign_in = sign_in.clone();
        let waiting = async move { sign_in.bearer().await };
        let writing = async {
            // After the marker, before the answer.
            tokio::time::sleep(Duration::from_millis(10)).await;
            world.store.put(&other);
        };
        tokio::join!(waiting, writing).0
    };
    assert_eq!(bearer.unwrap().unwrap().header.expose(), "Bearer access-of-another");
    assert_eq!(world.store.record().unwrap(), other);
}

/// The machine sleeps for an hour: one refresh, no failed call.
#[tokio::test(start_paused = true)]
async fn a_machine_that_slept_renews_once() {
    let (world, sign_in) = signed_in(Rules { life: Some(1800), ..Rules::default() }).await;
    world.clock.sleep_machine(3600);
    assert!(sign_in.current().is_none(), "the clock that counts sleep says so at once");
    let world = Arc::new(world);
    let answers = calls(&world, &[sign_in], 16).await;
    assert!(answers.iter().all(|(_, answer)| answer.is_ok()));
    assert_eq!(world.issuer.asked("refresh_token"), 1);
}

/// The wall's clock jumps a day either way: a running process does not care, one that starts renews at the most once.
#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_costs_one_refresh_at_the_most() {
    for jump in [86_400, -86_400] {
        let (world, running) = signed_in(Rules::default()).await;
        world.clock.set_wall(jump);
        call(&world, &running).await.1.unwrap();
        assert_eq!(world.issuer.asked("refresh_token"), 0);
        let started = world.process().await;
        for _ in 0..5 {
            call(&world, &started).await.1.unwrap();
            running.changed_on_disk().await;
            call(&world, &running).await.1.unwrap();
        }
        assert_eq!(world.issuer.asked("refresh_token"), 1, "{jump}");
    }
}

/// Killed at any point of a refresh, 300 times, with an issuer that takes a spent token for a while: no login is lost.
#[tokio::test(start_paused = true)]
async fn killed_at_random_no_login_is_lost() {
    let (world, _) =
        signed_in(Rules { life: Some(60), grace: Duration::from_secs(30), ..Rules::default() }).await;
    for round in 0..300_u64 {
        sleep(61).await;
        let process = world.process().await;
        // The request takes 20 ms; the kill comes before, during or after, wherever a step ends.
        let killed =
            tokio::time::timeout(Duration::from_millis(round % 45), process.inner.refresh(Want::Good)).await;
        drop(killed);
        drop(process);
        let next = world.process().await;
        call(&world, &next).await.1.unwrap();
        let record = world.store.record().unwrap();
        assert!(record.marker.is_none() && record.ended.is_none());
    }
}

/// With an issuer that takes no spent token, a login is lost only where the answer was: and then it is said.
#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_the_only_way_to_lose_a_login() {
    let (world, sign_in) = signed_in(Rules { life: Some(60), ..Rules::default() }).await;
    world.issuer.rules(|rules| rules.loses_answers = true);
    sleep(61).await;
    assert!(matches!(sign_in.bearer().await.unwrap_err(), State::Retrying { .. }));
    assert!(world.store.record().unwrap().marker.is_some(), "nobody knows what became of it");
    world.issuer.rules(|rules| rules.loses_answers = false);
    sleep(5).await;
    assert!(matches!(sign_in.state(), State::LoginExpired { .. }), "{:?}", sign_in.state());
    assert!(sign_in.state().to_string().ends_with("after a refresh that was interrupted"));
    let record = world.store.record().unwrap();
    assert_eq!((record.tokens, record.registration.client_id.as_str()), (None, "registered-id"));
}
