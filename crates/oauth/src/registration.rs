//! Who we are to an issuer: the client of the config, our metadata document, or one registered for the purpose.

use serde::{Deserialize, Serialize};

use crate::address::Reach;
use crate::clock::Clock;
use crate::http::{Body, Http, HttpError, Request, Response};
use crate::login::{LoginError, Refusal};
use crate::metadata::ServerMetadata;
use crate::record::{ClientSource, Credential, Registration};
use crate::secret::Secret;
use crate::settings::{Grant, Settings};
use crate::text;
use crate::url::Url;

/// What we are called where the config has no other name for us.
const CLIENT_NAME: &str = "Manifold";
pub(crate) const DEVICE_GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// What a registration depends on.
pub(crate) struct Registrar<'a> {
    pub(crate) http: &'a dyn Http,
    pub(crate) clock: &'a dyn Clock,
    pub(crate) reach: Reach,
    pub(crate) settings: &'a Settings,
    pub(crate) metadata: &'a ServerMetadata,
    pub(crate) redirect_uri: Option<&'a str>,
    pub(crate) grant: Grant,
    /// What is stored, whatever issuer it is of.
    pub(crate) known: Option<&'a Credential>,
    /// Our document was refused a moment ago.
    pub(crate) without_document: bool,
}

impl Registrar<'_> {
    /// Returns the client to use: configured, by document, one we have, or a new one.
    pub(crate) async fn client(&self) -> Result<Registration, LoginError> {
        if let Some(id) = &self.settings.client_id {
            self.check_bound()?;
            let registration = blank(ClientSource::Configured, id);
            return Ok(Registration { client_secret: self.settings.client_secret.clone(), ..registration });
        }
        let needs_id = |why: &str| LoginError::NeedsClientId {
            issuer: self.metadata.issuer.clone(),
            why: why.to_owned(),
        };
        if self.grant == Grant::ClientCredentials {
            return Err(needs_id("client credentials are registered by hand"));
        }
        if let Some(url) = self.document() {
            return Ok(blank(ClientSource::MetadataDocument, url));
        }
        if let Some(known) = self.reusable() {
            return Ok(known.clone());
        }
        match &self.metadata.registration_endpoint {
            Some(endpoint) => self.register(endpoint).await,
            None => Err(needs_id("it registers nobody")),
        }
    }

    /// A client that was registered by hand belongs to the issuer it was registered at.
    fn check_bound(&self) -> Result<(), LoginError> {
        let known = self.known.filter(|known| known.registration.source == ClientSource::Configured);
        let same_id =
            known.filter(|known| Some(&known.registration.client_id) == self.settings.client_id.as_ref());
        match same_id {
            Some(known) if known.issuer != self.metadata.issuer && self.settings.issuer.is_none() => {
                Err(LoginError::IssuerRefused {
                    expected: known.issuer.clone(),
                    got: text::shown(&self.metadata.issuer),
                })
            }
            _ => Ok(()),
        }
    }

    /// The address of our document, where such are taken and ours was not refused.
    fn document(&self) -> Option<&str> {
        let was_refused = self.without_document
            || self.of_this_issuer().is_some_and(|known| {
                known.registration.is_refused && known.registration.source == ClientSource::MetadataDocument
            });
        let url = self.settings.client_metadata_url.as_deref()?;
        let is_url =
            Url::parse(url).is_ok_and(|url| url.as_str().starts_with("https://") && url.path().len() > 1);
        (self.metadata.client_id_metadata_document_supported && is_url && !was_refused).then_some(url)
    }

    /// A registration of ours that still fits: one per issuer is enough for ever.
    fn reusable(&self) -> Option<&Registration> {
        let known = self.of_this_issuer()?;
        let registration = &known.registration;
        let now = self.clock.wall();
        let is_good = registration.client_secret_expires_at.is_none_or(|end| end == 0 || end > now + 60);
        let fits = match self.redirect_uri {
            None => known.grant == self.grant,
            Some(uri) => {
                registration.redirect_uris.iter().any(|registered| is_same_but_port(registered, uri))
            }
        };
        let is_ours = registration.source == ClientSource::Registered && !registration.is_refused;
        (is_ours && is_good && fits).then_some(registration)
    }

    fn of_this_issuer(&self) -> Option<&Credential> {
        self.known.filter(|known| known.issuer == self.metadata.issuer)
    }

    async fn register(&self, endpoint: &str) -> Result<Registration, LoginError> {
        let url = Url::parse(endpoint)?;
        self.reach.permits_url(&url).map_err(HttpError::from)?;
        let host = url.authority();
        let wish = serde_json::to_string(&self.wish()).unwrap_or_default();
        let response = self.http.send(Request::post(url, Body::Json(Secret::new(wish)), self.reach)).await?;
        match response.status {
            200..300 => self.read(&host, &response),
            429 | 500.. => Err(crate::discovery::unavailable(host, &response)),
            _ => Err(LoginError::Refused(refusal(host, &response))),
        }
    }

    fn wish(&self) -> Wish<'_> {
        let mut grant_types = match self.grant {
            Grant::Device => vec![DEVICE_GRANT],
            _ => vec!["authorization_code"],
        };
        let listed = self.metadata.grant_types_supported.as_deref();
        let is_listed = listed.is_none_or(|listed| listed.iter().any(|grant| grant == "refresh_token"));
        if is_listed || self.metadata.lists_scope("offline_access") {
            grant_types.push("refresh_token");
        }
        // A web page of ours has an address of its own; anything else of ours runs on the user's machine.
        let is_web = self.redirect_uri.is_some_and(|uri| uri.starts_with("https://"));
        Wish {
            client_name: self.settings.client_name.as_deref().unwrap_or(CLIENT_NAME),
            redirect_uris: self.redirect_uri.into_iter().collect(),
            response_types: if self.redirect_uri.is_some() { &["code"] } else { &[] },
            grant_types,
            token_endpoint_auth_method: self.method(),
            application_type: if is_web { "web" } else { "native" },
        }
    }

    /// A program on a user's machine keeps no secret of its own, where the issuer can do without.
    fn method(&self) -> &'static str {
        let Some(listed) = &self.metadata.token_endpoint_auth_methods_supported else { return "none" };
        let methods = ["none", "client_secret_basic", "client_secret_post"];
        methods.into_iter().find(|method| listed.iter().any(|at| at == method)).unwrap_or("none")
    }

    fn read(&self, host: &str, response: &Response) -> Result<Registration, LoginError> {
        let bad = || LoginError::Metadata {
            host: host.to_owned(),
            path: "the registration endpoint".to_owned(),
            why: "the answer has no client id".to_owned(),
        };
        let given: Given = serde_json::from_slice(&response.body).map_err(|_| bad())?;
        if given.client_id.is_empty() {
            return Err(bad());
        }
        let redirect_uris = self.redirect_uri.map(str::to_owned).into_iter().collect();
        Ok(Registration {
            client_secret: given.client_secret.filter(|secret| !secret.is_empty()),
            client_secret_expires_at: given.client_secret_expires_at,
            token_endpoint_auth_method: given.token_endpoint_auth_method,
            registration_access_token: given.registration_access_token,
            registration_client_uri: given.registration_client_uri,
            redirect_uris,
            answer: Some(Secret::new(String::from_utf8_lossy(&response.body))),
            ..blank(ClientSource::Registered, &given.client_id)
        })
    }
}

#[derive(Serialize)]
struct Wish<'a> {
    client_name: &'a str,
    redirect_uris: Vec<&'a str>,
    grant_types: Vec<&'static str>,
    response_types: &'static [&'static str],
    token_endpoint_auth_method: &'static str,
    application_type: &'static str,
}

#[derive(Deserialize)]
struct Given {
    client_id: String,
    client_secret: Option<Secret>,
    client_secret_expires_at: Option<u64>,
    token_endpoint_auth_method: Option<String>,
    registration_access_token: Option<Secret>,
    registration_client_uri: Option<String>,
}

fn blank(source: ClientSource, id: &str) -> Registration {
    Registration {
        source,
        client_id: id.to_owned(),
        client_secret: None,
        client_secret_expires_at: None,
        token_endpoint_auth_method: None,
        registration_access_token: None,
        registration_client_uri: None,
        redirect_uris: Vec::new(),
        answer: None,
        is_refused: false,
    }
}

/// Says why we are not registered, also where the reason is plain text.
fn refusal(host: String, response: &Response) -> Refusal {
    #[derive(Deserialize)]
    struct Told {
        error: Option<String>,
        error_description: Option<String>,
    }
    let what = "to register us";
    let status = response.status;
    match serde_json::from_slice::<Told>(&response.body) {
        Ok(told) => {
            let code = told.error.filter(|code| text::is_error_code(code));
            Refusal {
                host,
                what,
                status,
                code,
                description: told.error_description.map(|text| text::shown(&text)),
            }
        }
        Err(_) => {
            let text = text::shown(&String::from_utf8_lossy(&response.body));
            let description = Some(text).filter(|text| !text.is_empty() && !text.starts_with('<'));
            Refusal { host, what, status, code: None, description }
        }
    }
}

/// A redirect to this machine may have any port (RFC 8252, section 7.3); any other must be the registered one.
fn is_same_but_port(registered: &str, wanted: &str) -> bool {
    let same_host = |one: &Url, other: &Url| {
        one.scheme() == other.scheme()
            && one.host() == other.host()
            && one.path() == other.path()
            && one.query() == other.query()
    };
    match (Url::parse(registered), Url::parse(wanted)) {
        (Ok(one), Ok(other)) => registered == wanted || (one.is_loopback() && same_host(&one, &other)),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
