use super::*;

fn login() -> Name {
    Name::oauth("docs https://docs.example/mcp default").unwrap()
}

#[test]
fn a_newer_value_is_never_replaced_by_an_older_one() {
    either_way(|_, open| {
        let store = open();
        let save = |value: &str, expected| store.set_if_generation(&login(), &Value::new(value), expected);
        assert!(matches!(save("x", Some(1)), Err(StoreError::OtherGeneration { found: None, .. })));
        assert_eq!(save("one", None).unwrap().generation, 1);
        assert_eq!(save("two", Some(1)).unwrap().generation, 2);
        for stale in [None, Some(1), Some(3)] {
            let error = save("stale", stale).unwrap_err();
            assert!(matches!(error, StoreError::OtherGeneration { found: Some(2), .. }), "{error}");
        }
        let (entry, value) = open().load(&login()).unwrap().unwrap();
        assert_eq!((entry.generation, value.expose_text()), (2, Some("two")));
    });
}

/// A login that is made anew does not pass for an older one of the same number.
#[test]
fn generations_go_on_after_a_removal() {
    let home = Home::new();
    let store = home.store();
    store.set(&login(), &Value::new("one")).unwrap();
    store.set(&login(), &Value::new("two")).unwrap();
    assert!(store.remove(&login()).unwrap());
    assert_eq!(store.load(&login()).unwrap(), None);
    assert_eq!(store.set_if_generation(&login(), &Value::new("new"), None).unwrap().generation, 3);
}

#[test]
fn one_at_a_time_has_the_lock_of_a_credential_and_its_file_stays() {
    let home = Home::new();
    let store = home.store();
    let held = store.try_lock_credential(&login()).unwrap().unwrap();
    assert!(home.store().try_lock_credential(&login()).unwrap().is_none());
    // Another credential's is free, and values can be stored meanwhile.
    store.try_lock_credential(&Name::oauth("other").unwrap()).unwrap().unwrap();
    store.set(&login(), &Value::new("one")).unwrap();
    store.remove(&login()).unwrap();
    drop(held);
    store.lock_credential(&login()).unwrap();
    let locks =
        store.path().read_dir().unwrap().filter(|entry| {
            entry.as_ref().unwrap().file_name().to_string_lossy().starts_with(".lock-oauth.")
        });
    assert_eq!(locks.count(), 2);
}
