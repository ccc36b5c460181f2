use super::*;
use crate::fakes::FakeClock;
use crate::fakes::{FakeHttp, credential, field, json};

async fn ask(
    registration: &Registration,
    metadata: &ServerMetadata,
    answer: &'static str,
    status: u16,
) -> (Result<Answer, LoginError>, Vec<Request>) {
    let http = FakeHttp::new(move |_| Ok(json(status, answer)));
    let (clock, settings) = (FakeClock::new(), Settings::default());
    let issuer = Issuer {
        http: http.as_ref(),
        clock: clock.as_ref(),
        reach: Reach::default(),
        settings: &settings,
        metadata,
        registration,
    };
    let answer =
        issuer.token(vec![("grant_type", "refresh_token"), ("refresh_token", "the-secret-token")]).await;
    (answer, http.seen.lock().unwrap().clone())
}

fn metadata(methods: &[&str]) -> ServerMetadata {
    let methods = methods.iter().map(|method| (*method).to_owned()).collect::<Vec<_>>();
    ServerMetadata {
        issuer: "https://as.example".to_owned(),
        token_endpoint: Some("https://as.example/token".to_owned()),
        token_endpoint_auth_methods_supported: (!methods.is_empty()).then_some(methods),
        ..ServerMetadata::default()
    }
}

const GOOD: &str = r#"{"access_token":"a","token_type":"BEARER","expires_in":10}"#;

#[tokio::test(start_paused = true)]
async fn we_say_who_we_are_in_one_way() {
    let basic = "Basic Y2xpZW50OnMlM0FlJTIwYw==";
    for (secret, said, listed, is_basic, in_form) in [
        (None, None, &[][..], false, (true, false)),
        (Some(""), None, &[], false, (true, false)),
        (Some("s:e c"), None, &[], true, (false, false)),
        (Some("s:e c"), None, &["client_secret_post"], false, (true, true)),
        (Some("s:e c"), None, &["client_secret_post", "client_secret_basic"], true, (false, false)),
        (Some("s:e c"), Some("client_secret_post"), &["client_secret_basic"], false, (true, true)),
        (Some("s:e c"), Some("none"), &[], false, (true, false)),
    ] {
        let mut registration = credential().registration;
        registration.client_secret = secret.map(Secret::new);
        registration.token_endpoint_auth_method = said.map(str::to_owned);
        let (answer, seen) = ask(&registration, &metadata(listed), GOOD, 200).await;
        answer.unwrap();
        let header = seen[0]
            .headers
            .iter()
            .find(|(name, _)| *name == "authorization")
            .map(|(_, value)| value.expose());
        assert_eq!(header, is_basic.then_some(basic), "{said:?} {listed:?}");
        assert_eq!(
            (field(&seen[0], "client_id").is_some(), field(&seen[0], "client_secret").is_some()),
            in_form
        );
        assert_eq!(seen[0].redirects, crate::http::Redirects::None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_is_wanted_after_all_is_sent() {
    let mut registration = credential().registration;
    registration.client_secret = Some(Secret::new("s"));
    registration.token_endpoint_auth_method = Some("none".to_owned());
    let (answer, seen) = ask(&registration, &metadata(&[]), r#"{"error":"invalid_client"}"#, 401).await;
    assert_eq!(answer.unwrap_err().code(), Some("invalid_client"));
    assert_eq!((seen.len(), field(&seen[1], "client_secret").as_deref()), (2, Some("s")));
}

#[tokio::test(start_paused = true)]
async fn answers_are_read_as_they_are_written() {
    let registration = credential().registration;
    let far = "eyJhbGciOiJub25lIn0.eyJleHAiOjE4MDAwMDExMDB9.x";
    assert_eq!(far.split('.').count(), 3);
    for (answer, life) in [
        (GOOD, Some(10)),
        (r#"{"access_token":"a","token_type":"bearer","expires_in":0}"#, Some(0)),
        (r#"{"access_token":"a","token_type":"bearer","expires_in":"3599"}"#, Some(3599)),
        (r#"{"access_token":"a","token_type":"bearer","expires_in":59.9}"#, Some(59)),
        (r#"{"access_token":"a","token_type":"bearer","expires_in":-5}"#, Some(0)),
        (r#"{"access_token":"a","token_type":"bearer","expires_in":null}"#, None),
        (r#"{"access_token":"a","token_type":"bearer"}"#, None),
        (
            r#"{"access_token":"eyJhbGciOiJub25lIn0.eyJleHAiOjE4MDAwMDExMDB9.x","token_type":"bearer"}"#,
            Some(100),
        ),
        (r#"{"access_token":"eyJhbGciOiJub25lIn0.e30.x","token_type":"bearer"}"#, None),
    ] {
        let (read, _) = ask(&registration, &metadata(&[]), answer, 200).await;
        assert_eq!(read.unwrap().life, life, "{answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_no_token_is_refused_with_a_reason() {
    let registration = credential().registration;
    for (answer, status, told) in [
        (
            r#"{"access_token":"a","token_type":"mac"}"#,
            200,
            "as.example gives a token we cannot use: its type is not Bearer",
        ),
        (r#"{"access_token":"a"}"#, 200, "as.example gives a token we cannot use: its type is not Bearer"),
        (r#"{"token_type":"bearer"}"#, 200, "as.example gives a token we cannot use: there is none"),
        (
            "{\"access_token\":\"a\\nb\",\"token_type\":\"bearer\"}",
            200,
            "as.example gives a token we cannot use: it does not fit into a header",
        ),
        (r#"{"error":"bad_refresh_token"}"#, 200, "as.example refuses a token: bad_refresh_token"),
        (
            r#"{"error":"invalid_grant","error_description":"a\nb"}"#,
            400,
            "as.example refuses a token: invalid_grant (a b)",
        ),
        (
            r#"{"error":"invalid_grant","error_description":"the-secret-token is gone"}"#,
            400,
            "as.example refuses a token: invalid_grant",
        ),
        (r#"<html>the-secret-token</html>"#, 400, "as.example refuses a token: 400"),
        ("no", 503, "as.example answers 503"),
    ] {
        let (read, _) = ask(&registration, &metadata(&[]), answer, status).await;
        assert_eq!(read.unwrap_err().to_string(), told);
    }
}

/// The statement of who we are is for the issuer, short-lived, and verifies with the public key.
#[test]
fn a_statement_is_signed_by_the_key_of_the_config() {
    use aws_lc_rs::rand::SystemRandom;
    use aws_lc_rs::signature::{
        ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair, UnparsedPublicKey,
    };
    use base64::Engine;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
    let document =
        EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new()).unwrap();
    let pem = format!(
        "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
        STANDARD.encode(document.as_ref())
    );
    let signed = assertion::sign(&Secret::new(pem), "me", "https://as.example", 1000).unwrap();
    let parts: Vec<&str> = signed.expose().split('.').collect();
    let public = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref()).unwrap();
    let signature = URL_SAFE_NO_PAD.decode(parts[2]).unwrap();
    UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, public.public_key().as_ref())
        .verify(format!("{}.{}", parts[0], parts[1]).as_bytes(), &signature)
        .unwrap();
    let text = |part: &str| String::from_utf8(URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap();
    assert!(text(parts[0]).contains(r#""alg":"ES256""#));
    let claims = text(parts[1]);
    for claim in
        [r#""iss":"me""#, r#""sub":"me""#, r#""aud":"https://as.example""#, r#""exp":1060"#, r#""iat":1000"#]
    {
        assert!(claims.contains(claim), "{claims}");
    }
    assert_eq!(
        assertion::sign(&Secret::new("no key"), "me", "i", 0).unwrap_err(),
        LoginError::PrivateKey("it is not in PEM")
    );
}
