use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::*;

const HEX: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

#[test]
fn a_key_is_read_as_hex_and_in_either_base64() {
    let bytes: Vec<u8> = (0..32).collect();
    let expected = Key::from_bytes(&bytes).unwrap().fingerprint();
    for text in [
        HEX.to_owned(),
        HEX.to_uppercase(),
        format!(" {HEX}\n"),
        STANDARD.encode(&bytes),
        STANDARD_NO_PAD.encode(&bytes),
        URL_SAFE.encode(&bytes),
    ] {
        assert_eq!(Key::from_text(&text).unwrap().fingerprint(), expected, "{text}");
    }
    for text in ["", "passphrase", &HEX[1..], &format!("{HEX}00"), &HEX.replace('0', "g")] {
        assert!(Key::from_text(text).is_err(), "{text}");
    }
}

fn chosen(variables: &[(&str, &str)], home: &Path) -> Box<dyn KeySource> {
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    choose_key(&BTreeMap::from_iter(variables), home)
}

#[test]
fn what_is_given_comes_before_what_is_found() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().to_str().unwrap();
    let file = home.path().join("manifold-key");
    std::fs::write(&file, HEX).unwrap();
    let named = file.to_str().unwrap();
    let kind = |variables: &[(&str, &str)]| chosen(variables, home.path()).kind();
    assert_eq!(kind(&[]), KeyKind::Beside);
    assert_eq!(kind(&[("CREDENTIALS_DIRECTORY", folder)]), KeyKind::File);
    // A unit may have other credentials than ours.
    assert_eq!(kind(&[("CREDENTIALS_DIRECTORY", "/nowhere")]), KeyKind::Beside);
    assert_eq!(kind(&[("MANIFOLD_KEY_FILE", named), ("CREDENTIALS_DIRECTORY", folder)]), KeyKind::File);
    assert_eq!(kind(&[("MANIFOLD_KEY", HEX), ("MANIFOLD_KEY_FILE", named)]), KeyKind::Variable);
    assert_eq!(kind(&[("MANIFOLD_KEY", "")]), KeyKind::Beside);
}

#[test]
fn a_key_that_is_named_and_no_key_is_an_error_that_names_its_place() {
    let home = tempfile::tempdir().unwrap();
    let error = chosen(&[("MANIFOLD_KEY", "passphrase")], home.path()).find().unwrap_err().to_string();
    assert!(error.starts_with("MANIFOLD_KEY: is no key") && !error.contains("passphrase"), "{error}");
    let missing = chosen(&[("MANIFOLD_KEY_FILE", "/nowhere/key")], home.path());
    for error in [missing.find().unwrap_err(), missing.make().unwrap_err()] {
        assert!(error.to_string().starts_with("/nowhere/key: "), "{error}");
    }
}

#[test]
fn the_key_beside_the_store_is_made_once_and_read_only_if_it_is_ours_alone() {
    let home = tempfile::tempdir().unwrap();
    let source = BesideKey::of(home.path());
    assert!(source.find().unwrap().is_none());
    let made = source.make().unwrap().fingerprint();
    assert_eq!(source.find().unwrap().unwrap().fingerprint(), made);
    source.make().unwrap_err();
    std::fs::set_permissions(source.path(), std::fs::Permissions::from_mode(0o640)).unwrap();
    let error = source.find().unwrap_err().to_string();
    assert!(error.contains("credentials.key: has mode 640") && error.contains("chmod 600"), "{error}");
}
