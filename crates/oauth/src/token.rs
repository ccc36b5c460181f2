//! Requests to a token endpoint, and what is told by their answers.

mod answer;
mod assertion;
mod client_auth;

use std::time::Duration;

use crate::address::Reach;
use crate::clock::Clock;
use crate::http::{Body, Http, HttpError, Request, Response};
use crate::login::{LoginError, Refusal};
use crate::metadata::ServerMetadata;
use crate::record::Registration;
use crate::secret::Secret;
use crate::settings::Settings;
use crate::text;
use crate::url::Url;

pub(crate) use answer::Answer;
use client_auth::ClientAuth;

/// One issuer as we talk to it: who it is, who we are there.
pub(crate) struct Issuer<'a> {
    pub(crate) http: &'a dyn Http,
    pub(crate) clock: &'a dyn Clock,
    pub(crate) reach: Reach,
    pub(crate) settings: &'a Settings,
    pub(crate) metadata: &'a ServerMetadata,
    pub(crate) registration: &'a Registration,
}

/// Fields whose values are repeated by nobody.
const SECRET: [&str; 7] =
    ["code", "code_verifier", "refresh_token", "token", "device_code", "client_secret", "client_assertion"];

/// The fields of a form; a value may be secret.
pub(crate) type Fields<'a> = Vec<(&'a str, &'a str)>;

impl Issuer<'_> {
    /// Asks for a token.
    pub(crate) async fn token(&self, fields: Fields<'_>) -> Result<Answer, LoginError> {
        let endpoint = self.metadata.token_endpoint.as_deref();
        let url = self.endpoint(endpoint, "token endpoint")?;
        let host = url.authority();
        let response = self.post(url, &fields, "a token").await?;
        Answer::read(&host, &response.body, self.clock.wall())
    }

    /// Posts a form with our name on it. Anything but a success is an error; a body is not repeated.
    pub(crate) async fn post(
        &self,
        url: Url,
        fields: &Fields<'_>,
        what: &'static str,
    ) -> Result<Response, LoginError> {
        let method =
            ClientAuth::choose(self.registration, self.metadata, self.settings.private_key.is_some());
        let first = self.post_as(method, url.clone(), fields, what).await;
        let has_secret = self.registration.client_secret.as_ref().is_some_and(|secret| !secret.is_empty());
        match first {
            // Some give a secret, say that none is needed, and need it.
            Err(error)
                if method == ClientAuth::None && has_secret && error.code() == Some("invalid_client") =>
            {
                self.post_as(ClientAuth::Post, url, fields, what).await
            }
            outcome => outcome,
        }
    }

    async fn post_as(
        &self,
        method: ClientAuth,
        url: Url,
        fields: &Fields<'_>,
        what: &'static str,
    ) -> Result<Response, LoginError> {
        let mut fields = fields.clone();
        let registration = self.registration;
        let secret = registration.client_secret.as_ref().map_or("", Secret::expose);
        let assertion;
        let mut authorization = None;
        match method {
            ClientAuth::None => fields.push(("client_id", &registration.client_id)),
            ClientAuth::Post => {
                fields.extend([("client_id", registration.client_id.as_str()), ("client_secret", secret)])
            }
            ClientAuth::Basic => authorization = Some(client_auth::basic(&registration.client_id, secret)),
            ClientAuth::PrivateKey => {
                let key =
                    self.settings.private_key.as_ref().ok_or(LoginError::PrivateKey("there is none"))?;
                let issuer = &self.metadata.issuer;
                assertion = assertion::sign(key, &registration.client_id, issuer, self.clock.wall())?;
                fields.push(("client_assertion_type", assertion::KIND));
                fields.push(("client_assertion", assertion.expose()));
            }
        }
        let host = url.authority();
        let body = Body::Form(Secret::new(text::form(fields.iter().copied())));
        let mut request = Request::post(url, body, self.reach);
        if let Some(authorization) = authorization {
            request = request.header("authorization", authorization);
        }
        let response = self.http.send(request).await?;
        match response.status {
            200..300 => match refusal(&host, what, &response, &fields) {
                // Some refuse with 200 and an error inside.
                Some(refused) if refused.code.is_some() => Err(LoginError::Refused(refused)),
                _ => Ok(response),
            },
            429 | 500.. => Err(crate::discovery::unavailable(host, &response)),
            status => {
                let blank = Refusal { host: host.clone(), what, status, code: None, description: None };
                Err(LoginError::Refused(refusal(&host, what, &response, &fields).unwrap_or(blank)))
            }
        }
    }

    /// Returns an endpoint's address, judged.
    pub(crate) fn endpoint(&self, endpoint: Option<&str>, what: &'static str) -> Result<Url, LoginError> {
        let missing = || LoginError::NoEndpoint { issuer: self.metadata.issuer.clone(), what };
        let url = Url::parse(endpoint.ok_or_else(missing)?)?;
        self.reach.permits_url(&url).map_err(HttpError::from)?;
        Ok(url)
    }
}

/// Reads what an issuer says when it refuses. A description that repeats what we sent is dropped.
fn refusal(host: &str, what: &'static str, response: &Response, sent: &Fields<'_>) -> Option<Refusal> {
    #[derive(serde::Deserialize)]
    struct Told {
        error: Option<String>,
        error_description: Option<String>,
    }
    let told: Told = serde_json::from_slice(&response.body).ok()?;
    let is_secret = |name: &str| SECRET.contains(&name);
    let echoes = |text: &String| {
        sent.iter().any(|(name, value)| is_secret(name) && !value.is_empty() && text.contains(value))
    };
    Some(Refusal {
        host: host.to_owned(),
        what,
        status: response.status,
        code: told.error.filter(|code| text::is_error_code(code) && !echoes(code)),
        description: told.error_description.filter(|text| !echoes(text)).map(|text| text::shown(&text)),
    })
}

/// Returns how long an answer asks us to wait. A date is not worth a calendar: then we wait as we see fit.
pub(crate) fn retry_after(response: &Response) -> Option<Duration> {
    response.header("retry-after")?.trim().parse().ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests;
