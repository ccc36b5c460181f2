//! An authorization server on this machine: it says where its keys are, and signs what it is told to, lies included.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};

/// A key to sign with.
pub enum Signer {
    Es256(EcdsaKeyPair),
    Rs256(Box<RsaKeyPair>),
}

/// The server. It ends with the test's process.
pub struct IssuerFake {
    address: String,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    keys: Vec<Value>,
    is_down: bool,
    key_fetches: usize,
}

impl Signer {
    pub fn es256() -> Self {
        Self::Es256(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).expect("a key"))
    }

    pub fn rs256() -> Self {
        Self::Rs256(Box::new(RsaKeyPair::generate(KeySize::Rsa2048).expect("a key")))
    }

    pub fn algorithm(&self) -> &'static str {
        match self {
            Self::Es256(_) => "ES256",
            Self::Rs256(_) => "RS256",
        }
    }

    /// Returns the public part, as a set of keys has it.
    pub fn jwk(&self, kid: &str) -> Value {
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        match self {
            Self::Es256(pair) => {
                let point = pair.public_key().as_ref();
                let (x, y) = (text(&point[1..33]), text(&point[33..]));
                json!({"kty": "EC", "crv": "P-256", "kid": kid, "use": "sig", "x": x, "y": y})
            }
            Self::Rs256(pair) => {
                let (n, e) = (pair.public_key().modulus(), pair.public_key().exponent());
                let (n, e) = (n.big_endian_without_leading_zero(), e.big_endian_without_leading_zero());
                json!({"kty": "RSA", "kid": kid, "use": "sig", "alg": "RS256", "n": text(n), "e": text(e)})
            }
        }
    }

    /// Signs claims.
    pub fn sign(&self, head: &Value, claims: &Value) -> String {
        let message = unsigned(head, claims);
        let random = SystemRandom::new();
        let signature = match self {
            Self::Es256(pair) => pair.sign(&random, message.as_bytes()).expect("signed").as_ref().to_vec(),
            Self::Rs256(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, message.as_bytes(), &mut signature).expect("signed");
                signature
            }
        };
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

/// Makes a private key for who signs who it is, as a file has it.
pub fn private_key() -> String {
    let random = SystemRandom::new();
    let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).expect("a key");
    let mut text = STANDARD.encode(key.as_ref());
    for at in (64..text.len()).step_by(64).rev() {
        text.insert(at, '\n');
    }
    format!("-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----\n")
}

/// Returns the first two parts of a token.
pub fn unsigned(head: &Value, claims: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}", part(head), part(claims))
}

/// Signs with a shared secret, as somebody would who took a public key for one.
pub fn hs256(message: &str, secret: &[u8]) -> String {
    use aws_lc_rs::hmac;
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), message.as_bytes());
    format!("{message}.{}", URL_SAFE_NO_PAD.encode(tag.as_ref()))
}

impl IssuerFake {
    /// Opens one with these keys.
    pub fn new(keys: Vec<Value>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let state = Arc::new(Mutex::new(State { keys, ..State::default() }));
        let (shared, issuer) = (Arc::clone(&state), address.clone());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (shared, issuer) = (Arc::clone(&shared), issuer.clone());
                thread::spawn(move || serve(&stream, &issuer, &shared));
            }
        });
        Self { address, state }
    }

    /// Returns where it is, which is also how it names itself.
    pub fn address(&self) -> &str {
        &self.address
    }

    pub fn set_keys(&self, keys: Vec<Value>) {
        self.lock().keys = keys;
    }

    /// Has it hang up on whoever asks.
    pub fn set_down(&self, is_down: bool) {
        self.lock().is_down = is_down;
    }

    /// Returns how often its keys were asked for.
    pub fn key_fetches(&self) -> usize {
        self.lock().key_fetches
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn serve(mut stream: &TcpStream, issuer: &str, state: &Mutex<State>) {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let Some(first) = lines.next() else { return };
    lines.take_while(|line| !line.is_empty()).for_each(drop);
    let path = first.split(' ').nth(1).unwrap_or_default();
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    if path == "/keys" {
        state.key_fetches += 1;
    }
    if state.is_down {
        return;
    }
    let (status, body) = match path {
        "/.well-known/oauth-authorization-server" => {
            (200, json!({"issuer": issuer, "jwks_uri": format!("{issuer}/keys")}))
        }
        "/keys" => (200, json!({"keys": state.keys})),
        _ => (404, json!({})),
    };
    drop(state);
    let body = body.to_string();
    let head =
        format!("HTTP/1.1 {status} x\r\ncontent-type: application/json\r\ncontent-length: {}", body.len());
    let _ = write!(stream, "{head}\r\nconnection: close\r\n\r\n{body}");
}
