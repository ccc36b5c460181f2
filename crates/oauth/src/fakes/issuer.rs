//! An authorization server that rotates refresh tokens, and misbehaves as it is told.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::{FakeClock, ISSUER, SERVER, field, json};
use crate::clock::Clock;
use crate::http::{HttpError, Method, Request, Response};

/// What it does. Everything can be changed while it runs.
#[derive(Clone)]
pub(crate) struct Rules {
    /// Seconds an access token lives; `None`: it does not say.
    pub(crate) life: Option<u64>,
    /// How long a spent refresh token is still taken.
    pub(crate) grace: Duration,
    pub(crate) gives_refresh: bool,
    /// Takes back refresh tokens alone.
    pub(crate) keeps_access: bool,
    /// What every token request is answered with instead, and how often.
    pub(crate) instead: Option<(u16, &'static str)>,
    /// The answer is lost after the token was rotated.
    pub(crate) loses_answers: bool,
    pub(crate) resource: String,
    pub(crate) issuer: &'static str,
    /// Put into the metadata of the authorization server, over what is there.
    pub(crate) metadata: &'static str,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            life: Some(3600),
            grace: Duration::ZERO,
            gives_refresh: true,
            keeps_access: false,
            instead: None,
            loses_answers: false,
            resource: SERVER.to_owned(),
            issuer: ISSUER,
            metadata: "{}",
        }
    }
}

pub(crate) struct FakeIssuer {
    pub(crate) rules: Mutex<Rules>,
    clock: Arc<FakeClock>,
    state: Mutex<Issued>,
}

#[derive(Default)]
struct Issued {
    count: u64,
    /// Refresh tokens, and when each was spent.
    refresh: BTreeMap<String, Option<Duration>>,
    access: Vec<String>,
    /// Grants asked for, one entry for each token request.
    asked: Vec<String>,
    revoked: Vec<String>,
}

impl FakeIssuer {
    pub(crate) fn new(rules: Rules, clock: Arc<FakeClock>) -> Self {
        Self { rules: Mutex::new(rules), clock, state: Mutex::default() }
    }

    pub(crate) fn rules(&self, change: impl FnOnce(&mut Rules)) {
        change(&mut self.rules.lock().unwrap());
    }

    /// How often a token was asked for by that grant.
    pub(crate) fn asked(&self, grant: &str) -> usize {
        self.state.lock().unwrap().asked.iter().filter(|at| at.as_str() == grant).count()
    }

    pub(crate) fn revoked(&self) -> Vec<String> {
        self.state.lock().unwrap().revoked.clone()
    }

    /// What a server of this issuer says to a token.
    pub(crate) fn lets_in(&self, header: &str) -> bool {
        let newest = self.state.lock().unwrap().access.last().cloned();
        newest.is_some_and(|newest| header == format!("Bearer {newest}"))
    }

    /// A user who agrees: returns the query of the callback.
    pub(crate) fn consent(&self, authorization_url: &str) -> String {
        let (_, query) = authorization_url.split_once('?').unwrap();
        let fields = crate::text::fields(query).unwrap();
        let state = &fields.iter().find(|(name, _)| name == "state").unwrap().1;
        format!("code=the-code&state={state}")
    }

    pub(crate) fn answer(&self, request: &Request) -> Result<Response, HttpError> {
        let rules = self.rules.lock().unwrap().clone();
        let issuer = rules.issuer;
        let Some(path) = request.url.as_str().strip_prefix(issuer) else {
            return Ok(self.resource(request, &rules));
        };
        Ok(match path {
            "/.well-known/oauth-authorization-server" => json(200, &metadata(&rules)),
            "/register" => json(
                201,
                r#"{"client_id":"registered-id","client_secret":"registered-secret","token_endpoint_auth_method":"client_secret_post","registration_access_token":"registration-token","registration_client_uri":"https://as.example/register/1","client_secret_expires_at":0,"extra":[1]}"#,
            ),
            "/register/1" if request.method == Method::Delete => json(204, ""),
            "/token" => return self.token(request, &rules),
            "/revoke"
                if rules.keeps_access
                    && field(request, "token_type_hint").as_deref() == Some("access_token") =>
            {
                json(400, r#"{"error":"unsupported_token_type"}"#)
            }
            "/revoke" => {
                self.state.lock().unwrap().revoked.extend(field(request, "token"));
                json(200, "")
            }
            "/device" => json(
                200,
                r#"{"device_code":"device-secret","user_code":"ABCD-EFGH","verification_uri":"https://as.example/activate","expires_in":600,"interval":5}"#,
            ),
            _ => json(404, ""),
        })
    }

    fn resource(&self, request: &Request, rules: &Rules) -> Response {
        if request.url.as_str() != "https://mcp.example/.well-known/oauth-protected-resource/mcp" {
            return json(404, "");
        }
        let (resource, issuer) = (&rules.resource, rules.issuer);
        json(
            200,
            &format!(
                r#"{{"resource":"{resource}","authorization_servers":["{issuer}"],"scopes_supported":["read","write"]}}"#
            ),
        )
    }

    fn token(&self, request: &Request, rules: &Rules) -> Result<Response, HttpError> {
        let mut state = self.state.lock().unwrap();
        let grant = field(request, "grant_type").unwrap_or_default();
        state.asked.push(grant.clone());
        if let Some((status, body)) = rules.instead {
            return Ok(json(status, body));
        }
        let now = self.clock.now();
        if grant == "refresh_token" {
            let sent = field(request, "refresh_token").unwrap();
            match state.refresh.get_mut(&sent) {
                Some(spent @ None) => *spent = Some(now),
                Some(Some(at)) if now.saturating_sub(*at) < rules.grace => {}
                // Whoever uses a spent token ends all of them.
                _ => {
                    state.refresh.clear();
                    return Ok(json(
                        400,
                        r#"{"error":"invalid_grant","error_description":"the grant is gone"}"#,
                    ));
                }
            }
        }
        state.count += 1;
        let (access, refresh) = (format!("access-{}", state.count), format!("refresh-{}", state.count));
        state.access.push(access.clone());
        let mut body = format!(r#"{{"access_token":"{access}","token_type":"bearer","id_token":"id-canary""#);
        if rules.gives_refresh && grant != "client_credentials" {
            state.refresh.insert(refresh.clone(), None);
            body.push_str(&format!(r#","refresh_token":"{refresh}""#));
        }
        if let Some(life) = rules.life {
            body.push_str(&format!(r#","expires_in":{life}"#));
        }
        body.push('}');
        if rules.loses_answers {
            return Err(HttpError::TimedOut { host: request.url.authority() });
        }
        Ok(json(200, &body))
    }
}

fn metadata(rules: &Rules) -> String {
    let issuer = rules.issuer;
    let mut document: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&format!(
        r#"{{"issuer":"{issuer}","authorization_endpoint":"{issuer}/authorize","token_endpoint":"{issuer}/token",
        "registration_endpoint":"{issuer}/register","revocation_endpoint":"{issuer}/revoke",
        "device_authorization_endpoint":"{issuer}/device","code_challenge_methods_supported":["S256"]}}"#
    ))
    .unwrap();
    let more: serde_json::Map<String, serde_json::Value> = serde_json::from_str(rules.metadata).unwrap();
    document.extend(more);
    document.retain(|_, value| !value.is_null());
    serde_json::to_string(&document).unwrap()
}
