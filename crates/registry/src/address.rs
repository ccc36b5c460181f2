//! Addresses that may be asked.

use std::net::IpAddr;

use http::Uri;

use crate::flaw::{Flaw, Shown};
use crate::text::check_plain;

/// The registry everybody means.
pub const DEFAULT_REGISTRY: &str = "https://registry.modelcontextprotocol.io";

const MAX_URL_BYTES: usize = 2048;

/// Where a registry is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address(String);

/// The address of a registry is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the registry {0} cannot be used: MANIFOLD_REGISTRY must begin with https://, or http:// for one on this machine"
)]
pub struct AddressError(Shown);

impl Default for Address {
    fn default() -> Self {
        Self(DEFAULT_REGISTRY.to_owned())
    }
}

impl Address {
    /// Reads where a registry is; the address of its API's parent.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let error = || AddressError(Shown::new(text));
        let uri = check_url(text).map_err(|_| error())?;
        if uri.query().is_some() || text.contains('#') {
            return Err(error());
        }
        Ok(Self(text.trim_end_matches('/').to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Accepts an address that may be asked: https, or http on this machine; nobody's name and password in it.
pub(crate) fn check_url(text: &str) -> Result<Uri, Flaw> {
    check_plain(text, MAX_URL_BYTES)?;
    let flaw = || Flaw::Address(Shown::new(text));
    let uri: Uri = text.parse().map_err(|_| flaw())?;
    let (Some(scheme), Some(host), Some(authority)) = (uri.scheme_str(), uri.host(), uri.authority()) else {
        return Err(flaw());
    };
    let is_allowed = scheme == "https" || scheme == "http" && is_loopback(host);
    match is_allowed && !host.is_empty() && !authority.as_str().contains('@') {
        true => Ok(uri),
        false => Err(flaw()),
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registry_is_asked_by_https_or_on_this_machine() {
        for url in
            ["https://registry.example", "https://r.example/sub/", "http://127.0.0.1:8080", "http://[::1]:1"]
        {
            assert!(Address::parse(url).is_ok(), "{url}");
        }
        assert_eq!(Address::parse("http://localhost:1/x//").unwrap().as_str(), "http://localhost:1/x");
        let refused = [
            "http://registry.example",
            "ftp://registry.example",
            "file:///etc/passwd",
            "https://user:word@registry.example",
            "https://registry.example/?a=b",
            "http://127.0.0.1.evil.example",
            "http://localhost@evil.example",
            "registry.example",
            "https://",
            "",
            "https://a b",
            "javascript:alert(1)",
        ];
        for url in refused {
            assert!(Address::parse(url).is_err(), "{url}");
        }
    }
}
