//! How one signs in, as each program writes it.

use crate::model::*;
use crate::testing::{load, problems};

fn sign_in(json: &str) -> Option<SignIn> {
    let server = load(&format!(r#"{{"servers": {{"a": {json}}}}}"#)).servers.remove(0);
    let Transport::Remote(spec) = server.transport else { panic!("{:?}", server.fault) };
    spec.sign_in.map(|sign_in| *sign_in)
}

#[test]
fn nothing_said_is_as_the_server_says() {
    assert_eq!(sign_in(r#"{"url": "http://x"}"#), Some(SignIn::default()));
    assert_eq!(sign_in(r#"{"url": "http://x", "oauth": {}}"#), Some(SignIn::default()));
    assert_eq!(sign_in(r#"{"url": "http://x", "oauth": true}"#), Some(SignIn::default()));
    assert_eq!(sign_in(r#"{"url": "http://x", "oauth": false}"#), None);
}

#[test]
fn every_key_is_read() {
    let all = sign_in(
        r#"{"url": "http://x", "account": "work", "oauth": {"clientId": "id", "clientSecret": "hush-hush",
            "clientName": "n", "clientMetadataUrl": "https://me/c.json", "issuer": "https://as",
            "authServerMetadataUrl": "https://as/m", "resource": false, "scopes": ["a", "b"], "params": {"p": "1"},
            "callbackPort": 8123, "callbackUrl": "http://localhost:8123/x", "pkce": "assume", "allowPrivate": true,
            "assumeEndpoints": true,
            "credential": "shared", "grant": "device", "privateKey": "-----BEGIN PRIVATE KEY-----"}}"#,
    )
    .unwrap();
    let text = |text: &str| Some(text.to_owned());
    assert_eq!((all.account.as_str(), &all.client_id, &all.client_name), ("work", &text("id"), &text("n")));
    assert_eq!(all.client_secret.as_ref().map(|secret| secret.expose()), Some("hush-hush"));
    assert_eq!(all.private_key.as_ref().map(|key| key.expose()), Some("-----BEGIN PRIVATE KEY-----"));
    assert_eq!((&all.client_metadata_url, &all.issuer), (&text("https://me/c.json"), &text("https://as")));
    assert_eq!((&all.metadata_url, &all.resource), (&text("https://as/m"), &ResourceSetting::Unsaid));
    assert_eq!(
        (all.scopes.as_slice(), all.params["p"].as_str()),
        (&["a".to_owned(), "b".to_owned()][..], "1")
    );
    assert_eq!((all.callback_port, &all.callback_url), (Some(8123), &text("http://localhost:8123/x")));
    assert!(all.assume_pkce && all.allow_private && all.assume_endpoints);
    assert_eq!((&all.credential, all.grant), (&text("shared"), GrantSetting::Device));
    assert!(!format!("{all:?}").contains("hush"), "secrets do not print");
}

#[test]
fn other_programs_words_are_read_as_meant() {
    let claude = sign_in(
        r#"{"url": "http://x", "oauth": {"clientId": "id", "callbackPort": 8080, "scopes": "a b",
            "authServerMetadataUrl": "https://as/m"}}"#,
    );
    let expected = SignIn {
        client_id: Some("id".to_owned()),
        callback_port: Some(8080),
        scopes: vec!["a".to_owned(), "b".to_owned()],
        metadata_url: Some("https://as/m".to_owned()),
        ..SignIn::default()
    };
    assert_eq!(claude.unwrap(), expected);
    let cursor =
        r#"{"url": "http://x", "auth": {"CLIENT_ID": "id", "CLIENT_SECRET": "hush-hush", "scopes": ["a"]}}"#;
    let cursor = sign_in(cursor).unwrap();
    assert_eq!((cursor.client_id.as_deref(), cursor.scopes.as_slice()), (Some("id"), &["a".to_owned()][..]));
    assert!(cursor.client_secret.is_some());
    let codex = sign_in(r#"{"url": "http://x", "scopes": ["a"], "oauth_resource": "https://x/y"}"#).unwrap();
    assert_eq!(codex.resource, ResourceSetting::Given("https://x/y".to_owned()));
    assert_eq!(codex.scopes, ["a"]);
    let mcpmu =
        sign_in(r#"{"url": "http://x", "oauth": {"client_id": "id", "client_secret": "${NOT_SET}"}}"#)
            .unwrap();
    assert_eq!((mcpmu.client_id.as_deref(), mcpmu.client_secret), (Some("id"), None));
}

#[test]
fn what_cannot_work_is_said() {
    let said = |oauth: &str| {
        problems(&format!(r#"{{"servers": {{"a": {{"url": "http://x", "oauth": {oauth}}}}}}}"#))
    };
    assert!(said(r#"{"grant": "client_credentials"}"#).contains("has no `clientId`"));
    assert!(said(r#"{"clientMetadataUrl": "http://me"}"#).contains("no https address"));
    assert!(said(r#"{"callbackUrl": "http://me.example/x"}"#).contains("nor on this machine"));
    assert!(said(r#"{"privateKey": "/no/such/file"}"#).contains("cannot be read"));
    assert!(said(r#"{"clientID": "x"}"#).contains("unknown key `clientID`"));
    assert!(said(r#"{"clientSecret": "${NOT_SET}"}"#).contains("variable `NOT_SET` is not set"));
}

#[test]
fn namespaces_name_accounts() {
    let text = r#"{"servers": {"a": {"url": "http://x"}},
        "namespaces": {"n": {"serverIds": ["a"], "accounts": {"a": "work", "b": "home"}}}}"#;
    assert_eq!(
        load(text).namespaces[0].accounts.iter().collect::<Vec<_>>(),
        [(&"a".to_owned(), &"work".to_owned())]
    );
    assert!(problems(text).contains("`b` is not a server of this namespace"));
}
