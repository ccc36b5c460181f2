//! Wrong tokens where an authorization server gives out the right ones (L17).

use manifold_config::Auth;
use manifold_oauth::door::{Rules, Verifier};
use manifold_oauth::{BoxFuture, Http, HttpError, Request, Response, Spawn, SystemClock};

use super::*;

const ISSUER: &str = "https://login.example";
/// Says that it was good until 1970; nobody need look at its signature for that.
const EXPIRED: &str = "eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJodHRwczovL2xvZ2luLmV4YW1wbGUiLCJzdWIiOiJhbm4iLCJhdWQiOiJ4IiwiZXhwIjoxfQ.AAAA";

/// Nobody is asked here, and nothing is begun.
struct Nobody;

impl Http for Nobody {
    fn send(&self, request: Request) -> BoxFuture<'_, Result<Response, HttpError>> {
        panic!("asked {}", request.url.as_str())
    }
}

impl Spawn for Nobody {
    fn spawn(&self, _task: BoxFuture<'static, ()>) {}

    fn spawn_background(&self, _task: BoxFuture<'static, ()>) {}
}

fn site_of_issuer() -> TestSite {
    let auth = Auth {
        issuers: vec![ISSUER.to_owned()],
        audiences: Vec::new(),
        jwks: None,
        introspection: None,
        scopes: None,
        required_scopes: Vec::new(),
        scope_claims: Vec::new(),
        leeway: Duration::ZERO,
        algorithms: vec!["ES256".to_owned()],
        require_typ: false,
    };
    let rules = Rules {
        issuers: auth.issuers.clone(),
        jwks: None,
        introspection: None,
        scope_claims: Vec::new(),
        leeway: auth.leeway,
        algorithms: auth.algorithms.clone(),
        require_typ: false,
    };
    let verifier = Arc::new(Verifier::new(rules, Arc::new(Nobody), Arc::new(SystemClock), Arc::new(Nobody)));
    let protection = Some(Protection::new(&auth, verifier, vec!["https://tools.example".to_owned()]));
    let admission = Admission::default().accepting(Accepted { protection, ..Accepted::default() });
    site_with(admission, ClientLimits::default(), 1 << 20)
}

#[tokio::test(start_paused = true)]
async fn guesses_are_counted_and_tokens_that_were_good_once_are_not() {
    let site = site_of_issuer();
    let ask = async |token: &str| {
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: localhost:3095\r\ncontent-type: application/json\r\n\
             authorization: Bearer {token}"
        );
        site.exchange(&head, "{}").await.0
    };
    for _ in 0..30 {
        let head = ask(EXPIRED).await;
        assert!(head.starts_with("HTTP/1.1 401 ") && head.contains("invalid_token"), "{head}");
    }
    for guess in 0..10 {
        let head = ask(&format!("guess-{guess}")).await;
        assert!(head.starts_with("HTTP/1.1 401 ") && head.contains("invalid_token"), "{head}");
    }
    let head = ask("guess-11").await;
    assert!(head.starts_with("HTTP/1.1 429 ") && head.contains("retry-after: 1"), "{head}");
    assert!(ask(EXPIRED).await.starts_with("HTTP/1.1 401 "), "who was good once refreshes");
    tokio::time::advance(Duration::from_secs(2)).await;
    assert!(ask("guess-12").await.starts_with("HTTP/1.1 401 "));
}
