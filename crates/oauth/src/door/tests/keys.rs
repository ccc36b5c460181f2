use std::sync::atomic::Ordering;

use serde_json::json;

use super::issuer::*;
use crate::door::Unverified;

#[tokio::test]
async fn a_key_that_is_new_is_found_with_one_look() {
    let (first, second) = (Signer::es256(), Signer::rs256());
    let world = World::new(rules(), vec![first.jwk("1")]);
    assert!(world.verify(&first.signed(&head(&first, "1"), &claims(world.now()))).await.is_ok());
    assert_eq!(world.key_fetches(), 1);
    world.issuer.answers.lock().unwrap().keys = vec![second.jwk("2")];
    world.clock.forward(1);
    let token = second.signed(&head(&second, "2"), &claims(world.now()));
    assert!(world.verify(&token).await.is_ok());
    assert_eq!(world.key_fetches(), 2);
    let gone = first.signed(&head(&first, "1"), &with(claims(world.now()), "sub", json!("bob")));
    assert_eq!(world.verify(&gone).await, Err(Unverified::Invalid("it is signed with an unknown key")));
}

#[tokio::test]
async fn names_of_keys_that_nobody_has_make_two_looks_a_minute() {
    let signer = Signer::es256();
    let world = World::new(rules(), vec![signer.jwk("1")]);
    for second in 0..180 {
        for n in 0..60 {
            let head = json!({"alg": "ES256", "kid": format!("{second}-{n}")});
            let token = format!("{}.AAAA", unsigned(&head, &claims(world.now())));
            assert!(matches!(world.verify(&token).await, Err(Unverified::Invalid(_))));
        }
        world.clock.forward(1);
        assert!(world.key_fetches() <= 2 * (second / 60 + 1), "{} in {second} s", world.key_fetches());
    }
    assert!(world.verify(&signer.signed(&head(&signer, "1"), &claims(world.now()))).await.is_ok());
}

#[tokio::test]
async fn known_keys_work_while_the_issuer_is_away() {
    let signer = Signer::es256();
    let world = World::new(rules(), vec![signer.jwk("1")]);
    let token = |sub: usize| {
        let claims = with(claims(world.now()), "sub", json!(sub.to_string()));
        signer.signed(&head(&signer, "1"), &claims)
    };
    assert!(world.verify(&token(0)).await.is_ok());
    world.issuer.answers.lock().unwrap().is_down = true;
    for minute in 1..=90 {
        world.clock.forward(60);
        assert!(world.verify(&token(minute)).await.is_ok(), "after {minute} minutes");
        settled().await;
    }
    assert!(world.key_fetches() > 1, "it was asked when what it had said was old");
    world.issuer.answers.lock().unwrap().is_down = false;
}

#[tokio::test]
async fn without_keys_nobody_is_told_that_a_token_is_bad() {
    let signer = Signer::es256();
    let world = World::new(rules(), vec![signer.jwk("1")]);
    world.issuer.answers.lock().unwrap().is_down = true;
    let token = signer.signed(&head(&signer, "1"), &claims(world.now()));
    for _ in 0..5 {
        assert_eq!(world.verify(&token).await, Err(Unverified::Unavailable));
    }
    world.issuer.answers.lock().unwrap().is_down = false;
    world.clock.forward(61);
    assert!(world.verify(&token).await.is_ok(), "it is back");
}

// The key may be one that the issuer has made meanwhile.
#[tokio::test]
async fn a_new_key_is_not_bad_while_the_issuer_is_away() {
    let (first, second) = (Signer::es256(), Signer::es256());
    let world = World::new(rules(), vec![first.jwk("1")]);
    assert!(world.verify(&first.signed(&head(&first, "1"), &claims(world.now()))).await.is_ok());
    world.issuer.answers.lock().unwrap().is_down = true;
    let token = second.signed(&head(&second, "2"), &claims(world.now()));
    for _ in 0..5 {
        assert_eq!(world.verify(&token).await, Err(Unverified::Unavailable));
    }
    world.issuer.answers.lock().unwrap().is_down = false;
    world.issuer.answers.lock().unwrap().keys = vec![second.jwk("2")];
    world.clock.forward(61);
    assert!(world.verify(&token).await.is_ok(), "it is back");
    let unknown = first.signed(&head(&first, "3"), &claims(world.now()));
    assert!(matches!(world.verify(&unknown).await, Err(Unverified::Invalid(_))));
}

#[tokio::test]
async fn many_at_once_wait_for_one_look() {
    let signer = Signer::es256();
    let world = World::new(rules(), vec![signer.jwk("1")]);
    let tokens: Vec<String> = (0..64)
        .map(|n| signer.signed(&head(&signer, "1"), &with(claims(world.now()), "sub", json!(n.to_string()))))
        .collect();
    let all = tokens.iter().map(|token| world.verify(token));
    let found = futures(all).await;
    assert!(found.iter().all(Result::is_ok));
    assert_eq!(world.key_fetches(), 1);
}

/// Polls all of them in turn until each is done.
pub(super) async fn futures<F: Future>(all: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut all: Vec<_> = all.map(|one| (Box::pin(one), None)).collect();
    std::future::poll_fn(|context| {
        for (one, done) in &mut all {
            if done.is_none()
                && let std::task::Poll::Ready(output) = one.as_mut().poll(context)
            {
                *done = Some(output);
            }
        }
        if all.iter().all(|(_, done)| done.is_some()) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    all.into_iter().filter_map(|(_, done)| done).collect()
}

#[tokio::test]
async fn keys_are_kept_for_as_long_as_they_are_said_to_be_good() {
    let signer = Signer::es256();
    for (said, seconds) in [
        (None, 3600),
        (Some("max-age=1"), 300),
        (Some("public, max-age=7200"), 7200),
        (Some("max-age=9999999"), 86_400),
    ] {
        let world = World::new(rules(), vec![signer.jwk("1")]);
        world.issuer.answers.lock().unwrap().cache_control = said;
        let token = |sub: &str| {
            let claims = with(claims(world.now()), "sub", json!(sub));
            signer.signed(&head(&signer, "1"), &claims)
        };
        world.verify(&token("a")).await.unwrap();
        world.clock.forward(seconds - 1);
        world.verify(&token("b")).await.unwrap();
        assert_eq!(world.key_fetches(), 1, "{said:?}");
        world.clock.forward(1);
        world.verify(&token("c")).await.unwrap();
        settled().await;
        assert_eq!(world.key_fetches(), 2, "{said:?}");
    }
}

/// Lets what was started in the background go on as far as it can.
async fn settled() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

// Row 24: keys that are known work, and nobody waits for an issuer that does not answer.
#[tokio::test]
async fn an_issuer_that_hangs_keeps_nobody_waiting_whose_key_is_known() {
    let signer = Signer::es256();
    let world = World::new(rules(), vec![signer.jwk("1")]);
    let token = |sub: &str| {
        let claims = with(claims(world.now()), "sub", json!(sub));
        signer.signed(&head(&signer, "1"), &claims)
    };
    world.verify(&token("a")).await.unwrap();
    world.issuer.answers.lock().unwrap().hangs = true;
    world.clock.forward(3600);
    for sub in 0..10 {
        world.verify(&token(&sub.to_string())).await.unwrap();
        settled().await;
    }
    assert_eq!(world.key_fetches(), 1, "the second hangs");
}

#[tokio::test]
async fn what_was_found_out_counts_for_a_minute_and_no_longer_than_the_token() {
    let signer = Signer::es256();
    let world = World::new(rules(), vec![signer.jwk("1")]);
    let short = with(claims(world.now()), "exp", json!(world.now() - 30));
    let short = signer.signed(&head(&signer, "1"), &short);
    assert!(world.verify(&short).await.is_ok(), "within the leeway");
    world.clock.forward(30);
    assert_eq!(world.verify(&short).await, Err(Unverified::Invalid("it has expired")));
    let long = signer.signed(&head(&signer, "1"), &claims(world.now()));
    world.verify(&long).await.unwrap();
    // Its key is taken back: what was found out does not outlive a minute.
    world.issuer.answers.lock().unwrap().keys = Vec::new();
    world.clock.forward(59);
    assert!(world.verify(&long).await.is_ok());
    assert_eq!(world.issuer.questions.load(Ordering::Relaxed), 0);
}
