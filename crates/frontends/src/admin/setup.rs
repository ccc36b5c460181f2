//! What the commands do that change users' files, and `doctor`: the program runs them as the user would, and answers with
//! the JSON they write.

use bytes::Bytes;
use hyper::StatusCode;
use manifold_admin::{CommandError, ErrorCode, Method, Route, ServerId, SetupChange};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

use super::Office;
use super::answer::{Answer, bytes};
use super::request::{Asked, bad};

/// Runs the command of a route.
pub(super) async fn run(office: &Office, route: &Route, asked: &Asked) -> Result<Answer, CommandError> {
    let change = match route.method {
        Method::Get => SetupChange::default(),
        _ if asked.body.is_empty() => SetupChange::default(),
        _ => asked.json()?,
    };
    let words = words(route, &change)?;
    let told = match office.program.run_verb(with(&words, &["--json"])).await {
        // No program that we know is here: that is a list, too.
        Err(error) if route.path == "/v1/setup/clients" && error.code == ErrorCode::UnknownClient => {
            b"[]".to_vec()
        }
        told => told?,
    };
    let has_diff = change.dry_run && route.path == "/v1/setup/install";
    if !has_diff {
        return Ok(bytes(StatusCode::OK, Bytes::from(told)));
    }
    // For people the same command shows what would be written.
    let diff = office.program.run_verb(words).await?;
    Ok(bytes(StatusCode::OK, with_diff(&told, &diff)))
}

/// Gives up what a server was signed in to with, there and here.
pub(super) async fn log_out(office: &Office, server: &ServerId) -> Result<(), CommandError> {
    let name = server.to_string();
    if name.starts_with('-') {
        return Err(bad("`manifold logout -- SERVER` signs out of a server with such a name"));
    }
    office.program.run_verb(vec!["logout".to_owned(), name, "--json".to_owned()]).await.map(drop)
}

fn words(route: &Route, change: &SetupChange) -> Result<Vec<String>, CommandError> {
    let fixed: &[&str] = match (route.method, route.path) {
        (Method::Get, "/v1/doctor") => &["doctor"],
        (Method::Get, "/v1/setup/clients") => &["install", "--all", "--dry-run"],
        (Method::Get, "/v1/setup/undo") => &["undo", "--list"],
        (_, "/v1/setup/install") => &["install"],
        (_, "/v1/setup/uninstall") => &["uninstall"],
        (_, "/v1/setup/import") => &["import", "--yes"],
        _ => &["undo"],
    };
    let mut words: Vec<String> = fixed.iter().map(|word| (*word).to_owned()).collect();
    let named = match (words[0].as_str(), &change.client, &change.id) {
        ("install" | "uninstall", None, _) if route.method == Method::Post => {
            return Err(bad("`client` says whose file is changed; it may not be missing"));
        }
        ("install" | "uninstall", client, _) => client.as_deref(),
        ("undo", _, id) => id.as_deref(),
        _ => None,
    };
    if let Some(name) = named {
        check(name)?;
        words.push(name.to_owned());
    }
    if change.dry_run {
        if words[0] == "undo" {
            return Err(bad("`undo` cannot be tried out"));
        }
        words.push("--dry-run".to_owned());
    }
    Ok(words)
}

/// Takes nothing for a name that a command line would take for something else: an option, or a path.
fn check(name: &str) -> Result<(), CommandError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    match begins && name.bytes().all(is_plain) {
        true => Ok(()),
        false => Err(bad("`client` and `id` are plain names, as the lists have them")),
    }
}

fn with(words: &[String], more: &[&str]) -> Vec<String> {
    words.iter().cloned().chain(more.iter().map(|word| (*word).to_owned())).collect()
}

/// Adds what people are shown to what programs are told.
fn with_diff(told: &[u8], diff: &[u8]) -> Bytes {
    let Ok(mut members) = serde_json::from_slice::<BTreeMap<String, Box<RawValue>>>(told) else {
        return Bytes::copy_from_slice(told);
    };
    if let Ok(diff) = serde_json::value::to_raw_value(&String::from_utf8_lossy(diff)) {
        members.insert("diff".to_owned(), diff);
    }
    serde_json::to_vec(&members).map_or_else(|_| Bytes::copy_from_slice(told), Bytes::from)
}

#[cfg(test)]
mod tests {
    use manifold_admin::ROUTES;

    use super::*;

    fn line(method: Method, path: &str, body: &str) -> Result<String, String> {
        let route = ROUTES.iter().find(|route| route.method == method && route.path == path).unwrap();
        let change: SetupChange = serde_json::from_str(body).unwrap();
        words(route, &change).map(|words| words.join(" ")).map_err(|error| error.message)
    }

    #[test]
    fn each_route_is_its_command() {
        let post = |path, body| line(Method::Post, path, body);
        assert_eq!(line(Method::Get, "/v1/doctor", "{}").unwrap(), "doctor");
        assert_eq!(line(Method::Get, "/v1/setup/undo", "{}").unwrap(), "undo --list");
        assert_eq!(line(Method::Get, "/v1/setup/clients", "{}").unwrap(), "install --all --dry-run");
        let cursor = r#"{"client": "cursor", "dryRun": true}"#;
        assert_eq!(post("/v1/setup/install", cursor).unwrap(), "install cursor --dry-run");
        assert_eq!(post("/v1/setup/uninstall", r#"{"client": "cursor"}"#).unwrap(), "uninstall cursor");
        assert_eq!(post("/v1/setup/import", "{}").unwrap(), "import --yes");
        assert_eq!(post("/v1/setup/undo", r#"{"id": "20261118-1"}"#).unwrap(), "undo 20261118-1");
    }

    #[test]
    fn no_name_is_an_option_or_a_path() {
        for name in ["--force", "-x", "", "../x", "/etc/passwd", "a b", "a=b", "ä"] {
            let body = serde_json::json!({ "client": name, "id": name }).to_string();
            for path in ["/v1/setup/install", "/v1/setup/uninstall", "/v1/setup/undo"] {
                assert!(line(Method::Post, path, &body).is_err(), "{path} {name}");
            }
        }
        assert!(line(Method::Post, "/v1/setup/install", "{}").unwrap_err().contains("`client`"));
    }

    #[test]
    fn what_people_are_shown_stands_beside() {
        let told = with_diff(b"{\"client\":\"cursor\",\"changed\":true}\n", b"+ a \"line\"\n");
        assert_eq!(told, r#"{"changed":true,"client":"cursor","diff":"+ a \"line\"\n"}"#);
    }
}
