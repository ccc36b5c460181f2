//! An authorization server's metadata (RFC 8414, OpenID Connect Discovery): five places, one issuer.

use super::{Discovery, exceptions};
use crate::login::LoginError;
use crate::metadata::{ResourceMetadata, ServerMetadata};
use crate::url::Url;

const OAUTH: &str = "/.well-known/oauth-authorization-server";
const OPENID: &str = "/.well-known/openid-configuration";

impl Discovery<'_> {
    /// Finds the metadata of the authorization server we use.
    pub(super) async fn server_metadata(
        &self,
        resource: Option<&ResourceMetadata>,
    ) -> Result<ServerMetadata, LoginError> {
        let listed = self.candidates(resource);
        let mut first_error = None;
        for issuer in &listed {
            match self.metadata_of(issuer).await {
                Ok(Some(metadata)) => return self.trusted(metadata),
                Ok(None) => {
                    let why = "there is no such document".to_owned();
                    let host = Url::parse(issuer).map(|url| url.authority()).unwrap_or_default();
                    first_error.get_or_insert(LoginError::Metadata { host, path: OAUTH.to_owned(), why });
                }
                // One that may answer later is waited for: another in its place would be a switch nobody asked for.
                Err(error) if error.is_transient() => return Err(error),
                Err(error) => {
                    first_error.get_or_insert(error);
                }
            }
        }
        if resource.is_none() && self.settings.assume_endpoints {
            return Ok(self.assumed());
        }
        match (resource, first_error) {
            (Some(_), Some(error))
            | (None, Some(error @ (LoginError::IssuerRefused { .. } | LoginError::Http(_)))) => Err(error),
            _ => Err(LoginError::NoAuthorizationServer),
        }
    }

    /// Which issuers may be used, the best first. A server of before metadata is its own.
    fn candidates(&self, resource: Option<&ResourceMetadata>) -> Vec<String> {
        let Some(resource) = resource else {
            return vec![self.settings.issuer.clone().unwrap_or_else(|| self.server.origin())];
        };
        let mut listed = resource.authorization_servers.clone();
        let is_preferred = |issuer: &String| {
            let is = |wanted: &str| is_same(issuer, wanted) || exceptions::allows(issuer, wanted);
            self.settings.issuer.as_deref().or(self.known_issuer).is_some_and(is)
        };
        listed.sort_by_key(|issuer| !is_preferred(issuer));
        listed.truncate(5);
        listed
    }

    async fn metadata_of(&self, issuer: &str) -> Result<Option<ServerMetadata>, LoginError> {
        for place in places(&Url::parse(issuer)?) {
            let Some(response) = self.document(&place).await? else { continue };
            let Ok(metadata) = serde_json::from_slice::<ServerMetadata>(&response.body) else { continue };
            self.check_issuer(issuer, &metadata)?;
            return Ok(Some(metadata));
        }
        Ok(None)
    }

    /// The document must be of the issuer it was asked for (RFC 8414, section 3.3), or of the one other that the
    /// config trusts, or of a provider known to break the rule.
    fn check_issuer(&self, asked: &str, metadata: &ServerMetadata) -> Result<(), LoginError> {
        let got = metadata.issuer.as_str();
        let is_trusted = self.settings.issuer.as_deref() == Some(got);
        if is_same(asked, got) || is_trusted || exceptions::allows(asked, got) {
            return Ok(());
        }
        Err(LoginError::IssuerRefused { expected: asked.to_owned(), got: crate::text::shown(got) })
    }

    /// Judges what was found against what is configured, and where it would send us.
    fn trusted(&self, metadata: ServerMetadata) -> Result<ServerMetadata, LoginError> {
        if let Some(configured) = &self.settings.issuer
            && !is_same(configured, &metadata.issuer)
        {
            let got = crate::text::shown(&metadata.issuer);
            return Err(LoginError::IssuerRefused { expected: configured.clone(), got });
        }
        for endpoint in endpoints(&metadata) {
            let url = Url::parse(endpoint)?;
            self.reach().permits_url(&url).map_err(crate::http::HttpError::from)?;
        }
        // Who does not say which issuer answered, and sends the browser to another's page, could have that one's codes
        // brought to itself: the mix-up of RFC 9207, section 1.
        let issuer = Url::parse(&metadata.issuer)?;
        let page = metadata.authorization_endpoint.as_deref().map(Url::parse).transpose()?;
        let is_bound = metadata.authorization_response_iss_parameter_supported
            || self.settings.issuer.is_some()
            || exceptions::knows(&metadata.issuer)
            || page.is_none_or(|page| page.is_same_origin(&issuer));
        if is_bound { Ok(metadata) } else { Err(LoginError::EndpointsElsewhere { issuer: metadata.issuer }) }
    }

    /// What servers of March 2025 had without saying so; by config alone.
    fn assumed(&self) -> ServerMetadata {
        let origin = self.server.origin();
        ServerMetadata {
            authorization_endpoint: Some(format!("{origin}/authorize")),
            token_endpoint: Some(format!("{origin}/token")),
            registration_endpoint: Some(format!("{origin}/register")),
            code_challenge_methods_supported: Some(vec!["S256".to_owned()]),
            issuer: origin,
            ..ServerMetadata::default()
        }
    }
}

/// Where an issuer's metadata may lie, in order.
fn places(issuer: &Url) -> Vec<String> {
    let origin = issuer.origin();
    match issuer.path().strip_suffix('/').unwrap_or(issuer.path()) {
        "" => vec![format!("{origin}{OAUTH}"), format!("{origin}{OPENID}")],
        path => vec![
            format!("{origin}{OAUTH}{path}"),
            format!("{origin}{OPENID}{path}"),
            format!("{origin}{path}{OPENID}"),
        ],
    }
}

/// Tells whether two issuers are one: byte for byte, but for a bare slash after the host, which several add. This is
/// for metadata alone: what comes with a callback is compared without any folding.
pub(crate) fn is_same(one: &str, other: &str) -> bool {
    let is_root = |short: &str, long: &str| {
        long.strip_suffix('/') == Some(short)
            && Url::parse(long).is_ok_and(|url| url.path() == "/" && url.query().is_none())
    };
    one == other || is_root(one, other) || is_root(other, one)
}

fn endpoints(metadata: &ServerMetadata) -> impl Iterator<Item = &str> {
    let all = [
        &metadata.authorization_endpoint,
        &metadata.token_endpoint,
        &metadata.registration_endpoint,
        &metadata.revocation_endpoint,
        &metadata.device_authorization_endpoint,
    ];
    all.into_iter().filter_map(|endpoint| endpoint.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As rmcp 3.8 has it (`generate_discovery_urls`), but for what it adds at the end: the root of the host may be another
    /// issuer's.
    #[test]
    fn places_are_those_that_rmcp_looks_at() {
        let (oauth, openid) = (".well-known/oauth-authorization-server", ".well-known/openid-configuration");
        let check = |issuer: &str, expected: &[String]| {
            assert_eq!(places(&Url::parse(issuer).unwrap()), expected, "{issuer}");
        };
        let host = "https://auth.example.com";
        check(host, &[format!("{host}/{oauth}"), format!("{host}/{openid}")]);
        for (issuer, path) in [
            ("https://auth.example.com/tenant1", "tenant1"),
            ("https://auth.example.com/v1/mcp/", "v1/mcp"),
            ("https://auth.example.com/tenant1/subtenant", "tenant1/subtenant"),
        ] {
            let places = [format!("{oauth}/{path}"), format!("{openid}/{path}"), format!("{path}/{openid}")];
            check(issuer, &places.map(|place| format!("{host}/{place}")));
        }
    }
}
