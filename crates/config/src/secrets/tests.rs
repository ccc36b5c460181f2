use std::collections::BTreeMap;
use std::path::Path;

use super::*;
use crate::load::{LoadError, LoadOptions, load_text};
use crate::model::{Config, Transport};
use crate::redact::redact;
use crate::testing;
use crate::variables_used::{secrets_used_in, variables_used_in};

/// Secrets that are at hand, and one whose file is broken.
struct Fixed(BTreeMap<String, String>);

impl SecretSource for Fixed {
    fn secret(&self, name: &str) -> Result<Option<Secret>, String> {
        match name {
            "BROKEN" => Err("/data/secret.BROKEN: is cut short; remove it".to_owned()),
            _ => Ok(self.0.get(name).map(|value| Secret::new(value.clone()))),
        }
    }
}

fn options(secrets: &[(&str, &str)]) -> LoadOptions {
    let secrets = secrets.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let mut options = testing::options();
    options.environment.secrets = Secrets::of(Fixed(secrets.collect()));
    options
}

fn try_load(text: &str, secrets: &[(&str, &str)]) -> Result<Config, LoadError> {
    load_text(text, Some(Path::new("config.json")), &options(secrets))
}

fn load(text: &str, secrets: &[(&str, &str)]) -> Config {
    try_load(text, secrets).unwrap()
}

const EVERYWHERE: &str = r#"{"mcpServers": {
    "p": {"command": "/bin/sh", "args": ["--key", "${secret:ARG}"], "env": {"TOKEN": "a-${secret:TOKEN}", "X_PATH": "${secret:PATH}"}},
    "r": {"url": "https://h.example/${secret:URL}", "headers": {"Authorization": "Bearer ${secret:HEADER}"}}
}}"#;

#[test]
fn secrets_are_filled_in_wherever_variables_are() {
    let secrets = [("ARG", "a-1"), ("TOKEN", "t-1"), ("PATH", "p-1"), ("URL", "u-1"), ("HEADER", "h-1")];
    let config = load(EVERYWHERE, &secrets);
    let Transport::Process(process) = &config.servers[0].transport else { panic!() };
    assert_eq!(process.args, ["--key", "a-1"]);
    assert_eq!(process.env["TOKEN"].expose(), "a-t-1");
    let Transport::Remote(remote) = &config.servers[1].transport else { panic!() };
    assert_eq!((remote.url.as_str(), remote.headers[0].1.expose()), ("https://h.example/u-1", "Bearer h-1"));
    assert_eq!(remote.credential_variables, ["secret:URL", "secret:HEADER"]);
    assert!(config.servers.iter().all(|server| server.fault.is_none()), "{:?}", config.problems);
}

// M11
#[test]
fn a_value_from_the_store_is_hidden_wherever_it_stood() {
    let values = ["argument-000111", "token-000111", "path/000111/1", "url-000111/x", "header-000111"]
        .map(str::to_owned);
    let names = ["ARG", "TOKEN", "PATH", "URL", "HEADER"];
    let secrets: Vec<_> = names.into_iter().zip(values.iter().map(String::as_str)).collect();
    let config = load(EVERYWHERE, &secrets);
    let shown = format!("{config:?} {:?}", options(&secrets));
    for value in &values {
        assert_eq!(redact(&format!("server says {value}!")), "server says ***!");
        assert!(!shown.contains(value), "{value} in {shown}");
    }
}

#[test]
fn a_secret_that_is_not_stored_marks_its_server_and_says_what_to_do() {
    let text = r#"{"mcpServers": {
        "a": {"command": "/bin/sh", "env": {"TOKEN": "${secret:MY_TOKEN}"}},
        "b": {"command": "/bin/sh", "env": {"TOKEN": "${secret:BROKEN}"}},
        "c": {"command": "/bin/sh"}
    }}"#;
    let config = load(text, &[]);
    let faults: Vec<_> =
        config.servers.iter().map(|server| server.fault.as_ref().map(|fault| fault.message())).collect();
    assert_eq!(
        faults,
        [
            Some("the secret `MY_TOKEN` is not stored; run `manifold secret set MY_TOKEN`".to_owned()),
            Some(
                "the secret `BROKEN` cannot be read; /data/secret.BROKEN: is cut short; remove it".to_owned()
            ),
            None,
        ]
    );
    let problems: Vec<String> = config.problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        problems[0],
        "config.json:2: mcpServers.a.env.TOKEN: the secret `MY_TOKEN` is not stored; run `manifold secret set MY_TOKEN`"
    );
}

/// A token that was asked for and is not there must not mean an open door.
#[test]
fn a_token_whose_secret_is_missing_stops_the_start() {
    let text = testing::with_server(r#"{"server": {"token": "${secret:DOOR}"}}"#);
    let error = try_load(&text, &[]).unwrap_err().to_string();
    assert!(
        error.contains("server.token: the secret `DOOR` is not stored; run `manifold secret set DOOR`"),
        "{error}"
    );
    let config = load(&text, &[("DOOR", "open-sesame-1")]);
    assert_eq!(config.settings.http.token.unwrap().expose(), "open-sesame-1");
}

#[test]
fn a_changed_secret_is_a_changed_server() {
    let of = |value: &str| {
        load(EVERYWHERE, &[("ARG", "1"), ("TOKEN", value), ("PATH", "p"), ("URL", "u"), ("HEADER", "h")])
    };
    let changed = |one: &Config, other: &Config| {
        one.servers
            .iter()
            .zip(&other.servers)
            .filter(|(one, other)| one != other)
            .map(|(one, _)| one.key.id.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(changed(&of("same"), &of("same")), Vec::<String>::new());
    assert_eq!(changed(&of("old"), &of("new")), ["p"]);
}

#[test]
fn clients_have_the_users_secrets_and_bring_none() {
    let mut options = options(&[("TOKEN", "t-1")]);
    options.client = Some(crate::ClientEnvironment::of(&options.environment));
    let text = r#"{"mcpServers": {"p": {"command": "/bin/sh", "env": {"TOKEN": "${secret:TOKEN}"}}}}"#;
    let config = load_text(text, None, &options).unwrap();
    let Transport::Process(process) = &config.servers[0].transport else { panic!() };
    assert_eq!(process.environment.as_ref().unwrap()["TOKEN"].expose(), "t-1");
    let used = variables_used_in(text, None).unwrap().names;
    assert_eq!(used.into_iter().collect::<Vec<_>>(), ["PATH"]);
}

#[test]
fn who_uses_a_secret_is_told_by_the_file_alone() {
    let text = r#"{"server": {"token": "${secret:DOOR}"}, "mcpServers": {
        "a": {"command": "x", "env": {"A": "${secret:ONE}${secret:TWO}", "B": "${secret:ONE}"}},
        "b": {"url": "https://h.example", "headers": {"X": "${secret:ONE}"}, "description": "${secret:NOT}"}
    }}"#;
    let used = secrets_used_in(text, None).unwrap();
    let users: Vec<(&str, String)> =
        used.iter().map(|(name, users)| (name.as_str(), users.join(" "))).collect();
    assert_eq!(users, [("DOOR", "server".to_owned()), ("ONE", "a b".to_owned()), ("TWO", "a".to_owned())]);
}
