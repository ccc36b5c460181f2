mod crash;
mod keyring;
mod logins;
mod processes;
mod rekey;

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::sync::Arc;

use zeroize::Zeroizing;

use super::*;
use crate::key::Given;
use crate::key::fake::FakeKeyring;

const VALUE: &str = "hunter2-hunter2";
const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
const OTHER_KEY: &str = "ff0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

/// A data folder with a keyring of its own. There is none until a test says so.
struct Home {
    folder: tempfile::TempDir,
    keyring: Arc<FakeKeyring>,
}

impl Home {
    fn new() -> Self {
        let keyring = Arc::new(FakeKeyring::default());
        keyring.fails_with(KeyringError::Absent("none".to_owned()));
        Self { folder: tempfile::tempdir().unwrap(), keyring }
    }

    /// Returns one with a store as it was made when its key lay beside it.
    fn from_before() -> Self {
        let home = Self::new();
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/beside");
        std::fs::create_dir_all(home.file("")).unwrap();
        std::fs::set_permissions(home.file(""), std::fs::Permissions::from_mode(0o700)).unwrap();
        for name in
            ["credentials.key", "credentials/.store", "credentials/secret.TOKEN", "credentials/secret.OTHER"]
        {
            let path = home.path().join("manifold").join(name);
            std::fs::copy(fixture.join(name), &path).unwrap();
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
        }
        home
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Opens the store with what is at hand by itself.
    fn store(&self) -> Store {
        Store::open(self.path(), Keys::with(None, self.keyring.clone(), self.path()))
    }

    fn store_with(&self, key: &str) -> Store {
        Store::open(self.path(), Keys::with(Some(given(key)), self.keyring.clone(), self.path()))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path().join("manifold/credentials").join(name)
    }
}

fn given(key: &str) -> Given {
    Given::Variable(Zeroizing::new(key.to_owned()))
}

/// Opens the store both ways there are, one after the other, each in a home of its own.
fn either_way(test: impl Fn(&Home, &dyn Fn() -> Store)) {
    let plain = Home::new();
    test(&plain, &|| plain.store());
    let sealed = Home::new();
    test(&sealed, &|| sealed.store_with(KEY));
}

fn name(text: &str) -> Name {
    Name::secret(text).unwrap()
}

fn set(store: &Store, text: &str, value: &str) -> Entry {
    store.set(&name(text), &Value::new(value)).unwrap()
}

fn get(store: &Store, text: &str) -> Result<Option<String>, StoreError> {
    let value = store.get(&name(text))?;
    Ok(value.map(|value| value.expose_text().unwrap().to_owned()))
}

/// Every way to the value is refused, each time with the file's name.
fn check_refused(home: &Home, store: &Store, text: &str, file: &str, expected: &str) {
    let of_set = store.set(&name(text), &Value::new("new")).unwrap_err();
    for error in [get(store, text).unwrap_err(), of_set] {
        let message = error.to_string();
        assert_eq!(error.path().unwrap(), home.file(file), "{message}");
        assert!(message.starts_with(home.file(file).to_str().unwrap()), "{message}");
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn values_come_back_and_each_change_is_counted() {
    either_way(|home, open| {
        let store = open();
        assert_eq!(get(&store, "TOKEN").unwrap(), None);
        assert!(!home.file("").exists(), "to look makes nothing");
        assert_eq!(set(&store, "TOKEN", VALUE).generation, 1);
        assert_eq!(set(&store, "TOKEN", "other").generation, 2);
        assert_eq!(set(&store, "b.c-d_e", "").generation, 1);
        assert_eq!(get(&open(), "TOKEN").unwrap().unwrap(), "other");
        assert_eq!(get(&store, "b.c-d_e").unwrap().unwrap(), "");
        let names: Vec<String> = store
            .list(Kind::Secret)
            .unwrap()
            .into_iter()
            .map(|listed| listed.entry.unwrap().name.to_string())
            .collect();
        assert_eq!(names, ["TOKEN", "b.c-d_e"]);
        assert!(store.remove(&name("TOKEN")).unwrap());
        assert!(!store.remove(&name("TOKEN")).unwrap());
        assert_eq!(get(&store, "TOKEN").unwrap(), None);
    });
}

#[test]
fn files_and_folder_are_ours_alone_and_hold_a_value_in_clear_only_where_there_is_no_key() {
    either_way(|home, open| {
        set(&open(), "TOKEN", VALUE);
        open().try_lock_credential(&Name::oauth("docs").unwrap()).unwrap().unwrap();
        let is_plain = open().kind().unwrap() == Some(KeyKind::Plain);
        assert_eq!(std::fs::metadata(home.file("")).unwrap().mode() & 0o777, 0o700);
        let mut in_clear = false;
        for entry in std::fs::read_dir(home.file("")).unwrap() {
            let path = entry.unwrap().path();
            assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600, "{}", path.display());
            in_clear |= std::fs::read(&path).unwrap().windows(8).any(|part| part == &VALUE.as_bytes()[..8]);
        }
        assert_eq!(in_clear, is_plain);
    });
}

#[test]
fn names_that_could_leave_the_folder_are_none() {
    for bad in ["", ".", "..", "a/b", "../x", ".hidden", "-x", "a b", "ä", "a\n", "a}", &"x".repeat(65)] {
        assert!(Name::secret(bad).is_err(), "{bad:?}");
    }
    for good in ["A", "_", "9", "GITHUB_TOKEN", "api.key-2", &"x".repeat(64)] {
        Name::secret(good).unwrap();
    }
}

#[test]
fn a_file_that_was_cut_is_an_error_and_is_not_overwritten() {
    either_way(|home, open| {
        set(&open(), "TOKEN", VALUE);
        let whole = std::fs::read(home.file("secret.TOKEN")).unwrap();
        for bytes in [0, 5, whole.len() - 20, whole.len() - 1] {
            std::fs::write(home.file("secret.TOKEN"), &whole[..bytes]).unwrap();
            check_refused(home, &open(), "TOKEN", "secret.TOKEN", "store the value again");
        }
        assert!(open().check().unwrap()[0].entry.is_err());
        assert!(open().remove(&name("TOKEN")).unwrap());
        set(&open(), "TOKEN", VALUE);
    });
}

#[test]
fn one_names_file_in_anothers_place_is_an_error() {
    either_way(|home, open| {
        set(&open(), "MINE", VALUE);
        set(&open(), "OTHER", "other");
        std::fs::copy(home.file("secret.OTHER"), home.file("secret.MINE")).unwrap();
        check_refused(home, &open(), "MINE", "secret.MINE", "holds `OTHER`");
        // And with its line rewritten, it does not open.
        let bytes = std::fs::read(home.file("secret.OTHER")).unwrap();
        let end = bytes.iter().position(|byte| *byte == b'\n').unwrap();
        let line = String::from_utf8(bytes[..end].to_vec()).unwrap().replace("OTHER", "MINE");
        std::fs::write(home.file("secret.MINE"), [line.as_bytes(), &bytes[end..]].concat()).unwrap();
        check_refused(home, &open(), "MINE", "secret.MINE", "changed");
    });
}

/// Else a sealed value could be exchanged for one that somebody else has written.
#[test]
fn a_plain_file_in_a_sealed_store_is_an_error_and_the_other_way_round() {
    let (plain, sealed) = (Home::new(), Home::new());
    set(&plain.store(), "TOKEN", VALUE);
    set(&sealed.store_with(KEY), "TOKEN", VALUE);
    let kept = std::fs::read(sealed.file("secret.TOKEN")).unwrap();
    std::fs::copy(plain.file("secret.TOKEN"), sealed.file("secret.TOKEN")).unwrap();
    check_refused(
        &sealed,
        &sealed.store_with(KEY),
        "TOKEN",
        "secret.TOKEN",
        "is not sealed, though the store is",
    );
    std::fs::write(plain.file("secret.TOKEN"), kept).unwrap();
    check_refused(&plain, &plain.store(), "TOKEN", "secret.TOKEN", "is sealed, though the store is plain");
}

#[test]
fn links_are_not_followed() {
    either_way(|home, open| {
        set(&open(), "TOKEN", VALUE);
        std::fs::rename(home.file("secret.TOKEN"), home.file("elsewhere")).unwrap();
        symlink(home.file("elsewhere"), home.file("secret.TOKEN")).unwrap();
        check_refused(home, &open(), "TOKEN", "secret.TOKEN", "is a link");
        assert!(open().remove(&name("TOKEN")).unwrap());
        assert!(home.file("elsewhere").exists(), "what it led to stays");
        // Neither is a lock, which would be made where it leads.
        symlink(home.file("made"), home.file(".lock-secret.TOKEN")).unwrap();
        let error = open().try_lock_credential(&name("TOKEN")).unwrap_err();
        assert!(matches!(error, StoreError::Link { .. }), "{error}");
        assert!(!home.file("made").exists());
    });
}

#[test]
fn a_folder_that_is_a_link_or_open_to_others_is_refused() {
    let home = Home::new();
    set(&home.store(), "TOKEN", VALUE);
    std::fs::set_permissions(home.file(""), std::fs::Permissions::from_mode(0o755)).unwrap();
    let error = get(&home.store(), "TOKEN").unwrap_err().to_string();
    assert!(error.contains("credentials: has mode 755") && error.contains("chmod 700"), "{error}");
    std::fs::set_permissions(home.file(""), std::fs::Permissions::from_mode(0o700)).unwrap();
    let (folder, moved) = (home.path().join("manifold/credentials"), home.path().join("moved"));
    std::fs::rename(&folder, &moved).unwrap();
    symlink(&moved, &folder).unwrap();
    assert!(matches!(get(&home.store(), "TOKEN"), Err(StoreError::Link { .. })));
}

#[test]
fn a_file_others_can_read_is_refused() {
    either_way(|home, open| {
        set(&open(), "TOKEN", VALUE);
        std::fs::set_permissions(home.file("secret.TOKEN"), std::fs::Permissions::from_mode(0o644)).unwrap();
        check_refused(home, &open(), "TOKEN", "secret.TOKEN", "mode 644");
    });
}

#[test]
fn another_key_is_an_error_and_never_a_second_store() {
    let home = Home::new();
    set(&home.store_with(KEY), "TOKEN", VALUE);
    let error = get(&home.store(), "TOKEN").unwrap_err().to_string();
    assert!(error.contains("a key that is not given, the one in MANIFOLD_KEY"), "{error}");
    home.store().set(&name("NEW"), &Value::new("x")).unwrap_err();
    let other = home.store_with(OTHER_KEY);
    assert!(matches!(get(&other, "TOKEN"), Err(StoreError::OtherKey { .. })));
}

#[test]
fn a_plain_store_takes_no_key_before_it_is_told_to() {
    let home = Home::new();
    assert_eq!(home.store().prepare().unwrap().kind, KeyKind::Plain);
    set(&home.store(), "TOKEN", VALUE);
    let with = home.store_with(KEY);
    for error in [get(&with, "TOKEN").unwrap_err(), with.set(&name("NEW"), &Value::new("x")).unwrap_err()] {
        let message = error.to_string();
        assert!(message.contains(".store: this store is plain, and a key is given"), "{message}");
        assert!(message.contains("`manifold secret rekey` seals it"), "{message}");
    }
}

/// Nobody's store is lost: what was made with a key beside it is read and written as ever.
#[test]
fn a_store_from_before_is_read_and_written_with_the_key_beside_it() {
    let home = Home::from_before();
    assert_eq!(home.store().kind().unwrap(), Some(KeyKind::Beside));
    assert_eq!(get(&home.store(), "TOKEN").unwrap().unwrap(), VALUE);
    assert_eq!(get(&home.store(), "OTHER").unwrap().unwrap(), "other");
    // A keyring that is there meanwhile changes nothing.
    home.keyring.fails_with(None);
    assert_eq!(set(&home.store(), "TOKEN", "new").generation, 2);
    assert_eq!(get(&home.store(), "TOKEN").unwrap().unwrap(), "new");
    assert_eq!(home.keyring.count(), 0);
    let key = home.path().join("manifold/credentials.key");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o640)).unwrap();
    let error = get(&home.store(), "TOKEN").unwrap_err().to_string();
    assert!(error.contains("credentials.key: has mode 640") && error.contains("chmod 600"), "{error}");
    // With its key gone, no new one is made.
    std::fs::remove_file(&key).unwrap();
    for error in [
        get(&home.store(), "TOKEN").unwrap_err(),
        home.store().set(&name("NEW"), &Value::new("x")).unwrap_err(),
    ] {
        let message = error.to_string();
        assert!(message.contains("credentials.key: the key that opens the store is gone"), "{message}");
    }
    assert!(!key.exists());
}

#[test]
fn an_empty_store_may_have_another_key() {
    let home = Home::new();
    set(&home.store(), "TOKEN", VALUE);
    home.store().remove(&name("TOKEN")).unwrap();
    set(&home.store_with(KEY), "TOKEN", VALUE);
    assert_eq!(home.store().kind().unwrap(), Some(KeyKind::Variable));
    assert_eq!(get(&home.store_with(KEY), "TOKEN").unwrap().unwrap(), VALUE);
}

#[test]
fn a_store_without_its_record_is_an_error() {
    either_way(|home, open| {
        set(&open(), "TOKEN", VALUE);
        std::fs::remove_file(home.file(".store")).unwrap();
        check_refused(home, &open(), "TOKEN", ".store", "is missing");
        std::fs::write(home.file(".store"), "{}").unwrap();
        std::fs::set_permissions(home.file(".store"), std::fs::Permissions::from_mode(0o600)).unwrap();
        check_refused(home, &open(), "TOKEN", ".store", "is no record");
    });
}

#[test]
fn logins_live_beside_secrets_and_never_meet_them() {
    let home = Home::new();
    let store = home.store();
    let login = Name::oauth("docs https://docs.example/mcp default").unwrap();
    store.set(&login, &Value::new("tokens")).unwrap();
    set(&store, "docs", "secret");
    assert_eq!(store.get(&login).unwrap().unwrap().expose(), b"tokens");
    let of = |kind| {
        store.list(kind).unwrap().into_iter().map(|listed| listed.entry.unwrap().name).collect::<Vec<_>>()
    };
    assert_eq!((of(Kind::OAuth), of(Kind::Secret)), (vec![login], vec![name("docs")]));
    assert_eq!(store.check().unwrap().len(), 2);
}

#[test]
fn a_value_that_is_no_credential_is_refused() {
    let home = Home::new();
    let error = home.store().set(&name("BIG"), &Value::new(vec![0; MAX_BYTES + 1])).unwrap_err();
    assert!(matches!(error, StoreError::TooLong { .. }));
    assert!(!home.file("").exists());
}
