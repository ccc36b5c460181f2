//! An issuer in memory: keys, tokens signed with them, and what it answers to whom.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use crate::clock::Clock;
use crate::door::{Introspection, Rules, Unverified, Verified, Verifier};
use crate::fakes::FakeTasks;
use crate::http::{BoxFuture, Http, HttpError, Request, Response};

pub(super) const ISSUER: &str = "https://login.example/tenant";
pub(super) const RESOURCE: &str = "https://tools.example/mcp";
pub(super) const NOW: u64 = 1_800_000_000;

/// A clock that stands until it is put forward.
#[derive(Default)]
pub(super) struct TestClock(AtomicU64);

impl TestClock {
    pub(super) fn forward(&self, seconds: u64) {
        self.0.fetch_add(seconds, Ordering::Relaxed);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Duration {
        Duration::from_secs(1000 + self.0.load(Ordering::Relaxed))
    }

    fn wall(&self) -> u64 {
        NOW + self.0.load(Ordering::Relaxed)
    }
}

pub(super) enum Signer {
    Es256(EcdsaKeyPair),
    Rs256(Box<RsaKeyPair>),
}

impl Signer {
    pub(super) fn es256() -> Self {
        Self::Es256(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap())
    }

    pub(super) fn rs256() -> Self {
        Self::Rs256(Box::new(RsaKeyPair::generate(KeySize::Rsa2048).unwrap()))
    }

    pub(super) fn algorithm(&self) -> &'static str {
        match self {
            Self::Es256(_) => "ES256",
            Self::Rs256(_) => "RS256",
        }
    }

    /// Returns the public part, as a set of keys has it.
    pub(super) fn jwk(&self, kid: &str) -> Value {
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        match self {
            Self::Es256(pair) => {
                let point = pair.public_key().as_ref();
                json!({"kty": "EC", "crv": "P-256", "kid": kid, "use": "sig", "x": text(&point[1..33]), "y": text(&point[33..])})
            }
            Self::Rs256(pair) => {
                let public = pair.public_key();
                let (n, e) = (public.modulus(), public.exponent());
                let (n, e) = (n.big_endian_without_leading_zero(), e.big_endian_without_leading_zero());
                json!({"kty": "RSA", "kid": kid, "use": "sig", "alg": "RS256", "n": text(n), "e": text(e)})
            }
        }
    }

    pub(super) fn signed(&self, head: &Value, claims: &Value) -> String {
        let message = unsigned(head, claims);
        let random = SystemRandom::new();
        let signature = match self {
            Self::Es256(pair) => pair.sign(&random, message.as_bytes()).unwrap().as_ref().to_vec(),
            Self::Rs256(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, message.as_bytes(), &mut signature).unwrap();
                signature
            }
        };
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

pub(super) fn unsigned(head: &Value, claims: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}", part(head), part(claims))
}

/// What the issuer answers now.
#[derive(Default)]
pub(super) struct Answers {
    pub(super) keys: Vec<Value>,
    pub(super) cache_control: Option<&'static str>,
    pub(super) is_down: bool,
    /// Nothing is ever answered.
    pub(super) hangs: bool,
    pub(super) introspected: Option<Value>,
}

#[derive(Default)]
pub(super) struct Issuer {
    pub(super) answers: Mutex<Answers>,
    pub(super) key_fetches: AtomicUsize,
    pub(super) questions: AtomicUsize,
}

impl Http for Issuer {
    fn send(&self, request: Request) -> BoxFuture<'_, Result<Response, HttpError>> {
        Box::pin(async move {
            tokio::task::yield_now().await;
            let hangs = self.answers.lock().unwrap().hangs;
            if hangs {
                std::future::pending::<()>().await;
            }
            let answers = self.answers.lock().unwrap();
            let url = request.url.as_str();
            if url.ends_with("/keys") {
                self.key_fetches.fetch_add(1, Ordering::Relaxed);
            }
            if url.ends_with("/introspect") {
                self.questions.fetch_add(1, Ordering::Relaxed);
            }
            if answers.is_down {
                let host = request.url.host().to_owned();
                return Err(HttpError::Unreachable { host, why: "down".to_owned() });
            }
            let body = match url {
                "https://login.example/.well-known/oauth-authorization-server/tenant" => {
                    json!({"issuer": ISSUER, "jwks_uri": "https://login.example/keys"})
                }
                "https://login.example/keys" => json!({"keys": answers.keys}),
                "https://login.example/introspect" => {
                    let (_, form) = request.body.parts().unwrap();
                    assert!(
                        form.starts_with("token=")
                            && request.headers.iter().any(|(name, _)| *name == "authorization")
                    );
                    answers.introspected.clone().unwrap_or(json!({"active": false}))
                }
                _ => return Ok(Response { status: 404, ..Response::default() }),
            };
            let headers =
                answers.cache_control.iter().map(|say| ("cache-control".to_owned(), (*say).to_owned()));
            Ok(Response { status: 200, headers: headers.collect(), body: body.to_string().into_bytes() })
        })
    }
}

/// A verifier, its issuer and its clock.
pub(super) struct World {
    pub(super) issuer: Arc<Issuer>,
    pub(super) clock: Arc<TestClock>,
    pub(super) verifier: Verifier,
}

pub(super) fn rules() -> Rules {
    Rules {
        issuers: vec![ISSUER.to_owned()],
        jwks: None,
        introspection: None,
        scope_claims: vec!["scope".to_owned(), "scp".to_owned(), "realm_access.roles".to_owned()],
        leeway: Duration::from_secs(60),
        algorithms: ["RS256", "PS256", "ES256", "EdDSA"].map(str::to_owned).to_vec(),
        require_typ: false,
    }
}

pub(super) fn asking() -> Option<Introspection> {
    Some(Introspection {
        url: "https://login.example/introspect".to_owned(),
        client_id: "gateway".to_owned(),
        client_secret: "s".into(),
    })
}

impl World {
    pub(super) fn new(rules: Rules, keys: Vec<Value>) -> Self {
        let issuer = Arc::new(Issuer::default());
        issuer.answers.lock().unwrap().keys = keys;
        let clock = Arc::new(TestClock::default());
        let verifier =
            Verifier::new(rules, Arc::clone(&issuer) as _, Arc::clone(&clock) as _, Arc::new(FakeTasks));
        Self { issuer, clock, verifier }
    }

    pub(super) fn now(&self) -> u64 {
        self.clock.wall()
    }

    pub(super) fn key_fetches(&self) -> usize {
        self.issuer.key_fetches.load(Ordering::Relaxed)
    }

    pub(super) async fn verify(&self, token: &str) -> Result<Arc<Verified>, Unverified> {
        self.verifier.verify(token).await
    }
}

/// Claims that are good for five minutes.
pub(super) fn claims(now: u64) -> Value {
    json!({"iss": ISSUER, "sub": "ann", "aud": RESOURCE, "exp": now + 300, "iat": now, "nbf": now,
           "client_id": "editor", "scope": "read write"})
}

pub(super) fn head(signer: &Signer, kid: &str) -> Value {
    json!({"alg": signer.algorithm(), "kid": kid, "typ": "at+jwt"})
}

/// Returns a value with one member changed, or taken out.
pub(super) fn with(mut value: Value, name: &str, member: Value) -> Value {
    let object = value.as_object_mut().unwrap();
    match member {
        Value::Null => drop(object.remove(name)),
        member => drop(object.insert(name.to_owned(), member)),
    }
    value
}
