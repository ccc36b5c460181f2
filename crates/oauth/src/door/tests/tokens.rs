use hmac_like::hs256;

use super::issuer::*;
use crate::door::{MAX_TOKEN_BYTES, Unverified};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

/// A signature with a shared secret, as somebody would make it who took a public key for one.
mod hmac_like {
    use aws_lc_rs::hmac;
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    pub(super) fn hs256(message: &str, secret: &[u8]) -> String {
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), message.as_bytes());
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(tag.as_ref()))
    }
}

#[tokio::test]
async fn good_tokens_say_whose_they_are() {
    let (ec, rsa) = (Signer::es256(), Signer::rs256());
    let world = World::new(rules(), vec![ec.jwk("e"), rsa.jwk("r")]);
    let now = world.now();
    for (signer, kid) in [(&ec, "e"), (&rsa, "r")] {
        let found = world.verify(&signer.signed(&head(signer, kid), &claims(now))).await.unwrap();
        assert_eq!((found.issuer.as_str(), found.subject.as_str()), (ISSUER, "ann"));
        assert_eq!(found.client_id.as_deref(), Some("editor"));
        assert_eq!(
            (found.audiences.as_slice(), found.scopes.as_slice()),
            (&[RESOURCE.to_owned()][..], &["read".to_owned(), "write".to_owned()][..])
        );
    }
    let check = async |head: Value, claims: Value| world.verify(&ec.signed(&head, &claims)).await.unwrap();
    // As Entra, Okta and Keycloak write them.
    check(with(head(&ec, "e"), "typ", json!("JWT")), claims(now)).await;
    check(with(head(&ec, "e"), "typ", Value::Null), claims(now)).await;
    check(with(head(&ec, "e"), "kid", Value::Null), claims(now)).await;
    let roles = with(with(claims(now), "scope", Value::Null), "realm_access", json!({"roles": ["admin"]}));
    assert_eq!(check(head(&ec, "e"), roles).await.scopes, ["admin"]);
    let scp = with(with(claims(now), "scope", Value::Null), "scp", json!(["a", "b"]));
    assert_eq!(check(head(&ec, "e"), scp).await.scopes, ["a", "b"]);
    // Within the leeway.
    check(head(&ec, "e"), with(claims(now), "exp", json!(now - 59))).await;
    check(head(&ec, "e"), with(claims(now), "nbf", json!(now + 60))).await;
    let alone = with(with(claims(now), "sub", Value::Null), "azp", json!("x"));
    assert_eq!(check(head(&ec, "e"), alone).await.subject, "editor", "a client for itself");
    assert_eq!(world.key_fetches(), 1);
}

/// Makes the bad tokens, each with the reason.
fn bad(ec: &Signer, rsa: &Signer, other: &Signer, now: u64) -> Vec<(&'static str, String)> {
    let good = || claims(now);
    let e = || head(ec, "e");
    let changed = |name: &str, member: Value| ec.signed(&e(), &with(good(), name, member));
    let headed = |name: &str, member: Value| ec.signed(&with(e(), name, member), &good());
    let public = rsa.jwk("r")["n"].as_str().unwrap().as_bytes().to_vec();
    let good_token = ec.signed(&e(), &good());
    let (message, signature) = good_token.rsplit_once('.').unwrap();
    let doubled = {
        let twice = good().to_string().replacen('{', r#"{"iss":"https://evil.example","#, 1);
        let head_part = message.split('.').next().unwrap();
        let text = format!("{head_part}.{}", URL_SAFE_NO_PAD.encode(twice));
        format!("{text}.{signature}")
    };
    vec![
        ("no signature at all", format!("{}.", unsigned(&with(e(), "alg", json!("none")), &good()))),
        ("none, in another case", format!("{}.", unsigned(&with(e(), "alg", json!("nOnE")), &good()))),
        (
            "a public key as a shared secret",
            hs256(&unsigned(&json!({"alg": "HS256", "kid": "r"}), &good()), &public),
        ),
        ("signed by another", other.signed(&e(), &good())),
        ("another kind of key by that name", rsa.signed(&json!({"alg": "RS256", "kid": "e"}), &good())),
        ("an algorithm that its key is not for", ec.signed(&json!({"alg": "RS256", "kid": "e"}), &good())),
        ("a key that nobody knows", headed("kid", json!("z"))),
        ("a name for a key that is none", headed("kid", json!("../../etc/passwd"))),
        ("a critical member", headed("crit", json!(["b64"]))),
        ("an empty list of critical members", headed("crit", json!([]))),
        ("typed as something else", headed("typ", json!("oauth-id-jag+jwt"))),
        ("of another issuer", changed("iss", json!("https://evil.example"))),
        ("of the issuer with a slash", changed("iss", json!(format!("{ISSUER}/")))),
        ("of nobody", changed("iss", Value::Null)),
        ("meant for nobody", changed("aud", Value::Null)),
        ("meant for no one in a list", changed("aud", json!([]))),
        ("over for 61 s", changed("exp", json!(now - 61))),
        ("good for ever", changed("exp", Value::Null)),
        ("until a word", changed("exp", json!("tomorrow"))),
        ("good in two minutes", changed("nbf", json!(now + 120))),
        ("made in two minutes", changed("iat", json!(now + 120))),
        (
            "of nobody in particular",
            ec.signed(&e(), &with(with(good(), "sub", Value::Null), "client_id", Value::Null)),
        ),
        ("an id token", changed("nonce", json!("n"))),
        ("another body", format!("{}.{signature}", unsigned(&e(), &with(good(), "sub", json!("eve"))))),
        ("cut short", good_token[..good_token.len() - 8].to_owned()),
        ("two issuers", doubled),
        ("too long", ec.signed(&e(), &with(good(), "pad", json!("x".repeat(MAX_TOKEN_BYTES))))),
        ("no token", "garbage".to_owned()),
        ("no JSON", "a.b.c".to_owned()),
        ("four parts", format!("{good_token}.x")),
        ("nothing", String::new()),
    ]
}

#[tokio::test]
async fn bad_tokens_are_no_good_and_cost_one_look_for_keys() {
    let (ec, rsa, other) = (Signer::es256(), Signer::rs256(), Signer::es256());
    let world = World::new(rules(), vec![ec.jwk("e"), rsa.jwk("r")]);
    for (what, token) in bad(&ec, &rsa, &other, world.now()) {
        let found = world.verify(&token).await;
        assert!(matches!(found, Err(Unverified::Invalid(_) | Unverified::Wrong(_))), "{what}: {found:?}");
    }
    assert!(world.key_fetches() <= 2, "{}", world.key_fetches());
    let good = ec.signed(&head(&ec, "e"), &claims(world.now()));
    assert!(world.verify(&good).await.is_ok());
}

#[tokio::test]
async fn a_config_may_insist_on_access_tokens_and_on_algorithms() {
    let ec = Signer::es256();
    let strict = World::new(crate::door::Rules { require_typ: true, ..rules() }, vec![ec.jwk("e")]);
    let now = strict.now();
    let typed = |typ: Value| ec.signed(&with(head(&ec, "e"), "typ", typ), &claims(now));
    assert!(strict.verify(&typed(json!("application/at+JWT"))).await.is_ok());
    assert!(strict.verify(&typed(json!("JWT"))).await.is_err());
    assert!(strict.verify(&typed(Value::Null)).await.is_err());
    let only = crate::door::Rules { algorithms: vec!["RS256".to_owned()], ..rules() };
    let only = World::new(only, vec![ec.jwk("e")]);
    assert!(only.verify(&ec.signed(&head(&ec, "e"), &claims(now))).await.is_err());
    assert_eq!(only.key_fetches(), 0, "nobody is asked for what cannot be");
}
