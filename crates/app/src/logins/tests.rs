use std::collections::BTreeMap;

use manifold_oauth::{ClientSource, Grant, Registration, Secret, ServerMetadata, TokenKind, Tokens};

use super::*;

fn environment(home: &std::path::Path) -> Environment {
    let variable = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let vars = BTreeMap::from_iter([
        variable("XDG_DATA_HOME", home.to_str().unwrap()),
        variable("MANIFOLD_KEYRING", "off"),
    ]);
    Environment { vars, ..Environment::default() }
}

fn credential(server: &str, generation: u64, token: &str) -> Credential {
    let registration = Registration {
        source: ClientSource::Registered,
        client_id: "us".to_owned(),
        client_secret: None,
        client_secret_expires_at: None,
        token_endpoint_auth_method: None,
        registration_access_token: None,
        registration_client_uri: None,
        redirect_uris: Vec::new(),
        answer: None,
        is_refused: false,
    };
    let access = Secret::new(token.to_owned());
    let tokens = Tokens { kind: TokenKind::Bearer, access, refresh: None, expires_at: None, life: None };
    Credential {
        key: key(server),
        generation,
        issuer: "https://as.example".to_owned(),
        resource: None,
        resource_metadata: None,
        server_metadata: ServerMetadata::default(),
        registration,
        tokens: Some(tokens),
        grant: Grant::default(),
        requested_scopes: Vec::new(),
        granted_scopes: Vec::new(),
        wanted_scopes: Vec::new(),
        redirect_uri: None,
        looked_up: 0,
        refreshed: 0,
        ended: None,
        marker: None,
    }
}

fn key(server: &str) -> CredentialKey {
    let url = format!("https://{server}.example/mcp");
    CredentialKey { server: server.to_owned(), url, account: "default".to_owned() }
}

#[tokio::test]
async fn a_login_is_kept_compared_listed_and_removed() {
    let home = tempfile::tempdir().unwrap();
    let environment = environment(home.path());
    assert_eq!(prepare(&environment).unwrap().kind.word(), "plain");
    let stored = store(&environment).unwrap();
    assert_eq!(stored.kind, "plain");
    let store = stored.store;
    assert_eq!(store.load(&key("docs")).await.unwrap(), None);
    let lock = store.lock(&key("docs")).await.unwrap();
    let first = credential("docs", 1, "hunter2-hunter2");
    store.save(&lock, &first, None).await.unwrap();
    assert_eq!(store.load(&key("docs")).await.unwrap(), Some(first.clone()));
    // The same generation again, as when a marker is set: it is the tokens' that is compared.
    store.save(&lock, &first, Some(1)).await.unwrap();
    for stale in [None, Some(2)] {
        let error = store.save(&lock, &credential("docs", 3, "stale"), stale).await.unwrap_err();
        assert_eq!(error, StoreError::Conflict { found: Some(1) });
    }
    store.save(&lock, &credential("docs", 2, "next"), Some(1)).await.unwrap();
    let other = store.lock(&key("other")).await.unwrap();
    store.save(&other, &credential("other", 1, "x"), None).await.unwrap();
    let mut keys = store.keys().await.unwrap();
    keys.sort();
    assert_eq!(keys, [key("docs"), key("other")]);
    assert!(store.remove(&lock).await.unwrap());
    assert!(!store.remove(&lock).await.unwrap());
    assert_eq!(store.keys().await.unwrap(), [key("other")]);
}

#[tokio::test]
async fn one_at_a_time_has_the_lock() {
    let home = tempfile::tempdir().unwrap();
    let environment = environment(home.path());
    let (one, other) = (store(&environment).unwrap().store, store(&environment).unwrap().store);
    let held = one.lock(&key("docs")).await.unwrap();
    let docs = key("docs");
    let mut waiting = other.lock(&docs);
    assert!(futures_pending(&mut waiting).await);
    drop(held);
    waiting.await.unwrap();
}

/// Returns whether something is still waiting after a few turns.
async fn futures_pending<T>(waiting: &mut BoxFuture<'_, T>) -> bool {
    tokio::time::timeout(PAUSE * 3, waiting).await.is_err()
}

#[tokio::test]
async fn what_cannot_be_read_is_an_error_without_its_text() {
    let home = tempfile::tempdir().unwrap();
    let environment = environment(home.path());
    let name = name(&key("docs")).unwrap();
    crate::secrets::store(&environment).unwrap().set(&name, &Value::new(r#"{"key": "hunter2"}"#)).unwrap();
    let store = store(&environment).unwrap().store;
    let error = store.load(&key("docs")).await.unwrap_err().to_string();
    assert!(error.contains("is no login of this version") && !error.contains("hunter2"), "{error}");
    let lock = store.lock(&key("docs")).await.unwrap();
    store.save(&lock, &credential("docs", 1, "x"), None).await.unwrap_err();
}
