//! `server.auth` and `server.publicUrl`: whose OAuth tokens let in, and as what clients know us.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use super::tokens::{grant, names, needed};
use crate::fields::Fields;
use crate::file::{Value, join};
use crate::keys::table::{DOOR_AUTH, INTROSPECTION, SCOPE};
use crate::model::{Auth, Grant, Introspection, SIGNATURES};
use crate::problem::Problems;
use crate::secret::Secret;

const PLACE: &str = "server.auth";
pub(in crate::resolve) const SCOPES: &str = "server.auth.scopes";
const PUBLIC_URL: &str = "server.publicUrl";
/// Half a minute more than clocks of machines usually differ by.
const LEEWAY: Duration = Duration::from_secs(60);

/// What is wrong, and what to do about it.
type Wrong = (String, String);

/// Returns what `auth` says, if it is there. One that cannot be understood must not mean an open door.
pub(super) fn auth(server: Fields<'_>, problems: &mut Problems) -> Option<Option<Auth>> {
    let Some(node) = server.present("auth") else { return Some(None) };
    // The check has told that it is no object.
    let section = server.section("auth", &DOOR_AUTH)?;
    match read(section) {
        Ok(auth) => {
            for issuer in auth.issuers.iter().filter(|issuer| issuer.contains('?')) {
                let what = format!("the issuer `{}` has a query, which none has", issuer.escape_debug());
                let hint = "write it as the authorization server names itself (RFC 8414)".to_owned();
                problems.warn(node.line, PLACE, what, Some(hint));
            }
            Some(Some(auth))
        }
        Err((place, (what, hint))) => {
            problems.error(node.line, &place, what, Some(hint));
            None
        }
    }
}

/// Returns our address as clients write it, if it is said.
pub(super) fn public_url(server: Fields<'_>, problems: &mut Problems) -> Option<Option<String>> {
    let Some(node) = server.present("publicUrl") else { return Some(None) };
    let judged = needed(server, "publicUrl").and_then(|url| {
        let url = url.trim_end_matches('/').to_owned();
        let (_, rest) = url.split_once("://").unwrap_or_default();
        match is_web(&url) && !rest.contains(['/', '?', '#', '@', '"', '\\']) {
            true => Ok(url),
            false => {
                let hint = "write `https://tools.example`, with a port where there is one, and no path";
                Err(("is no address of ours".to_owned(), hint.to_owned()))
            }
        }
    });
    match judged {
        Ok(url) => Some(Some(url)),
        Err((what, hint)) => {
            problems.error(node.line, PUBLIC_URL, what, Some(hint));
            None
        }
    }
}

fn read(section: Fields<'_>) -> Result<Auth, (String, Wrong)> {
    let here = |wrong: Wrong| (PLACE.to_owned(), wrong);
    let list = |key: &str| names(section, key).map(Option::unwrap_or_default).map_err(here);
    let mut issuers = list("issuers")?;
    if section.present("issuer").is_some() {
        issuers.insert(0, needed(section, "issuer").map_err(here)?);
    }
    if issuers.is_empty() {
        return Err(here((
            "names no issuer".to_owned(),
            "name the authorization server in `issuer`".to_owned(),
        )));
    }
    for issuer in &issuers {
        checked_address("issuer", issuer).map_err(here)?;
    }
    let jwks = section.present("jwks").map(|_| needed(section, "jwks")).transpose().map_err(here)?;
    if let Some(jwks) = &jwks {
        checked_address("jwks", jwks).map_err(here)?;
        if issuers.len() > 1 {
            let hint = "remove it: each issuer says where its keys are";
            return Err(here(("`jwks` beside several issuers is nobody's".to_owned(), hint.to_owned())));
        }
    }
    let algorithms = match names(section, "algorithms").map_err(here)? {
        None => SIGNATURES.map(str::to_owned).to_vec(),
        Some(named) => checked_algorithms(named).map_err(here)?,
    };
    let claims = names(section, "scopeClaims").map_err(here)?;
    Ok(Auth {
        issuers,
        audiences: list("audiences")?,
        jwks,
        introspection: introspection(section)?,
        scopes: scopes(section)?,
        required_scopes: list("requiredScopes")?,
        scope_claims: claims.unwrap_or_else(|| ["scope", "scp"].map(str::to_owned).to_vec()),
        leeway: section.duration("leeway").unwrap_or(LEEWAY),
        algorithms,
        require_typ: section.flag("requireTyp").unwrap_or(false),
    })
}

fn introspection(section: Fields<'_>) -> Result<Option<Introspection>, (String, Wrong)> {
    if section.present("introspection").is_none() {
        return Ok(None);
    }
    let place = join(PLACE, "introspection");
    let here = |wrong: Wrong| (place.clone(), wrong);
    let not_there = || here(("is no object".to_owned(), "write `{ … }`, or remove it".to_owned()));
    let asked = section.section("introspection", &INTROSPECTION).ok_or_else(not_there)?;
    let url = needed(asked, "url").map_err(here)?;
    checked_address("url", &url).map_err(here)?;
    Ok(Some(Introspection {
        url,
        client_id: needed(asked, "clientId").map_err(here)?,
        client_secret: Secret::new(needed(asked, "clientSecret").map_err(here)?),
    }))
}

fn scopes(section: Fields<'_>) -> Result<Option<BTreeMap<String, Grant>>, (String, Wrong)> {
    let Some(node) = section.present("scopes") else { return Ok(None) };
    let place = SCOPES.to_owned();
    let is_none = || ("is no object".to_owned(), "write `{ … }`, or remove it".to_owned());
    let Value::Object(object) = &node.value else { return Err((place, is_none())) };
    let mut scopes = BTreeMap::new();
    for (scope, node) in &object.members {
        let place = join(&place, scope);
        if !is_scope(scope) {
            let hint = "a scope has no spaces, quotes or backslashes".to_owned();
            return Err((place, ("is no scope".to_owned(), hint)));
        }
        let Value::Object(object) = &node.value else { return Err((place, is_none())) };
        let grant = grant(Fields::new(object, &SCOPE)).map_err(|wrong| (place, wrong))?;
        scopes.insert(scope.clone(), grant);
    }
    Ok(Some(scopes))
}

/// The characters of a scope (RFC 6749, 3.3).
fn is_scope(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\')
}

fn checked_algorithms(named: Vec<String>) -> Result<Vec<String>, Wrong> {
    match named.iter().find(|one| !SIGNATURES.contains(&one.as_str())) {
        Some(unknown) => {
            let what = format!("`algorithms` has `{}`, which is not accepted", unknown.escape_debug());
            Err((what, format!("choose among {}", SIGNATURES.join(", "))))
        }
        None if named.is_empty() => {
            Err(("`algorithms` is empty".to_owned(), "name one, or remove it".to_owned()))
        }
        None => Ok(named),
    }
}

/// Keys and answers about tokens come over TLS, or from this machine.
fn checked_address(key: &str, url: &str) -> Result<(), Wrong> {
    if !is_web(url) || url.contains(['#', '"', '\\', '@']) {
        let what = format!("`{key}` is no address: `{}`", url.escape_debug());
        return Err((what, "write `https://login.example`".to_owned()));
    }
    match is_safe(url) {
        true => Ok(()),
        false => {
            let what = format!("`{key}` is not over https: `{}`", url.escape_debug());
            Err((what, "`http` is only for addresses of this machine".to_owned()))
        }
    }
}

fn is_web(url: &str) -> bool {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    rest.is_some_and(|rest| !host(rest).is_empty())
        && !url.chars().any(|char| char.is_whitespace() || char.is_control())
}

fn is_safe(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else { return true };
    let host = host(rest);
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Returns the host of what follows a scheme.
fn host(rest: &str) -> &str {
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    match authority.strip_prefix('[') {
        Some(inner) => inner.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    }
}
