//! The HTTP front end: where it listens and whom it lets in.

mod auth;
mod tokens;

use std::path::PathBuf;

pub(in crate::resolve) use auth::SCOPES;
pub(in crate::resolve) use tokens::TOKENS;

use super::TOKEN;
use crate::environment::Environment;
use crate::fields::Fields;
use crate::file::Value;
use crate::keys::table::{CORS, HTTP, TLS};
use crate::model::{ClientCerts, Cors, HttpSettings, Tls};
use crate::problem::Problems;
use crate::secret::Secret;
use crate::secrets::SECRET;

pub(super) fn http(
    top: Fields<'_>,
    environment: &Environment,
    problems: &mut Problems,
) -> Option<HttpSettings> {
    let mut settings = HttpSettings {
        host: "127.0.0.1".to_owned(),
        port: 3095,
        token: None,
        tokens: Vec::new(),
        auth: None,
        public_url: None,
        allowed_hosts: Vec::new(),
        cors: None,
        tls: None,
        lenient_headers: false,
    };
    let Some(server) = top.section("server", &HTTP) else { return Some(settings) };
    if let Some(host) = server.string("host").filter(|host| !host.is_empty()) {
        settings.host = host;
    }
    if let Some(port) = server.number("port").and_then(|port| u16::try_from(port).ok()) {
        settings.port = port;
    }
    settings.allowed_hosts = server.strings("allowedHosts").unwrap_or_default();
    settings.lenient_headers = server.flag("lenientHeaders").unwrap_or(false);
    settings.cors = server.section("cors", &CORS).and_then(|section| cors(section, problems));
    // All are judged before giving up, so that every problem is told at once.
    let (token, tls) = (token(server, environment, problems), tls(server, environment, problems));
    let tokens = tokens::tokens(server, environment, problems);
    let (auth, public_url) = (auth::auth(server, problems), auth::public_url(server, problems));
    (settings.token, settings.tls) = (token?, tls?);
    (settings.tokens, settings.auth, settings.public_url) = (tokens?, auth?, public_url?);
    Some(settings)
}

/// Returns the token, if any. A token that was asked for and is not there must not mean an open door.
fn token(server: Fields<'_>, environment: &Environment, problems: &mut Problems) -> Option<Option<Secret>> {
    let Some(node) = server.present("token") else { return Some(None) };
    let what = match &node.value {
        Value::Text(text) if text.missing.iter().any(|name| name.starts_with(SECRET)) => {
            for name in text.missing.iter().filter_map(|name| name.strip_prefix(SECRET)) {
                let (what, hint) = environment.secrets.why_missing(name);
                problems.error(node.line, TOKEN, what, Some(hint));
            }
            return None;
        }
        Value::Text(text) if !text.missing.is_empty() => {
            format!("variable `{}` is not set", text.missing.join("`, `"))
        }
        Value::Text(text) if text.value.trim().is_empty() => "is empty".to_owned(),
        Value::Text(text) => return Some(Some(Secret::new(text.value.clone()))),
        // The check has told that it is not text.
        _ => return None,
    };
    let hint = "set it, or remove `token` to go without on loopback";
    problems.error(node.line, TOKEN, what, Some(hint.to_owned()));
    None
}

fn tls(server: Fields<'_>, environment: &Environment, problems: &mut Problems) -> Option<Option<Tls>> {
    let Some(node) = server.present("tls") else { return Some(None) };
    let section = server.section("tls", &TLS);
    let path = |name: &str| section.and_then(|section| section.path(name, environment)).map(PathBuf::from);
    if let (Some(cert), Some(key)) = (path("cert"), path("key")) {
        let is_optional =
            section.and_then(|section| section.string("clientCerts")).as_deref() == Some("optional");
        let clients = path("clientCa").map(|ca| ClientCerts { ca, required: !is_optional });
        if clients.is_none() && section.is_some_and(|section| section.present("clientCa").is_some()) {
            let hint = "name the file, or remove `clientCa`";
            problems.error(node.line, "server.tls.clientCa", "is empty", Some(hint.to_owned()));
            return None;
        }
        return Some(Some(Tls { cert, key, clients }));
    }
    let hint = "give both, or remove `tls`";
    problems.error(node.line, "server.tls", "needs a `cert` and a `key`", Some(hint.to_owned()));
    None
}

fn cors(section: Fields<'_>, problems: &mut Problems) -> Option<Cors> {
    if !section.flag("enabled").unwrap_or(true) {
        return None;
    }
    let origins = section.strings("origins").unwrap_or_default();
    if let Some(node) = section.get("origins").filter(|_| origins.iter().any(|origin| origin == "*")) {
        let what = "`*` only means every loopback origin, or every origin where a token is asked for";
        problems.warn(
            node.line,
            "server.cors.origins",
            what,
            Some("name the origins that need access".to_owned()),
        );
    }
    let or = |name: &str, default: &[&str]| {
        section.strings(name).unwrap_or_else(|| default.iter().map(|&text| text.to_owned()).collect())
    };
    Some(Cors {
        origins,
        methods: or("methods", &["GET", "POST", "DELETE", "OPTIONS"]),
        allowed_headers: or(
            "allowedHeaders",
            &[
                "Content-Type",
                "Accept",
                "Authorization",
                "Mcp-Session-Id",
                "MCP-Protocol-Version",
                "Mcp-Method",
                "Mcp-Name",
                "Last-Event-ID",
            ],
        ),
        credentials: section.flag("credentials").unwrap_or(false),
    })
}
