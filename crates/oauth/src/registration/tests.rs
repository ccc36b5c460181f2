use super::*;
use crate::fakes::{FakeClock, FakeHttp, REDIRECT, credential, json};

struct Case {
    settings: Settings,
    metadata: ServerMetadata,
    known: Option<Credential>,
    answer: (u16, &'static str),
}

fn case() -> Case {
    Case {
        settings: Settings::default(),
        metadata: ServerMetadata {
            issuer: "https://as.example".to_owned(),
            registration_endpoint: Some("https://as.example/register".to_owned()),
            ..ServerMetadata::default()
        },
        known: None,
        answer: (
            201,
            r#"{"client_id":"new","client_secret":"s","client_secret_expires_at":99,"token_endpoint_auth_method":"client_secret_post","registration_access_token":"t","registration_client_uri":"https://as.example/c","odd":1}"#,
        ),
    }
}

async fn check(case: &Case) -> (Result<Registration, LoginError>, Option<String>) {
    let (status, body) = case.answer;
    let http = FakeHttp::new(move |_| Ok(json(status, body)));
    let clock = FakeClock::new();
    let registrar = Registrar {
        http: http.as_ref(),
        clock: clock.as_ref(),
        reach: Reach::default(),
        settings: &case.settings,
        metadata: &case.metadata,
        redirect_uri: Some(REDIRECT),
        grant: Grant::Code,
        known: case.known.as_ref(),
        without_document: false,
    };
    let client = registrar.client().await;
    let seen = http.seen.lock().unwrap();
    (client, seen.first().and_then(|request| Some(request.body.parts()?.1.to_owned())))
}

fn known(issuer: &str, redirect: &str) -> Credential {
    let mut known = credential();
    known.issuer = issuer.to_owned();
    known.registration.client_id = "old".to_owned();
    known.registration.redirect_uris = vec![redirect.to_owned()];
    known
}

#[tokio::test(start_paused = true)]
async fn a_registration_is_kept_whole() {
    let (client, asked) = check(&case()).await;
    let client = client.unwrap();
    assert_eq!((client.client_id.as_str(), client.client_secret_expires_at), ("new", Some(99)));
    assert_eq!(client.registration_access_token, Some(Secret::new("t")));
    assert_eq!(client.registration_client_uri.as_deref(), Some("https://as.example/c"));
    assert!(client.answer.unwrap().expose().contains(r#""odd":1"#));
    let asked = asked.unwrap();
    for part in [
        r#""application_type":"native""#,
        r#""grant_types":["authorization_code","refresh_token"]"#,
        r#""client_name":"Manifold""#,
        REDIRECT,
    ] {
        assert!(asked.contains(part), "{asked}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_client_of_the_config_comes_first_then_our_document() {
    let mut case = case();
    case.settings.client_metadata_url = Some("https://us.example/client.json".to_owned());
    case.metadata.client_id_metadata_document_supported = true;
    let (client, asked) = check(&case).await;
    let client = client.unwrap();
    assert_eq!(
        (client.source, client.client_id.as_str(), asked),
        (ClientSource::MetadataDocument, "https://us.example/client.json", None)
    );
    case.settings.client_id = Some("given".to_owned());
    let (client, asked) = check(&case).await;
    assert_eq!(
        (client.unwrap().client_id.as_str(), asked),
        ("given", None),
        "nobody is registered where an id is configured"
    );
}

#[tokio::test(start_paused = true)]
async fn a_document_that_was_refused_is_not_tried_again() {
    let mut case = case();
    case.settings.client_metadata_url = Some("https://us.example/client.json".to_owned());
    case.metadata.client_id_metadata_document_supported = true;
    let mut refused = known("https://as.example", REDIRECT);
    refused.registration.source = ClientSource::MetadataDocument;
    refused.registration.is_refused = true;
    case.known = Some(refused);
    assert_eq!(check(&case).await.0.unwrap().source, ClientSource::Registered);
}

#[tokio::test(start_paused = true)]
async fn one_registration_is_enough() {
    let mut case = case();
    for (issuer, redirect, is_refused, expires, id) in [
        ("https://as.example", REDIRECT, false, None, "old"),
        ("https://as.example", "http://127.0.0.1:1/callback", false, None, "old"),
        ("https://as.example", "http://127.0.0.1:1/other", false, None, "new"),
        ("https://as.example", "https://us.example/callback", false, None, "new"),
        ("https://as.example", REDIRECT, true, None, "new"),
        ("https://as.example", REDIRECT, false, Some(5), "new"),
        ("https://as.example", REDIRECT, false, Some(0), "old"),
        ("https://other.example", REDIRECT, false, None, "new"),
    ] {
        let mut known = known(issuer, redirect);
        known.registration.is_refused = is_refused;
        known.registration.client_secret_expires_at = expires;
        case.known = Some(known);
        assert_eq!(
            check(&case).await.0.unwrap().client_id,
            id,
            "{issuer} {redirect} {is_refused} {expires:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_configured_client_stays_with_its_issuer() {
    let mut case = case();
    case.settings.client_id = Some("old".to_owned());
    let mut known = known("https://other.example", REDIRECT);
    known.registration.source = ClientSource::Configured;
    case.known = Some(known);
    assert!(matches!(check(&case).await.0, Err(LoginError::IssuerRefused { .. })));
    case.settings.issuer = Some("https://as.example".to_owned());
    assert!(check(&case).await.0.is_ok(), "the user says so");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_shown_with_its_reason() {
    let mut case = case();
    for (answer, told) in [
        (
            (403, "Client name not allowed"),
            "as.example refuses to register us: 403 (Client name not allowed)",
        ),
        (
            (400, r#"{"error":"invalid_redirect_uri","error_description":"no"}"#),
            "as.example refuses to register us: invalid_redirect_uri (no)",
        ),
        ((400, "<html>"), "as.example refuses to register us: 400"),
    ] {
        case.answer = answer;
        assert_eq!(check(&case).await.0.unwrap_err().to_string(), told);
    }
    case.metadata.registration_endpoint = None;
    assert!(matches!(check(&case).await.0, Err(LoginError::NeedsClientId { .. })));
}
