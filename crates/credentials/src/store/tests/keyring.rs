use super::*;

fn with_keyring() -> Home {
    let home = Home::new();
    home.keyring.fails_with(None);
    home
}

#[test]
fn where_there_is_a_keyring_a_new_store_has_its_key_there() {
    let home = with_keyring();
    let prepared = home.store().prepare().unwrap();
    assert_eq!((prepared.kind, prepared.is_new), (KeyKind::Keyring, true));
    set(&home.store(), "TOKEN", VALUE);
    assert!(!home.store().prepare().unwrap().is_new);
    assert_eq!(get(&home.store(), "TOKEN").unwrap().unwrap(), VALUE);
    assert_eq!(home.keyring.count(), 1);
    // An emptied store keeps its key.
    home.store().remove(&name("TOKEN")).unwrap();
    set(&home.store(), "TOKEN", VALUE);
    assert_eq!(home.keyring.count(), 1);
    assert!(!home.path().join("manifold/credentials.key").exists());
}

#[test]
fn a_new_store_does_without_a_keyring_only_where_there_is_none() {
    for absent in [
        KeyringError::Absent("no bus".to_owned()),
        KeyringError::Volatile,
        KeyringError::Off,
        KeyringError::NotBuilt,
    ] {
        let home = Home::new();
        home.keyring.fails_with(absent.clone());
        let prepared = home.store().prepare().unwrap();
        assert_eq!((prepared.kind, prepared.why_plain), (KeyKind::Plain, Some(absent)));
    }
    for fault in [KeyringError::Locked, KeyringError::Silent(3), KeyringError::Failed("x".to_owned())] {
        let home = Home::new();
        home.keyring.fails_with(fault.clone());
        let message = home.store().prepare().unwrap_err().to_string();
        assert!(
            message.contains(&fault.to_string()) && message.contains("MANIFOLD_KEYRING=off"),
            "{message}"
        );
        assert!(!home.file(".store").exists());
    }
}

/// Whatever becomes of the keyring, what is stored is neither given up nor begun anew.
#[test]
fn a_keyring_that_fails_later_is_an_error_and_never_a_second_store() {
    for fault in [
        KeyringError::Absent("no bus".to_owned()),
        KeyringError::Volatile,
        KeyringError::Locked,
        KeyringError::Silent(3),
        KeyringError::Failed("it died".to_owned()),
        KeyringError::Off,
    ] {
        let home = with_keyring();
        set(&home.store(), "TOKEN", VALUE);
        let running = home.store();
        get(&running, "TOKEN").unwrap();
        home.keyring.fails_with(fault.clone());
        let errors = [
            get(&home.store(), "TOKEN").unwrap_err(),
            home.store().set(&name("NEW"), &Value::new("x")).unwrap_err(),
            home.store().prepare().unwrap_err(),
            home.store().check().unwrap_err(),
            home.store().check_key().unwrap_err(),
        ];
        for error in errors {
            assert!(error.to_string().contains(&fault.to_string()), "{error}");
        }
        assert!(!home.file("secret.NEW").exists());
        // What has read the key goes on: it is asked for once.
        set(&running, "TOKEN", "new");
        home.keyring.fails_with(None);
        assert_eq!(get(&home.store(), "TOKEN").unwrap().unwrap(), "new");
    }
}

#[test]
fn a_key_that_is_gone_from_the_keyring_is_an_error() {
    let home = with_keyring();
    set(&home.store(), "TOKEN", VALUE);
    let other = with_keyring();
    let store = Store::open(home.path(), Keys::with(None, other.keyring.clone(), home.path()));
    let message = get(&store, "TOKEN").unwrap_err().to_string();
    assert!(message.contains("the keyring: the key that opens the store is gone"), "{message}");
    assert_eq!(other.keyring.count(), 0);
}
