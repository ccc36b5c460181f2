use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use super::*;
use crate::key::{BesideKey, GivenKey};

const VALUE: &str = "hunter2-hunter2";
const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn store(&self) -> Store {
        Store::open(self.0.path(), Box::new(BesideKey::of(self.0.path())))
    }

    fn store_with(&self, key: &str) -> Store {
        Store::open(self.0.path(), Box::new(GivenKey::new(key)))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join("manifold/credentials").join(name)
    }
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
fn check_refused(home: &Home, text: &str, file: &str, expected: &str) {
    let store = home.store();
    let of_set = store.set(&name(text), &Value::new("new")).unwrap_err();
    for error in [get(&store, text).unwrap_err(), of_set] {
        let message = error.to_string();
        assert_eq!(error.path().unwrap(), home.file(file), "{message}");
        assert!(message.starts_with(home.file(file).to_str().unwrap()), "{message}");
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn values_come_back_and_each_change_is_counted() {
    let home = Home::new();
    let store = home.store();
    assert_eq!(get(&store, "TOKEN").unwrap(), None);
    assert!(!home.file("").exists(), "to look makes nothing");
    assert_eq!(set(&store, "TOKEN", VALUE).generation, 1);
    assert_eq!(set(&store, "TOKEN", "other").generation, 2);
    assert_eq!(set(&store, "b.c-d_e", "").generation, 1);
    assert_eq!(get(&home.store(), "TOKEN").unwrap().unwrap(), "other");
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
}

#[test]
fn files_and_folder_are_ours_alone_and_hold_no_value_in_clear() {
    let home = Home::new();
    set(&home.store(), "TOKEN", VALUE);
    assert_eq!(std::fs::metadata(home.file("")).unwrap().mode() & 0o777, 0o700);
    for entry in std::fs::read_dir(home.file("")).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600, "{}", path.display());
        let bytes = std::fs::read(&path).unwrap();
        assert!(!bytes.windows(8).any(|part| part == &VALUE.as_bytes()[..8]), "{}", path.display());
    }
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
    let home = Home::new();
    set(&home.store(), "TOKEN", VALUE);
    let whole = std::fs::read(home.file("secret.TOKEN")).unwrap();
    for bytes in [0, 5, whole.len() - 20, whole.len() - 1] {
        std::fs::write(home.file("secret.TOKEN"), &whole[..bytes]).unwrap();
        check_refused(&home, "TOKEN", "secret.TOKEN", "store the value again");
    }
    assert!(home.store().check().unwrap()[0].entry.is_err());
    assert!(home.store().remove(&name("TOKEN")).unwrap());
    set(&home.store(), "TOKEN", VALUE);
}

#[test]
fn one_names_file_in_anothers_place_is_an_error() {
    let home = Home::new();
    set(&home.store(), "MINE", VALUE);
    set(&home.store(), "OTHER", "other");
    std::fs::copy(home.file("secret.OTHER"), home.file("secret.MINE")).unwrap();
    check_refused(&home, "MINE", "secret.MINE", "holds `OTHER`");
    // And with its line rewritten, it does not open.
    let bytes = std::fs::read(home.file("secret.OTHER")).unwrap();
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap();
    let line = String::from_utf8(bytes[..end].to_vec()).unwrap().replace("OTHER", "MINE");
    std::fs::write(home.file("secret.MINE"), [line.as_bytes(), &bytes[end..]].concat()).unwrap();
    check_refused(&home, "MINE", "secret.MINE", "cannot be opened");
}

#[test]
fn links_are_not_followed() {
    let home = Home::new();
    set(&home.store(), "TOKEN", VALUE);
    std::fs::rename(home.file("secret.TOKEN"), home.file("elsewhere")).unwrap();
    symlink(home.file("elsewhere"), home.file("secret.TOKEN")).unwrap();
    check_refused(&home, "TOKEN", "secret.TOKEN", "is a link");
    assert!(home.store().remove(&name("TOKEN")).unwrap());
    assert!(home.file("elsewhere").exists(), "what it led to stays");
}

#[test]
fn a_folder_that_is_a_link_or_open_to_others_is_refused() {
    let home = Home::new();
    set(&home.store(), "TOKEN", VALUE);
    std::fs::set_permissions(home.file(""), std::fs::Permissions::from_mode(0o755)).unwrap();
    let error = get(&home.store(), "TOKEN").unwrap_err().to_string();
    assert!(error.contains("credentials: has mode 755") && error.contains("chmod 700"), "{error}");
    std::fs::set_permissions(home.file(""), std::fs::Permissions::from_mode(0o700)).unwrap();
    let (folder, moved) = (home.0.path().join("manifold/credentials"), home.0.path().join("moved"));
    std::fs::rename(&folder, &moved).unwrap();
    symlink(&moved, &folder).unwrap();
    assert!(matches!(get(&home.store(), "TOKEN"), Err(StoreError::Link { .. })));
}

#[test]
fn a_file_others_can_read_is_refused() {
    let home = Home::new();
    set(&home.store(), "TOKEN", VALUE);
    std::fs::set_permissions(home.file("secret.TOKEN"), std::fs::Permissions::from_mode(0o644)).unwrap();
    check_refused(&home, "TOKEN", "secret.TOKEN", "mode 644");
}

#[test]
fn another_key_is_an_error_and_never_a_second_store() {
    let home = Home::new();
    set(&home.store_with(KEY), "TOKEN", VALUE);
    let error = get(&home.store(), "TOKEN").unwrap_err().to_string();
    assert!(error.contains("credentials.key: the key that opens the store is gone"), "{error}");
    let other = home.store_with(&KEY.replace("00", "ff"));
    assert!(matches!(get(&other, "TOKEN"), Err(StoreError::OtherKey { .. })));
}

#[test]
fn the_key_that_was_chosen_first_is_the_stores_key() {
    let home = Home::new();
    set(&home.store(), "TOKEN", VALUE);
    let other = home.store_with(KEY);
    for error in [get(&other, "TOKEN").unwrap_err(), other.set(&name("NEW"), &Value::new("x")).unwrap_err()] {
        let message = error.to_string();
        assert!(message.contains(".store: this store is sealed with another key"), "{message}");
        assert!(message.contains("beside the store") && message.contains("MANIFOLD_KEY"), "{message}");
    }
    assert_eq!(home.store().recorded_key().unwrap(), Some(KeyKind::Beside));
    // With its key gone, no new one is made.
    std::fs::remove_file(home.0.path().join("manifold/credentials.key")).unwrap();
    for error in [
        get(&home.store(), "TOKEN").unwrap_err(),
        home.store().set(&name("NEW"), &Value::new("x")).unwrap_err(),
    ] {
        assert!(
            error.to_string().contains("credentials.key: the key that opens the store is gone"),
            "{error}"
        );
    }
    assert!(!home.0.path().join("manifold/credentials.key").exists());
}

#[test]
fn a_store_without_its_record_is_an_error() {
    let home = Home::new();
    set(&home.store(), "TOKEN", VALUE);
    std::fs::remove_file(home.file(".store")).unwrap();
    check_refused(&home, "TOKEN", ".store", "is missing");
    std::fs::write(home.file(".store"), "{}").unwrap();
    std::fs::set_permissions(home.file(".store"), std::fs::Permissions::from_mode(0o600)).unwrap();
    check_refused(&home, "TOKEN", ".store", "is no record");
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

/// Each file has counted every change of it.
#[test]
fn many_writers_at_once_lose_nothing() {
    const WRITERS: usize = 8;
    const CHANGES: usize = 25;
    let home = Home::new();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let store = home.store();
            scope.spawn(move || {
                for change in 0..CHANGES {
                    set(&store, &format!("S{}", change % 5), &format!("{writer}-{change}"));
                }
            });
        }
    });
    let listed = home.store().check().unwrap();
    let generations: Vec<u64> = listed.into_iter().map(|listed| listed.entry.unwrap().generation).collect();
    assert_eq!(generations, [(WRITERS * CHANGES / 5) as u64; 5]);
    assert!(
        !home.store().path().read_dir().unwrap().any(|entry| entry
            .unwrap()
            .file_name()
            .to_string_lossy()
            .starts_with(".part"))
    );
}
