use super::*;
use crate::name::Name;

fn credentials() -> Vec<(Head, Value)> {
    let of = |name, generation, value: &[u8]| (Head { name, generation }, Value::new(value));
    vec![
        of(Name::secret("A").unwrap(), 3, b"one\ntwo"),
        of(Name::secret("EMPTY").unwrap(), 1, b""),
        of(Name::oauth("docs https://docs.example/mcp default").unwrap(), 9, &[0, 255, b'\n', 7]),
    ]
}

fn passphrase(text: &str) -> BackupKey {
    BackupKey::Passphrase(Value::new(text))
}

fn key(byte: u8) -> BackupKey {
    BackupKey::Key(Key::from_bytes(&[byte; 32]).unwrap())
}

#[test]
fn what_is_sealed_comes_back_by_passphrase_or_by_key() {
    for with in [passphrase("correct horse battery"), key(1)] {
        let file = seal(&credentials(), &with).unwrap();
        assert!(!file.windows(3).any(|part| part == b"two" || part == b"doc"), "names are sealed, too");
        assert!(open(&file, &with).unwrap() == credentials());
        assert_ne!(file, seal(&credentials(), &with).unwrap());
    }
}

#[test]
fn another_passphrase_another_key_and_the_wrong_kind_open_nothing() {
    let of_passphrase = seal(&credentials(), &passphrase("correct horse battery")).unwrap();
    assert_eq!(open(&of_passphrase, &passphrase("correct horse")).unwrap_err(), Unread::NotOpened);
    assert!(
        matches!(open(&of_passphrase, &key(1)).unwrap_err(), Unread::Damaged(why) if why.contains("passphrase"))
    );
    let of_key = seal(&credentials(), &key(1)).unwrap();
    assert_eq!(open(&of_key, &key(2)).unwrap_err(), Unread::NotOpened);
    assert!(
        matches!(open(&of_key, &passphrase("x")).unwrap_err(), Unread::Damaged(why) if why.contains("key file"))
    );
}

#[test]
fn every_changed_bit_and_every_cut_is_found() {
    let file = seal(&credentials(), &key(1)).unwrap();
    for at in 0..file.len() {
        let mut changed = file.clone();
        changed[at] ^= 1;
        assert!(open(&changed, &key(1)).is_err(), "byte {at}");
        assert!(open(&file[..at], &key(1)).is_err(), "{at} bytes");
    }
}

/// Nobody is kept busy by a file that asks for it.
#[test]
fn a_derivation_beyond_measure_is_refused() {
    for line in [
        r#"{"manifold":"credentials backup 1","kdf":{"name":"pbkdf2-hmac-sha512","iterations":4294967295,"salt":"00112233445566778899aabbccddeeff"}}"#,
        r#"{"manifold":"credentials backup 1","kdf":{"name":"pbkdf2-hmac-sha512","iterations":0,"salt":"00112233445566778899aabbccddeeff"}}"#,
        r#"{"manifold":"credentials backup 1","kdf":{"name":"other","iterations":1,"salt":"00112233445566778899aabbccddeeff"}}"#,
        r#"{"manifold":"credentials backup 1","kdf":{"name":"pbkdf2-hmac-sha512","iterations":1,"salt":"00"}}"#,
    ] {
        let file = [line.as_bytes(), b"\n", &[0; 40]].concat();
        let error = open(&file, &passphrase("x")).unwrap_err();
        assert_eq!(error, Unread::Damaged("is sealed in a way this version does not know"), "{line}");
    }
}
