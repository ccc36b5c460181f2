//! A server at an address, and what it is told of who asks.

mod sign_in;

use std::time::Duration;

use super::{Wrong, holds_credentials, pairs, wrong};
use crate::environment::Environment;
use crate::expand::{Text, is_variable_name};
use crate::fields::Fields;
use crate::model::{RemoteKind, RemoteSpec, Transport};
use crate::secret::Secret;
use crate::secrets::SECRET;
use crate::variables_used::BY_NAME;

pub(super) fn remote(
    fields: Fields<'_>,
    kind: RemoteKind,
    name: &str,
    url: &Text,
    environment: &Environment,
) -> Result<Transport, Wrong> {
    let schemes: &[&str] =
        if kind == RemoteKind::LiteMcp { &["http", "https", "ws", "wss"] } else { &["http", "https"] };
    // An address with a gap in it is the missing variable's fault.
    if url.missing.is_empty() && !is_address(&url.value, schemes) {
        let what = format!("`{name}` is not an address");
        return Err(wrong(what, &format!("write one such as `{}://host/path`", schemes[1])));
    }
    refuse_pasted_tokens(fields)?;
    let headers = headers(fields, environment)?;
    let sign_in = sign_in::resolve(fields, environment)?;
    let count =
        |name: &str, default| fields.number(name).and_then(|n| u32::try_from(n).ok()).unwrap_or(default);
    let wait = |name: &str| fields.duration(name).unwrap_or(Duration::from_secs(1));
    Ok(Transport::Remote(RemoteSpec {
        kind,
        url: url.value.clone(),
        headers,
        sign_in,
        credential_variables: credential_variables(fields),
        retries: count("retries", 3),
        retry_delay: wait("retryDelay"),
        reconnect_interval: wait("reconnectInterval"),
        max_retries: count("maxRetries", 5),
    }))
}

/// Who pastes the token itself where its variable should be named must not find it in our messages.
fn refuse_pasted_tokens(fields: Fields<'_>) -> Result<(), Wrong> {
    for key in BY_NAME {
        let mut all_names = true;
        if let Some(node) = fields.present(key) {
            node.each_text("", &mut |text, _, _| all_names &= is_variable_name(&text.value));
        }
        if !all_names {
            return Err(wrong(
                format!("`{key}` does not name a variable"),
                "write the variable's name, not its value",
            ));
        }
    }
    Ok(())
}

fn headers(fields: Fields<'_>, environment: &Environment) -> Result<Vec<(String, Secret)>, Wrong> {
    let written = [pairs(fields, "headers", environment), pairs(fields, "http_headers", environment)];
    let mut headers: Vec<_> =
        written.into_iter().flatten().map(|(name, value)| (name, Secret::of_header(value))).collect();
    for (name, variable) in pairs(fields, "env_http_headers", environment) {
        if let Some(value) = environment.vars.get(&variable) {
            headers.push((name, Secret::of_header(value.clone())));
        }
    }
    let bearer = fields.text("bearer_token_env_var").and_then(|name| environment.vars.get(&name.value));
    if let Some(token) = bearer {
        // The token is the more particular wish, and a header must not be sent twice.
        headers.retain(|(name, _)| !name.eq_ignore_ascii_case("authorization"));
        headers.push(("Authorization".to_owned(), Secret::of_header(format!("Bearer {token}"))));
    }
    for (name, value) in &headers {
        let token = !name.is_empty()
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b));
        if !token || value.expose().chars().any(|char| char.is_control() && char != '\t') {
            let what = format!("header `{}` has characters that are not allowed", name.escape_debug());
            return Err(wrong(what, "look for a line break at the end of its value"));
        }
    }
    Ok(headers)
}

/// Returns the names of all variables and secrets that the address and headers depend on, each once.
fn credential_variables(fields: Fields<'_>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (key, node) in fields.object.members.iter().filter(|(key, _)| holds_credentials(key)) {
        let by_name = BY_NAME.contains(&key.as_str());
        node.each_text("", &mut |text, _, _| {
            let variables = text.variables.iter().chain(by_name.then_some(&text.value)).cloned();
            let secrets = text.secrets.iter().map(|name| format!("{SECRET}{name}"));
            for name in variables.chain(secrets) {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        });
    }
    names
}

/// A first look only: the client that dials has the last word.
fn is_address(url: &str, schemes: &[&str]) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else { return false };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    schemes.iter().any(|known| scheme.eq_ignore_ascii_case(known))
        && !host.is_empty()
        && !url.chars().any(|char| char.is_whitespace() || char.is_control())
}
