mod adoption;
mod keeping;
mod refusals;
mod rejections;

use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::fakes::{Rules, World};

/// A world that is signed in, and a process in it.
async fn signed_in(rules: Rules) -> (World, SignIn) {
    let world = World::new(rules);
    world.log_in().await;
    let sign_in = world.process().await;
    (world, sign_in)
}

/// A call as the remote leg makes it: at the most two sends. Returns how often it was sent, and whether it got in.
async fn call(world: &World, sign_in: &SignIn) -> (u32, Result<(), State>) {
    let mut bearer = match sign_in.bearer().await {
        Ok(bearer) => bearer,
        Err(state) => return (0, Err(state)),
    };
    for sends in 1..=2 {
        tokio::task::yield_now().await;
        let is_in = bearer.as_ref().is_some_and(|bearer| world.issuer.lets_in(bearer.header.expose()));
        if is_in {
            return (sends, Ok(()));
        }
        let sent = Sent { bearer: bearer.as_deref(), is_second: sends == 2 };
        match sign_in.refused(sent, 401, Challenge::parse(["Bearer"])).await {
            Verdict::Resend(next) => bearer = Some(next),
            Verdict::Failed(state) => return (sends, Err(state)),
            Verdict::Pass => return (sends, Err(State::Unknown)),
        }
    }
    (2, Err(State::Unknown))
}

async fn sleep(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

/// So many calls at once.
async fn calls(world: &Arc<World>, sign_ins: &[SignIn], each: usize) -> Vec<(u32, Result<(), State>)> {
    let mut running = tokio::task::JoinSet::new();
    for sign_in in sign_ins {
        for _ in 0..each {
            let (world, sign_in) = (world.clone(), sign_in.clone());
            running.spawn(async move { call(&world, &sign_in).await });
        }
    }
    running.join_all().await
}

#[tokio::test(start_paused = true)]
async fn without_a_credential_nothing_is_sent_until_somebody_asks() {
    let world = World::new(Rules::default());
    let sign_in = world.process().await;
    assert_eq!(sign_in.state(), State::Unknown);
    assert!(sign_in.bearer().await.unwrap().is_none());
    let challenge = Challenge::parse([r#"Bearer scope="read""#]);
    let verdict = sign_in.refused(Sent { bearer: None, is_second: false }, 401, challenge.clone()).await;
    assert!(matches!(verdict, Verdict::Failed(State::NeedsLogin)));
    assert_eq!((sign_in.bearer().await.unwrap_err(), sign_in.challenge()), (State::NeedsLogin, challenge));
    assert!(world.http.urls().is_empty(), "nobody signs in by itself");
}

/// A server that has stopped asking is seen to have, by whoever is told to look again; one that asks still is not asked
/// twice.
#[tokio::test(start_paused = true)]
async fn a_server_that_stops_asking_is_let_be() {
    let refuse = async |sign_in: &SignIn| {
        let challenge = Challenge::parse(["Bearer"]);
        sign_in.refused(Sent { bearer: None, is_second: false }, 401, challenge).await;
    };
    let world = World::new(Rules::default());
    let sign_in = world.process().await;
    refuse(&sign_in).await;
    sign_in.bearer().await.unwrap_err();
    sign_in.ask_again();
    assert_eq!(sign_in.state(), State::NeedsLogin, "nothing is known of it yet");
    assert!(sign_in.bearer().await.unwrap().is_none(), "it goes without");
    refuse(&sign_in).await;
    assert_eq!(sign_in.bearer().await.unwrap_err(), State::NeedsLogin);
    sign_in.ask_again();
    sign_in.bearer().await.unwrap();
    sign_in.let_in();
    assert_eq!((sign_in.state(), sign_in.challenge()), (State::Unknown, None));
    assert!(sign_in.bearer().await.unwrap().is_none());
    // After a login and a logout as well; while there is a token it is sent.
    world.log_in().await;
    sign_in.changed_on_disk().await;
    assert_eq!(sign_in.state(), State::Ready);
    sign_in.ask_again();
    assert!(sign_in.bearer().await.unwrap().is_some());
    crate::logout(&world.context(), world.store.as_ref(), false).await.unwrap();
    sign_in.changed_on_disk().await;
    assert_eq!(sign_in.bearer().await.unwrap_err(), State::NeedsLogin);
    sign_in.let_in();
    sign_in.changed_on_disk().await;
    assert_eq!(sign_in.state(), State::Unknown);
}

#[tokio::test(start_paused = true)]
async fn a_good_token_is_sent_without_a_thought() {
    let (world, sign_in) = signed_in(Rules::default()).await;
    assert_eq!(sign_in.state(), State::Ready);
    let asked = world.http.urls().len();
    for _ in 0..1000 {
        assert_eq!(sign_in.current().unwrap().header.expose(), "Bearer access-1");
    }
    assert_eq!(world.http.urls().len(), asked);
    let shown = sign_in.shown();
    assert_eq!((shown.account.as_str(), shown.issuer.as_deref()), ("default", Some("https://as.example")));
    assert!(!format!("{shown:?} {:?}", sign_in.current()).contains("access-1"));
}

/// 64 calls with an expired token, one process: one request for a token, 64 answers.
#[tokio::test(start_paused = true)]
async fn an_expired_token_is_renewed_once_for_all() {
    let (world, sign_in) = signed_in(Rules { life: Some(60), ..Rules::default() }).await;
    sleep(120).await;
    let world = Arc::new(world);
    let answers = calls(&world, &[sign_in], 64).await;
    assert!(answers.iter().all(|(sends, answer)| *sends == 1 && answer.is_ok()), "{answers:?}");
    assert_eq!(world.issuer.asked("refresh_token"), 1);
}

/// The same from four processes that share a store.
#[tokio::test(start_paused = true)]
async fn an_expired_token_is_renewed_once_for_all_processes() {
    let (world, first) = signed_in(Rules { life: Some(60), ..Rules::default() }).await;
    let others = [first, world.process().await, world.process().await, world.process().await];
    sleep(120).await;
    let world = Arc::new(world);
    let answers = calls(&world, &others, 16).await;
    assert!(answers.iter().all(|(_, answer)| answer.is_ok()), "{answers:?}");
    assert_eq!((answers.len(), world.issuer.asked("refresh_token")), (64, 1));
}

/// 64 calls that are refused before the token's time: one refresh, and no call is sent more than twice.
#[tokio::test(start_paused = true)]
async fn a_burst_of_refusals_is_one_refresh() {
    let (world, sign_in) = signed_in(Rules::default()).await;
    let world = Arc::new(world);
    // Somebody else's token is the newest at the issuer, so ours is refused.
    world.issuer.answer(&token_request()).unwrap();
    let answers = calls(&world, &[sign_in], 64).await;
    assert!(answers.iter().all(|(sends, answer)| *sends <= 2 && answer.is_ok()), "{answers:?}");
    assert_eq!(world.issuer.asked("refresh_token"), 1);
}

fn token_request() -> crate::http::Request {
    let body = crate::http::Body::Form(crate::secret::Secret::new("grant_type=other"));
    crate::http::Request::post(Url::parse("https://as.example/token").unwrap(), body, Reach::default())
}

/// Who gives up waiting does not take the new token with it.
#[tokio::test(start_paused = true)]
async fn a_caller_that_goes_leaves_the_refresh_running() {
    let (world, sign_in) = signed_in(Rules { life: Some(60), ..Rules::default() }).await;
    sleep(120).await;
    assert!(tokio::time::timeout(Duration::from_millis(1), sign_in.bearer()).await.is_err());
    sleep(1).await;
    assert_eq!(sign_in.current().unwrap().header.expose(), "Bearer access-2");
    assert_eq!(world.store.record().unwrap().tokens.unwrap().refresh.unwrap().expose(), "refresh-2");
}
