use super::*;
use crate::backup::BackupKey;

fn filled(store: &Store) {
    set(store, "TOKEN", VALUE);
    set(store, "TOKEN", "second");
    set(store, "OTHER", "other");
    store.set(&Name::oauth("docs").unwrap(), &Value::new("tokens")).unwrap();
}

fn check_filled(store: &Store) {
    let (entry, value) = store.load(&name("TOKEN")).unwrap().unwrap();
    assert_eq!((entry.generation, value.expose_text()), (2, Some("second")));
    assert_eq!(get(store, "OTHER").unwrap().unwrap(), "other");
    assert_eq!(store.get(&Name::oauth("docs").unwrap()).unwrap().unwrap().expose(), b"tokens");
    assert!(store.check().unwrap().iter().all(|listed| listed.entry.is_ok()));
}

fn no_leftovers(home: &Home) {
    let names = home.file("").read_dir().unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = names.filter(|name| name.to_string_lossy().starts_with(".next-")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_store_goes_from_any_kind_of_key_to_any_other() {
    let home = Home::new();
    home.keyring.fails_with(None);
    filled(&home.store_with(KEY));
    let rekeyed = |store: Store, new| {
        let done = store.rekey(new).unwrap().unwrap();
        no_leftovers(&home);
        (done.from, done.to, done.files)
    };
    let to_other = rekeyed(home.store_with(KEY), NewKey::Given(given(OTHER_KEY)));
    assert_eq!(to_other, (KeyKind::Variable, KeyKind::Variable, 3));
    check_filled(&home.store_with(OTHER_KEY));
    assert!(matches!(get(&home.store_with(KEY), "TOKEN"), Err(StoreError::OtherKey { .. })));
    let to_keyring = rekeyed(home.store_with(OTHER_KEY), NewKey::Keyring);
    assert_eq!(to_keyring, (KeyKind::Variable, KeyKind::Keyring, 3));
    check_filled(&home.store());
    // A new key of the keyring takes the place of the old one.
    assert_eq!(rekeyed(home.store(), NewKey::Keyring), (KeyKind::Keyring, KeyKind::Keyring, 3));
    check_filled(&home.store());
    assert_eq!(home.keyring.count(), 1);
    assert_eq!(rekeyed(home.store(), NewKey::Plain), (KeyKind::Keyring, KeyKind::Plain, 3));
    check_filled(&home.store());
    assert_eq!(home.keyring.count(), 0);
    assert_eq!(rekeyed(home.store(), NewKey::Plain), (KeyKind::Plain, KeyKind::Plain, 0));
    // A key is given by the same way that it will be given by from now on.
    let sealed = rekeyed(home.store_with(KEY), NewKey::Given(given(KEY)));
    assert_eq!(sealed, (KeyKind::Plain, KeyKind::Variable, 3));
    check_filled(&home.store_with(KEY));
}

#[test]
fn the_key_beside_a_store_goes_when_nothing_is_sealed_with_it() {
    let home = Home::from_before();
    home.keyring.fails_with(None);
    let done = home.store().rekey(NewKey::Keyring).unwrap().unwrap();
    assert_eq!((done.from, done.to, done.files), (KeyKind::Beside, KeyKind::Keyring, 2));
    assert_eq!(get(&home.store(), "TOKEN").unwrap().unwrap(), VALUE);
    assert!(!home.path().join("manifold/credentials.key").exists());
}

#[test]
fn what_cannot_be_opened_stops_it_before_anything_is_changed() {
    let home = Home::new();
    filled(&home.store());
    std::fs::write(home.file("secret.OTHER"), "broken").unwrap();
    let error = home.store().rekey(NewKey::Given(given(KEY))).unwrap_err();
    assert_eq!(error.path().unwrap(), home.file("secret.OTHER"));
    assert_eq!(get(&home.store(), "TOKEN").unwrap().unwrap(), "second");
    assert_eq!(home.store().kind().unwrap(), Some(KeyKind::Plain));
}

#[test]
fn a_store_that_holds_nothing_has_nothing_to_seal_anew() {
    let home = Home::new();
    assert_eq!(home.store().rekey(NewKey::Plain).unwrap(), None);
    assert!(!home.file("").exists());
}

/// Others read all the while, each with the key that the record names.
#[test]
fn nobody_who_reads_sees_the_change() {
    let home = Home::new();
    home.keyring.fails_with(None);
    filled(&home.store());
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..3)
            .map(|_| {
                let store = home.store();
                scope.spawn(move || (0..200).for_each(|_| check_values(&store)))
            })
            .collect();
        while readers.iter().any(|reader| !reader.is_finished()) {
            home.store().rekey(NewKey::Plain).unwrap();
            home.store().rekey(NewKey::Given(given(KEY))).unwrap();
            home.store_with(KEY).rekey(NewKey::Keyring).unwrap();
        }
    });
    check_filled(&home.store());
}

fn check_values(store: &Store) {
    for (text, value) in [("TOKEN", "second"), ("OTHER", "other")] {
        match get(store, text) {
            // Sealed with a key that this reader was never given: it is told so, and nothing is mixed up.
            Err(StoreError::KeyNotGiven { .. }) => {}
            read => assert_eq!(read.unwrap().unwrap(), value),
        }
    }
}

#[test]
fn a_backup_brings_everything_back_and_keeps_what_may_be_newer() {
    let (home, folder) = (Home::new(), tempfile::tempdir().unwrap());
    let file = folder.path().join("backup");
    let with = || BackupKey::Passphrase(Value::new("correct horse battery"));
    filled(&home.store());
    assert_eq!(home.store().export(&file, &with()).unwrap().len(), 3);
    assert_eq!(std::fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
    home.store().export(&file, &with()).unwrap_err();

    let other = Home::new();
    let became = |store: &Store, replaces| -> Vec<Became> {
        store.import(&file, &with(), replaces).unwrap().into_iter().map(|restored| restored.became).collect()
    };
    assert_eq!(became(&other.store_with(KEY), false), [Became::Added; 3]);
    check_filled(&other.store_with(KEY));
    assert_eq!(became(&other.store_with(KEY), true), [Became::Unchanged; 3]);

    set(&home.store(), "TOKEN", "newer");
    assert_eq!(became(&home.store(), false), [Became::Unchanged, Became::Unchanged, Became::Kept]);
    assert_eq!(get(&home.store(), "TOKEN").unwrap().unwrap(), "newer");
    assert_eq!(became(&home.store(), true), [Became::Unchanged, Became::Unchanged, Became::Replaced]);
    let (entry, value) = home.store().load(&name("TOKEN")).unwrap().unwrap();
    assert_eq!((entry.generation, value.expose_text()), (4, Some("second")));
    let wrong = BackupKey::Passphrase(Value::new("correct horse"));
    let error = home.store().import(&file, &wrong, false).unwrap_err();
    assert!(matches!(error, StoreError::BackupNotOpened { .. }), "{error}");
}
