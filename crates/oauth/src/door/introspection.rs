//! Tokens that only their authorization server understands: it is asked (RFC 7662).

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use tracing::warn;

use super::jwt::{Claims, verified};
use super::{Introspection, Rules, Unverified, Verified};
use crate::address::Reach;
use crate::http::{Body, Http, Request};
use crate::secret::Secret;
use crate::url::Url;

const TIMEOUT: Duration = Duration::from_secs(5);
/// What stands for itself in a form.
const FORM: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'*');

/// Asks about a token.
pub(super) async fn ask(
    asked: &Introspection,
    rules: &Rules,
    token: &str,
    http: &dyn Http,
    now: u64,
) -> Result<Verified, Unverified> {
    let answer = match send(asked, token, http).await {
        Ok(answer) => answer,
        Err(why) => {
            warn!("a token could not be asked about: {why}");
            return Err(Unverified::Unavailable);
        }
    };
    if answer.get("active") != Some(&Value::Bool(true)) {
        return Err(Unverified::Wrong("it is no good any more, or never was"));
    }
    read(answer, rules, now)
}

/// Returns what is said of a token, as far as it is said.
async fn send(asked: &Introspection, token: &str, http: &dyn Http) -> Result<Value, String> {
    let url = Url::parse(&asked.url).map_err(|error| error.to_string())?;
    let host = url.host().to_owned();
    let reach = Reach { loopback: url.is_loopback(), private: true };
    let encode = |text: &str| utf8_percent_encode(text, FORM).to_string();
    let body = Secret::new(format!("token={}&token_type_hint=access_token", encode(token)));
    // Both are encoded as a form would be before they are put together (RFC 6749, 2.3.1).
    let credentials = format!("{}:{}", encode(&asked.client_id), encode(asked.client_secret.expose()));
    let basic = Secret::new(format!("Basic {}", STANDARD.encode(credentials)));
    let mut request = Request::post(url, Body::Form(body), reach).header("authorization", basic);
    request.timeout = TIMEOUT;
    let answer = http.send(request).await.map_err(|error| error.to_string())?;
    if !answer.is_success() {
        return Err(format!("{host} answers with {}", answer.status));
    }
    serde_json::from_slice(&answer.body).map_err(|_| format!("{host} answers with something else than JSON"))
}

/// Reads what is said. What only one issuer could have left out is filled in: it is that issuer who was asked.
fn read(mut answer: Value, rules: &Rules, now: u64) -> Result<Verified, Unverified> {
    let unreadable = Unverified::Invalid("what is said of it cannot be read");
    if let (Some(said), [only]) = (answer.as_object_mut(), rules.issuers.as_slice()) {
        said.entry("iss").or_insert_with(|| Value::String(only.clone()));
        if !said.contains_key("sub")
            && let Some(name) = said.get("username").cloned()
        {
            said.insert("sub".to_owned(), name);
        }
    }
    let claims: Claims = serde_json::from_value(answer.clone()).map_err(|_| unreadable)?;
    verified(claims, &answer, rules, now)
}
