//! Signing in with another device (RFC 8628), for machines without a browser.

use std::fmt;
use std::time::Duration;

use serde::Deserialize;

use super::{Context, Flow, Grant, LoginError, Start};
use crate::record::Credential;
use crate::registration::DEVICE_GRANT;
use crate::secret::Secret;
use crate::text;
use crate::url::Url;

/// How often is asked where the issuer does not say.
const INTERVAL: u64 = 5;
/// By how much an issuer that says so is asked less often.
const SLOWER: Duration = Duration::from_secs(5);
const LONGEST_INTERVAL: Duration = Duration::from_secs(300);
/// No code lives longer for us.
const MAX_LIFE: u64 = 3600;

/// A login that the user finishes on another device.
pub struct DeviceLogin {
    flow: Flow,
    device_code: Secret,
    user_code: String,
    verification_uri: String,
    verification_uri_complete: Option<String>,
    interval: Duration,
    /// By the clock that only goes forward.
    deadline: Duration,
    expires: u64,
}

#[derive(Deserialize)]
struct Given {
    device_code: Secret,
    user_code: String,
    #[serde(alias = "verification_url")]
    verification_uri: String,
    verification_uri_complete: Option<String>,
    expires_in: u64,
    interval: Option<u64>,
}

impl DeviceLogin {
    /// Asks for a code. `start.redirect_uri` is not used.
    pub async fn begin(context: &Context, start: Start) -> Result<Self, LoginError> {
        let flow = Flow::prepare(context, &start, Grant::Device).await?;
        let metadata = &flow.found.metadata;
        let issuer = flow.issuer();
        let url = issuer
            .endpoint(metadata.device_authorization_endpoint.as_deref(), "device authorization endpoint")?;
        let host = url.authority();
        let scope = flow.scopes.join(" ");
        let mut fields = Vec::new();
        fields.extend((!scope.is_empty()).then_some(("scope", scope.as_str())));
        fields.extend(flow.found.resource.as_deref().map(|resource| ("resource", resource)));
        let response = issuer.post(url, &fields, "a device code").await?;
        let bad = |why: &str| LoginError::Metadata {
            host: host.clone(),
            path: "the device endpoint".to_owned(),
            why: why.to_owned(),
        };
        let given: Given = serde_json::from_slice(&response.body)
            .map_err(|_| bad("the answer is not what the standard says"))?;
        // It is shown to be opened, so it is judged like what is opened.
        let opens = |text: &str| issuer.endpoint(Some(text), "page").is_ok();
        if !opens(&given.verification_uri) {
            return Err(bad("its page is none that may be opened"));
        }
        let life = given.expires_in.min(MAX_LIFE);
        Ok(Self {
            device_code: given.device_code,
            user_code: text::shown(&given.user_code),
            verification_uri_complete: given.verification_uri_complete.filter(|url| opens(url)),
            verification_uri: given.verification_uri,
            interval: Duration::from_secs(given.interval.unwrap_or(INTERVAL).max(1)).min(LONGEST_INTERVAL),
            deadline: context.clock.now() + Duration::from_secs(life),
            expires: context.clock.wall() + life,
            flow,
        })
    }

    /// Returns the code the user types.
    pub fn user_code(&self) -> &str {
        &self.user_code
    }

    /// Returns where the user types it.
    pub fn verification_uri(&self) -> &str {
        &self.verification_uri
    }

    /// Returns the address that has the code in it already.
    pub fn verification_uri_complete(&self) -> Option<&str> {
        self.verification_uri_complete.as_deref()
    }

    /// Returns when it ends, in seconds since 1970.
    pub fn expires(&self) -> u64 {
        self.expires
    }

    /// Returns who is signed in with.
    pub fn issuer(&self) -> &str {
        &self.flow.found.metadata.issuer
    }

    /// Asks until the user is done, as often as the provider wants.
    pub async fn wait(&mut self) -> Result<Credential, LoginError> {
        loop {
            tokio::time::sleep(self.interval).await;
            if self.flow.context.clock.now() >= self.deadline {
                return Err(LoginError::Expired);
            }
            let fields = vec![("grant_type", DEVICE_GRANT), ("device_code", self.device_code.expose())];
            let error = match self.flow.exchange(fields).await {
                Ok(credential) => return Ok(credential),
                Err(error) => error,
            };
            match error.code() {
                Some("authorization_pending") => {}
                Some("slow_down") => self.interval = (self.interval + SLOWER).min(LONGEST_INTERVAL),
                Some("expired_token") => return Err(LoginError::Expired),
                // One that cannot be reached is asked half as often (section 3.5).
                _ if error.is_transient() => self.interval = (self.interval * 2).min(LONGEST_INTERVAL),
                _ => return Err(error),
            }
        }
    }
}

/// The page is judged as an address; its text is shown as it is.
impl fmt::Debug for DeviceLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let page = Url::parse(&self.verification_uri).ok();
        f.debug_struct("DeviceLogin")
            .field("page", &page)
            .field("expires", &self.expires)
            .finish_non_exhaustive()
    }
}
