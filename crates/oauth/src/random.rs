//! What nobody can guess.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::login::LoginError;
use crate::secret::Secret;

/// Returns 256 random bits as text for a URL.
pub(crate) fn token() -> Result<Secret, LoginError> {
    let mut bytes = Zeroizing::new([0_u8; 32]);
    getrandom::fill(bytes.as_mut()).map_err(|_| LoginError::NoRandomness)?;
    Ok(Secret::new(URL_SAFE_NO_PAD.encode(bytes.as_ref())))
}

/// Returns the S256 challenge of a verifier (RFC 7636, section 4.2).
pub(crate) fn challenge(verifier: &Secret) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.expose().as_bytes()))
}

/// Returns a factor between `1 - spread` and `1 + spread`, so that many do not do the same at once.
pub(crate) fn jitter(spread: f64) -> f64 {
    let mut bytes = [0_u8; 2];
    let _ = getrandom::fill(&mut bytes);
    1.0 - spread + 2.0 * spread * f64::from(u16::from_le_bytes(bytes)) / f64::from(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_standard() {
        let verifier = Secret::new("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
        assert_eq!(challenge(&verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        assert_eq!(token().unwrap().expose().len(), 43);
        assert!((0..100).map(|_| jitter(0.05)).all(|factor| (0.95..=1.05).contains(&factor)));
    }
}
