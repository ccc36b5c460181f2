//! Providers whose metadata names another issuer than it should, each with its reason, in `exceptions.json`.
//!
//! An entry trusts one pair and nothing else: that what is listed as `listed` calls itself `issuer`.

use std::sync::LazyLock;

use serde::Deserialize;

use super::issuer::is_same;

#[derive(Debug, Deserialize)]
struct Exception {
    listed: String,
    issuer: String,
    #[cfg_attr(not(test), expect(dead_code, reason = "for whoever reads the file"))]
    provider: String,
    #[cfg_attr(not(test), expect(dead_code, reason = "for whoever reads the file"))]
    reason: String,
}

static EXCEPTIONS: LazyLock<Vec<Exception>> =
    LazyLock::new(|| serde_json::from_str(include_str!("exceptions.json")).unwrap_or_default());

/// Tells whether what is listed as `listed` may call itself `issuer`.
pub(super) fn allows(listed: &str, issuer: &str) -> bool {
    EXCEPTIONS.iter().any(|exception| is_same(&exception.listed, listed) && exception.issuer == issuer)
}

/// Tells whether this issuer is one of theirs, whose endpoints are where they are.
pub(super) fn knows(issuer: &str) -> bool {
    EXCEPTIONS.iter().any(|exception| exception.issuer == issuer || is_same(&exception.listed, issuer))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::url::Url;

    #[test]
    fn every_exception_is_a_pair_with_a_reason() {
        assert_eq!(EXCEPTIONS.len(), 5);
        for exception in EXCEPTIONS.iter() {
            assert!(Url::parse(&exception.listed).is_ok() && Url::parse(&exception.issuer).is_ok());
            assert!(!is_same(&exception.listed, &exception.issuer), "{} needs none", exception.provider);
            assert!(exception.reason.len() > 20);
        }
    }

    #[test]
    fn a_pair_is_trusted_and_nothing_near_it() {
        assert!(allows("https://mcp.slack.com", "https://slack.com"));
        assert!(!allows("https://mcp.slack.com", "https://slack.com.evil"));
        assert!(!allows("https://evil.example", "https://slack.com"));
        assert!(!allows("https://auth.atlassian.com/other", "https://auth.atlassian.com"));
    }
}
