//! A signed statement of who we are (RFC 7523, section 2.2), for those who gave us no secret but know our key.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeyPair as RsaKeyPair;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm,
    Ed25519KeyPair, RSA_PKCS1_SHA256,
};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use zeroize::Zeroizing;

use crate::login::LoginError;
use crate::random;
use crate::secret::Secret;

/// What `client_assertion_type` says.
pub(super) const KIND: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// How long a statement is good, in seconds.
const LIFE: u64 = 60;

/// Signs that we are `client`, for `issuer`. The key says by which algorithm.
pub(super) fn sign(key: &Secret, client: &str, issuer: &str, now: u64) -> Result<Secret, LoginError> {
    let key = Key::read(key)?;
    let id = random::token()?;
    let claims = serde_json::json!({
        "iss": client, "sub": client, "aud": issuer, "iat": now, "exp": now + LIFE, "jti": id.expose(),
    });
    let header = serde_json::json!({ "alg": key.algorithm(), "typ": "JWT" });
    let encode = |value: &serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", encode(&header), encode(&claims));
    let signature = key.sign(signed.as_bytes())?;
    Ok(Secret::new(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))))
}

enum Key {
    P256(EcdsaKeyPair),
    P384(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
    Rsa(RsaKeyPair),
}

impl Key {
    fn read(pem: &Secret) -> Result<Self, LoginError> {
        let der = der(pem.expose()).ok_or(LoginError::PrivateKey("it is not in PEM"))?;
        let ec = |kind: &'static EcdsaSigningAlgorithm| {
            EcdsaKeyPair::from_pkcs8(kind, &der)
                .or_else(|_| EcdsaKeyPair::from_private_key_der(kind, &der))
                .ok()
        };
        let ed25519 = || Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der).ok();
        let rsa = || RsaKeyPair::from_pkcs8(&der).or_else(|_| RsaKeyPair::from_der(&der)).ok();
        ec(&ECDSA_P256_SHA256_FIXED_SIGNING)
            .map(Self::P256)
            .or_else(|| ec(&ECDSA_P384_SHA384_FIXED_SIGNING).map(Self::P384))
            .or_else(|| ed25519().map(Self::Ed25519))
            .or_else(|| rsa().map(Self::Rsa))
            .ok_or(LoginError::PrivateKey("it is none of P-256, P-384, Ed25519 and RSA"))
    }

    fn algorithm(&self) -> &'static str {
        match self {
            Self::P256(_) => "ES256",
            Self::P384(_) => "ES384",
            Self::Ed25519(_) => "EdDSA",
            Self::Rsa(_) => "RS256",
        }
    }

    fn sign(&self, text: &[u8]) -> Result<Vec<u8>, LoginError> {
        let failed = |_| LoginError::PrivateKey("it does not sign");
        let random = SystemRandom::new();
        match self {
            Self::P256(key) | Self::P384(key) => {
                key.sign(&random, text).map(|signature| signature.as_ref().to_vec()).map_err(failed)
            }
            Self::Ed25519(key) => Ok(key.sign(text).as_ref().to_vec()),
            Self::Rsa(key) => {
                let mut signature = vec![0; key.public_modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &random, text, &mut signature).map_err(failed)?;
                Ok(signature)
            }
        }
    }
}

/// Returns what is between the lines of a PEM file.
fn der(pem: &str) -> Option<Zeroizing<Vec<u8>>> {
    let begin = pem
        .lines()
        .skip_while(|line| !(line.starts_with("-----BEGIN ") && line.contains("PRIVATE KEY-----")));
    let body = begin.skip(1).take_while(|line| !line.starts_with("-----END ")).map(str::trim);
    let text = Zeroizing::new(body.collect::<String>());
    STANDARD.decode(text.as_bytes()).ok().filter(|der| !der.is_empty()).map(Zeroizing::new)
}
