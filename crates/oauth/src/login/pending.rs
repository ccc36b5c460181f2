//! A login with a browser, from the address that is opened to the credential.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::callback::{self, Outcome};
use super::{Context, Flow, Grant, LoginError, Refusal, Start};
use crate::random;
use crate::record::Credential;
use crate::secret::Secret;
use crate::settings::Pkce;
use crate::text;
use crate::url::Url;

/// How long the user has.
const LIFE: Duration = Duration::from_secs(600);

/// What an authorization request says of itself; the config adds to it and replaces none of it.
const OURS: [&str; 8] = [
    "response_type",
    "client_id",
    "redirect_uri",
    "scope",
    "state",
    "code_challenge",
    "code_challenge_method",
    "resource",
];

/// A login whose browser part is under way: verifier, state, issuer and all in one record.
pub struct Pending {
    flow: Flow,
    authorization_url: String,
    redirect_uri: String,
    state: Secret,
    verifier: Secret,
    /// By the clock that only goes forward.
    deadline: Duration,
    expires: u64,
    is_spent: AtomicBool,
}

/// Looks up who signs in where, registers us if need be, and makes the address to open.
pub async fn begin(context: &Context, start: Start) -> Result<Pending, LoginError> {
    let redirect = Url::parse(&start.redirect_uri)?;
    if !redirect.is_loopback() && !redirect.as_str().starts_with("https://") {
        return Err(LoginError::Url(crate::url::BadUrl::Scheme));
    }
    let flow = Flow::prepare(context, &start, Grant::Code).await?;
    let metadata = &flow.found.metadata;
    if !metadata.lists_s256() && context.settings.pkce == Pkce::Required {
        return Err(LoginError::NoPkce { issuer: metadata.issuer.clone() });
    }
    let endpoint =
        flow.issuer().endpoint(metadata.authorization_endpoint.as_deref(), "authorization endpoint")?;
    let (state, verifier) = (random::token()?, random::token()?);
    let query = query(&flow, &start.redirect_uri, &state, &random::challenge(&verifier));
    Ok(Pending {
        authorization_url: endpoint.with_query(&query),
        redirect_uri: start.redirect_uri,
        state,
        verifier,
        deadline: context.clock.now() + LIFE,
        expires: context.clock.wall() + LIFE.as_secs(),
        is_spent: AtomicBool::new(false),
        flow,
    })
}

fn query(flow: &Flow, redirect_uri: &str, state: &Secret, challenge: &str) -> String {
    let scope = flow.scopes.join(" ");
    let mut fields = vec![
        ("response_type", "code"),
        ("client_id", flow.registration.client_id.as_str()),
        ("redirect_uri", redirect_uri),
        ("state", state.expose()),
        ("code_challenge", challenge),
        ("code_challenge_method", "S256"),
    ];
    fields.extend((!scope.is_empty()).then_some(("scope", scope.as_str())));
    fields.extend(flow.found.resource.as_deref().map(|resource| ("resource", resource)));
    let more = flow.context.settings.params.iter().filter(|(name, _)| !OURS.contains(&name.as_str()));
    fields.extend(more.map(|(name, value)| (name.as_str(), value.as_str())));
    text::form(fields)
}

impl Pending {
    /// Returns what is opened in a browser.
    pub fn authorization_url(&self) -> &str {
        &self.authorization_url
    }

    pub fn redirect_uri(&self) -> &str {
        &self.redirect_uri
    }

    /// Returns who is signed in with.
    pub fn issuer(&self) -> &str {
        &self.flow.found.metadata.issuer
    }

    /// Returns the scopes that are asked for.
    pub fn scopes(&self) -> &[String] {
        &self.flow.scopes
    }

    /// Returns the state by which a callback is known, where one listener serves several logins.
    pub fn state(&self) -> &Secret {
        &self.state
    }

    /// Returns when it ends, in seconds since 1970.
    pub fn expires(&self) -> u64 {
        self.expires
    }

    /// Takes a callback: its query, or the whole address as it is pasted. [`LoginError::Callback`] leaves the login
    /// open; anything else ends it.
    pub async fn finish(&self, callback: &str) -> Result<Credential, LoginError> {
        if self.flow.context.clock.now() >= self.deadline {
            return Err(LoginError::Expired);
        }
        let metadata = &self.flow.found.metadata;
        let expected = callback::Expected {
            redirect_uri: &self.redirect_uri,
            state: &self.state,
            issuer: &metadata.issuer,
            always_says_issuer: metadata.authorization_response_iss_parameter_supported,
        };
        // Only a callback that is this login's own, by state and issuer, uses it up.
        let outcome = expected.read(callback)?;
        if self.is_spent.swap(true, Ordering::SeqCst) {
            return Err(LoginError::Spent);
        }
        let code = match outcome {
            Outcome::Code(code) => code,
            Outcome::Error { code, description } => {
                let host = Url::parse(&metadata.issuer).map(|url| url.authority()).unwrap_or_default();
                return Err(LoginError::Refused(Refusal {
                    host,
                    what: "the login",
                    status: 0,
                    code,
                    description,
                }));
            }
        };
        let fields = vec![
            ("grant_type", "authorization_code"),
            ("code", code.expose()),
            ("redirect_uri", self.redirect_uri.as_str()),
            ("code_verifier", self.verifier.expose()),
        ];
        self.flow.exchange(fields).await
    }
}

impl fmt::Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending")
            .field("issuer", &self.issuer())
            .field("expires", &self.expires)
            .finish_non_exhaustive()
    }
}
