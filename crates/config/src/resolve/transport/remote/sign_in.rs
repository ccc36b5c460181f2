//! How one signs in to a server: `oauth`, and what other programs call it.

use std::path::Path;

use super::super::{Wrong, wrong};
use crate::environment::Environment;
use crate::fields::Fields;
use crate::file::Value;
use crate::keys::table::{AUTH, OAUTH};
use crate::model::{DEFAULT_ACCOUNT, GrantSetting, ResourceSetting, SignIn};
use crate::secret::Secret;

/// Reads it; `None` where nobody is to sign in.
pub(super) fn resolve(server: Fields<'_>, environment: &Environment) -> Result<Option<Box<SignIn>>, Wrong> {
    if server.flag("oauth") == Some(false) {
        return Ok(None);
    }
    let filled = |text: Option<String>| text.filter(|text| !text.is_empty());
    let mut sign_in = SignIn {
        account: filled(server.string("account")).unwrap_or_else(|| DEFAULT_ACCOUNT.to_owned()),
        scopes: scopes(server),
        resource: filled(server.string("oauth_resource")).map(ResourceSetting::Given).unwrap_or_default(),
        ..SignIn::default()
    };
    if let Some(auth) = server.section("auth", &AUTH) {
        sign_in.client_id = filled(auth.string("CLIENT_ID"));
        sign_in.client_secret = filled(auth.string("CLIENT_SECRET")).map(Secret::new);
        sign_in.scopes.extend(scopes(auth));
    }
    if let Some(oauth) = server.section("oauth", &OAUTH) {
        read(oauth, environment, &mut sign_in)?;
    }
    judge(&sign_in)?;
    Ok(Some(Box::new(sign_in)))
}

fn read(oauth: Fields<'_>, environment: &Environment, sign_in: &mut SignIn) -> Result<(), Wrong> {
    // A gap where a variable has no value is no value: the server is marked for it.
    let text = |name: &str| {
        let text = oauth.text(name).filter(|text| text.missing.is_empty())?;
        Some(text.value.clone()).filter(|value| !value.is_empty())
    };
    let secret = |name: &str| text(name).map(Secret::new);
    let port = |name: &str| oauth.number(name).and_then(|port| u16::try_from(port).ok());
    if let Some(id) = text("clientId").or_else(|| text("client_id")) {
        sign_in.client_id = Some(id);
    }
    if let Some(secret) = secret("clientSecret").or_else(|| secret("client_secret")) {
        sign_in.client_secret = Some(secret);
    }
    if let Some(key) = oauth.path("privateKey", environment) {
        sign_in.private_key = Some(private_key(&key, environment)?);
    }
    sign_in.client_name = text("clientName");
    sign_in.client_metadata_url = text("clientMetadataUrl");
    sign_in.issuer = text("issuer");
    sign_in.metadata_url = text("authServerMetadataUrl");
    match (oauth.flag("resource"), text("resource")) {
        (Some(false), _) => sign_in.resource = ResourceSetting::Unsaid,
        (_, Some(resource)) => sign_in.resource = ResourceSetting::Given(resource),
        _ => {}
    }
    let scopes = scopes(oauth);
    if !scopes.is_empty() {
        sign_in.scopes = scopes;
    }
    sign_in.params = oauth.texts_by_name("params");
    sign_in.callback_port = port("callbackPort").or_else(|| port("callback_port"));
    sign_in.callback_url = text("callbackUrl");
    sign_in.assume_pkce = oauth.text("pkce").is_some();
    sign_in.allow_private = oauth.flag("allowPrivate").unwrap_or(false);
    sign_in.assume_endpoints = oauth.flag("assumeEndpoints").unwrap_or(false);
    sign_in.credential = text("credential");
    sign_in.grant = match oauth.text("grant").map(|grant| grant.value.as_str()) {
        Some("client_credentials") => GrantSetting::ClientCredentials,
        Some("device") => GrantSetting::Device,
        _ => GrantSetting::Code,
    };
    Ok(())
}

/// Returns the scopes of a list, or of one text with spaces between them.
fn scopes(fields: Fields<'_>) -> Vec<String> {
    match fields.get("scopes").map(|node| &node.value) {
        Some(Value::Text(text)) => text.value.split_whitespace().map(str::to_owned).collect(),
        _ => fields.strings("scopes").unwrap_or_default(),
    }
}

fn private_key(written: &str, environment: &Environment) -> Result<Secret, Wrong> {
    if written.contains("-----BEGIN") {
        return Ok(Secret::new(written));
    }
    match std::fs::read_to_string(environment.cwd.join(Path::new(written))) {
        Ok(key) => Ok(Secret::new(key)),
        Err(_) => Err(wrong("its `oauth.privateKey` cannot be read", "name a file with a key in PEM")),
    }
}

fn judge(sign_in: &SignIn) -> Result<(), Wrong> {
    let is_machine = sign_in.grant == GrantSetting::ClientCredentials;
    if is_machine && sign_in.client_id.is_none() {
        return Err(wrong("its `oauth.grant` is that of a machine, and it has no `clientId`", "give one"));
    }
    let document = sign_in.client_metadata_url.as_deref();
    if document.is_some_and(|url| !url.starts_with("https://")) {
        return Err(wrong("its `oauth.clientMetadataUrl` is no https address", "give one, or remove it"));
    }
    let back = sign_in.callback_url.as_deref();
    if back.is_some_and(|url| !url.starts_with("https://") && !is_loopback(url)) {
        return Err(wrong(
            "its `oauth.callbackUrl` is neither https nor on this machine",
            "write one such as `http://127.0.0.1:8123/callback`",
        ));
    }
    Ok(())
}

fn is_loopback(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else { return false };
    ["127.0.0.1", "localhost", "[::1]"].iter().any(|host| {
        rest.strip_prefix(host).is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/']))
    })
}
