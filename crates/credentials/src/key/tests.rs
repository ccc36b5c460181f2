use std::collections::BTreeMap;

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

fn given(variables: &[(&str, &str)]) -> Option<Given> {
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Given::among(&BTreeMap::from_iter(variables))
}

#[test]
fn what_is_given_comes_before_what_is_found() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().to_str().unwrap();
    let file = home.path().join("manifold-key");
    std::fs::write(&file, HEX).unwrap();
    let named = file.to_str().unwrap();
    let kind = |variables: &[(&str, &str)]| given(variables).map(|given| given.kind());
    assert_eq!(kind(&[]), None);
    assert_eq!(kind(&[("CREDENTIALS_DIRECTORY", folder)]), Some(KeyKind::Systemd));
    // A unit may have other credentials than ours.
    assert_eq!(kind(&[("CREDENTIALS_DIRECTORY", "/nowhere")]), None);
    assert_eq!(kind(&[("MANIFOLD_KEY_FILE", named), ("CREDENTIALS_DIRECTORY", folder)]), Some(KeyKind::File));
    assert_eq!(kind(&[("MANIFOLD_KEY", HEX), ("MANIFOLD_KEY_FILE", named)]), Some(KeyKind::Variable));
    assert_eq!(kind(&[("MANIFOLD_KEY", "")]), None);
}

#[test]
fn a_key_that_is_named_and_no_key_is_an_error_that_names_its_place() {
    let error = given(&[("MANIFOLD_KEY", "passphrase")]).unwrap().read().unwrap_err().to_string();
    assert!(error.starts_with("MANIFOLD_KEY: is no key") && !error.contains("passphrase"), "{error}");
    let missing = given(&[("MANIFOLD_KEY_FILE", "/nowhere/key")]).unwrap();
    let error = missing.read().unwrap_err();
    assert!(error.to_string().starts_with("/nowhere/key: "), "{error}");
    assert!(!format!("{:?}", given(&[("MANIFOLD_KEY", HEX)])).contains(HEX));
}
