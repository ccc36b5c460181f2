use std::os::unix::net::UnixListener;

use super::*;

fn variables(of: &[(&str, &str)]) -> BTreeMap<String, String> {
    of.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn the_bus_is_the_one_that_is_named_or_that_a_login_has_made() {
    assert_eq!(address(&variables(&[])), None);
    assert_eq!(address(&variables(&[("XDG_RUNTIME_DIR", "/nowhere")])), None);
    let named = variables(&[("DBUS_SESSION_BUS_ADDRESS", "unix:path=/x"), ("XDG_RUNTIME_DIR", "/nowhere")]);
    assert_eq!(address(&named).unwrap(), "unix:path=/x");
    let folder = tempfile::tempdir().unwrap();
    let odd = folder.path().join("a b");
    std::fs::create_dir(&odd).unwrap();
    std::fs::write(odd.join("bus"), "").unwrap();
    let found = address(&variables(&[("XDG_RUNTIME_DIR", odd.to_str().unwrap())])).unwrap();
    assert!(found.starts_with("unix:path=/") && found.ends_with("/a%20b/bus"), "{found}");
}

#[test]
fn no_bus_and_a_bus_that_is_gone_are_no_keyring() {
    let none = SecretService { address: None, limit: LIMIT };
    assert!(matches!(none.find("x"), Err(KeyringError::Absent(_))));
    let gone =
        SecretService { address: Some("unix:path=/nowhere/bus".to_owned()), limit: Duration::from_secs(60) };
    assert!(matches!(gone.find("x"), Err(KeyringError::Absent(_))));
}

/// The bus takes the connection and never says a word.
#[test]
fn a_bus_that_is_silent_is_given_up_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bus");
    let _listener = UnixListener::bind(&path).unwrap();
    let address = Some(format!("unix:path={}", path.display()));
    let silent = SecretService { address, limit: Duration::from_millis(50) };
    assert_eq!(silent.find("x").unwrap_err(), KeyringError::Silent(0));
}
