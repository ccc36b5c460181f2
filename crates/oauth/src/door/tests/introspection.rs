use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use super::issuer::*;
use super::keys::futures;
use crate::door::{Rules, Unverified};

fn world() -> World {
    World::new(Rules { introspection: asking(), ..rules() }, Vec::new())
}

fn said(world: &World, answer: Value) {
    world.issuer.answers.lock().unwrap().introspected = Some(answer);
}

#[tokio::test]
async fn what_is_no_jwt_is_asked_about() {
    let world = world();
    let now = world.now();
    said(
        &world,
        json!({"active": true, "sub": "ann", "aud": [RESOURCE], "exp": now + 30, "scope": "a b", "client_id": "c"}),
    );
    let found = world.verify("opaque").await.unwrap();
    assert_eq!((found.issuer.as_str(), found.subject.as_str(), found.scopes.len()), (ISSUER, "ann", 2));
    for _ in 0..10 {
        world.verify("opaque").await.unwrap();
    }
    assert_eq!(world.issuer.questions.load(Ordering::Relaxed), 1, "what was said is kept for a while");
    world.clock.forward(61);
    said(&world, json!({"active": false}));
    assert!(matches!(world.verify("opaque").await, Err(Unverified::Invalid(_) | Unverified::Wrong(_))));
    assert!(matches!(world.verify("opaque").await, Err(Unverified::Invalid(_) | Unverified::Wrong(_))));
    assert_eq!(world.issuer.questions.load(Ordering::Relaxed), 2, "a no is kept as well");
    world.clock.forward(11);
    assert!(matches!(world.verify("opaque").await, Err(Unverified::Invalid(_) | Unverified::Wrong(_))));
    assert_eq!(world.issuer.questions.load(Ordering::Relaxed), 3, "for ten seconds");
}

#[tokio::test]
async fn a_yes_is_judged_like_any_token() {
    let good = |now: u64| json!({"active": true, "sub": "ann", "aud": RESOURCE, "exp": now + 300});
    let now = world().now();
    for (what, answer) in [
        ("no word of it", json!({})),
        ("another word", with(good(now), "active", json!("true"))),
        ("over", with(good(now), "exp", json!(now - 61))),
        ("for ever", with(good(now), "exp", Value::Null)),
        ("meant for nobody", with(good(now), "aud", Value::Null)),
        ("of another issuer", with(good(now), "iss", json!("https://evil.example"))),
        ("of nobody", with(good(now), "sub", Value::Null)),
        ("later", with(good(now), "nbf", json!(now + 120))),
    ] {
        let world = world();
        said(&world, answer);
        assert!(
            matches!(world.verify("opaque").await, Err(Unverified::Invalid(_) | Unverified::Wrong(_))),
            "{what}"
        );
    }
    let world = world();
    said(&world, good(now));
    assert!(world.verify("opaque").await.is_ok());
    world.issuer.answers.lock().unwrap().is_down = true;
    assert_eq!(world.verify("another").await, Err(Unverified::Unavailable));
}

#[tokio::test]
async fn a_token_is_asked_about_once_however_many_bring_it() {
    let world = world();
    said(&world, json!({"active": true, "sub": "ann", "aud": RESOURCE, "exp": world.now() + 300}));
    let all = futures((0..50).map(|_| world.verify("opaque"))).await;
    assert!(all.iter().all(Result::is_ok));
    assert_eq!(world.issuer.questions.load(Ordering::Relaxed), 1);
}

// What another issuer gave out is nobody's business but that issuer's.
#[tokio::test]
async fn a_jwt_is_shown_to_nobody() {
    let signer = Signer::es256();
    let world = World::new(Rules { introspection: asking(), ..rules() }, vec![signer.jwk("1")]);
    said(&world, json!({"active": true, "sub": "ann", "aud": RESOURCE, "exp": world.now() + 300}));
    let claims = claims(world.now());
    let foreign = with(claims.clone(), "iss", json!("https://evil.example"));
    let odd = json!({"alg": "ES256", "kid": 7});
    let signed = signer.signed(&head(&signer, "1"), &foreign);
    let encrypted = format!("{}.AAAA.BBBB.CCCC.", signed.split('.').next().unwrap());
    for token in [
        signed,
        encrypted,
        signer.signed(&odd, &claims),
        signer.signed(&head(&signer, "1"), &with(claims.clone(), "exp", json!(1))),
        signer.signed(&head(&signer, "1"), &with(claims.clone(), "iss", Value::Null)),
        format!("{}.", unsigned(&json!({"alg": "none"}), &foreign)),
    ] {
        let found = world.verify(&token).await;
        assert!(matches!(found, Err(Unverified::Invalid(_) | Unverified::Wrong(_))), "{token}");
    }
    assert_eq!(world.issuer.questions.load(Ordering::Relaxed), 0);
    assert!(world.verify(&signer.signed(&head(&signer, "1"), &claims)).await.is_ok());
    for opaque in ["a.b.c", "AAAA.BBBB.CCCC", "v4.public.payload", "x y"] {
        assert!(world.verify(opaque).await.is_ok(), "{opaque} is no JWT");
    }
    assert_eq!(world.issuer.questions.load(Ordering::Relaxed), 4);
}
