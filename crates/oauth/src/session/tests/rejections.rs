//! What each answer to a refresh leads to.

use super::*;
use crate::http::HttpError;
use crate::login::LoginError;

#[tokio::test(start_paused = true)]
async fn an_issuer_that_is_down_is_asked_less_and_less_and_nobody_signs_in() {
    let (world, sign_in) = signed_in(Rules { life: Some(300), ..Rules::default() }).await;
    world.issuer.rules(|rules| rules.instead = Some((503, "")));
    let mut failed = 0;
    for second in 0..600 {
        let (_, answer) = call(&world, &sign_in).await;
        assert!(answer.is_ok() || second >= 299, "the old token is good at {second} s");
        failed += u32::from(answer.is_err());
        assert!(!sign_in.state().needs_login());
        sleep(1).await;
    }
    let asked = world.issuer.asked("refresh_token");
    assert!(failed > 200 && (8..=20).contains(&asked), "{asked} times in six minutes");
    assert!(matches!(sign_in.state(), State::Retrying { .. }));
    world.issuer.rules(|rules| rules.instead = None);
    sleep(61).await;
    call(&world, &sign_in).await.1.unwrap();
    assert_eq!(sign_in.state(), State::Ready);
}

#[tokio::test(start_paused = true)]
async fn a_grant_that_is_gone_ends_the_login_and_keeps_who_we_are() {
    let (world, sign_in) = signed_in(Rules { life: Some(60), ..Rules::default() }).await;
    world
        .issuer
        .rules(|rules| rules.instead = Some((400, r#"{"error":"invalid_grant","error_description":"x"}"#)));
    sleep(61).await;
    let state = call(&world, &sign_in).await.1.unwrap_err();
    assert_eq!(state.to_string(), "login expired: as.example refuses a token: invalid_grant (x)");
    let record = world.store.record().unwrap();
    assert_eq!((record.tokens, record.requested_scopes.join(" ").as_str()), (None, "read write"));
    let asked = world.issuer.asked("refresh_token");
    for _ in 0..10 {
        call(&world, &sign_in).await.1.unwrap_err();
    }
    assert_eq!(world.issuer.asked("refresh_token"), asked, "nobody asks with what is gone");
    world.issuer.rules(|rules| rules.instead = None);
    world.log_in().await;
    sign_in.changed_on_disk().await;
    call(&world, &sign_in).await.1.unwrap();
}

/// A refresh ahead of time that ends the grant does not end the access token, which nobody refused.
#[tokio::test(start_paused = true)]
async fn an_access_token_is_used_up() {
    let (world, sign_in) = signed_in(Rules { life: Some(100), ..Rules::default() }).await;
    world.issuer.rules(|rules| rules.instead = Some((400, r#"{"error":"invalid_grant"}"#)));
    let mut answered = 0;
    for _ in 0..100 {
        answered += u32::from(call(&world, &sign_in).await.1.is_ok());
        sleep(1).await;
    }
    assert!(answered >= 98, "{answered}");
    assert!(matches!(sign_in.state(), State::LoginExpired { .. }));
    assert_eq!(world.issuer.asked("refresh_token"), 1);
    sleep(2).await;
    call(&world, &sign_in).await.1.unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn a_client_that_is_gone_is_registered_anew() {
    let (world, sign_in) = signed_in(Rules { life: Some(60), ..Rules::default() }).await;
    world.issuer.rules(|rules| rules.instead = Some((401, r#"{"error":"invalid_client"}"#)));
    sleep(61).await;
    assert_eq!(call(&world, &sign_in).await.1.unwrap_err(), State::NeedsLogin);
    world.issuer.rules(|rules| rules.instead = None);
    world.log_in().await;
    assert_eq!(world.http.urls().iter().filter(|url| url.ends_with("/register")).count(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_configured_client_that_is_gone_is_for_the_user() {
    let mut world = World::new(Rules { life: Some(60), ..Rules::default() });
    world.settings.client_id = Some("given".to_owned());
    world.log_in().await;
    let sign_in = world.process().await;
    world.issuer.rules(|rules| rules.instead = Some((400, r#"{"error":"unauthorized_client"}"#)));
    sleep(61).await;
    assert!(matches!(call(&world, &sign_in).await.1, Err(State::NeedsClientId { .. })));
}

#[tokio::test(start_paused = true)]
async fn scopes_that_are_refused_are_left_out_once() {
    let (world, sign_in) = signed_in(Rules { life: Some(60), ..Rules::default() }).await;
    world.issuer.rules(|rules| rules.instead = Some((400, r#"{"error":"invalid_scope"}"#)));
    sleep(61).await;
    assert!(matches!(call(&world, &sign_in).await.1, Err(State::Retrying { .. })));
    let seen = world.http.seen.lock().unwrap();
    let scopes: Vec<_> = seen
        .iter()
        .filter(|request| request.url.path() == "/token")
        .skip(1)
        .map(|request| crate::fakes::field(request, "scope"))
        .collect();
    assert_eq!(scopes, [Some("read write".to_owned()), None]);
}

/// An issuer with one word for everything: three in a row over ten minutes are the end.
#[tokio::test(start_paused = true)]
async fn a_refusal_that_says_nothing_ends_a_login_in_time() {
    let (world, sign_in) = signed_in(Rules { life: Some(60), ..Rules::default() }).await;
    world.issuer.rules(|rules| rules.instead = Some((400, r#"{"error":"invalid_request"}"#)));
    sleep(61).await;
    let began = tokio::time::Instant::now();
    while !matches!(sign_in.state(), State::LoginExpired { .. }) {
        let _ = call(&world, &sign_in).await;
        sleep(5).await;
        assert!(began.elapsed() < Duration::from_secs(1000));
    }
    assert!(began.elapsed() >= Duration::from_secs(600));
}

/// A portal, a proxy or a page stands where the issuer was: for however long, nobody has to sign in for that.
#[tokio::test(start_paused = true)]
async fn what_the_issuer_did_not_say_ends_no_login() {
    for (status, body) in [
        (200, "<html>Welcome to our network</html>"),
        (302, ""),
        (307, ""),
        (403, "<html>blocked</html>"),
        (404, ""),
        (407, "who are you?"),
        (418, "{}"),
        (511, "<html>sign in here</html>"),
    ] {
        let (world, sign_in) = signed_in(Rules { life: Some(60), ..Rules::default() }).await;
        world.issuer.rules(|rules| rules.instead = Some((status, body)));
        sleep(61).await;
        for _ in 0..240 {
            call(&world, &sign_in).await.1.unwrap_err();
            assert!(matches!(sign_in.state(), State::Retrying { .. }), "{status}: {}", sign_in.state());
            sleep(10).await;
        }
        world.issuer.rules(|rules| rules.instead = None);
        sleep(61).await;
        call(&world, &sign_in).await.1.unwrap();
        assert_eq!(sign_in.state(), State::Ready, "{status}");
    }
    for one in [
        LoginError::from(HttpError::Redirected { host: "as.example".to_owned() }),
        LoginError::from(HttpError::TooLarge { host: "as.example".to_owned(), limit: 1 }),
        LoginError::PrivateKey("it is none"),
        LoginError::NoRandomness,
    ] {
        assert!(!one.is_said_by_issuer(), "{one}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_issuer_that_asks_for_patience_gets_it() {
    let mut memory = Memory::default();
    let now = Duration::from_secs(5);
    let waits: Vec<Duration> = (0..9).map(|_| memory.back_off(now, None)).collect();
    assert!(waits[0] >= Duration::from_millis(800) && waits[0] <= Duration::from_millis(1200));
    assert!(waits.iter().all(|wait| *wait <= Duration::from_secs(60)) && waits[8] >= Duration::from_secs(48));
    assert_eq!(memory.back_off(now, Some(Duration::from_secs(300))), Duration::from_secs(300));
    assert_eq!(memory.back_off(now, Some(Duration::from_secs(999_999))), Duration::from_secs(600));
}
