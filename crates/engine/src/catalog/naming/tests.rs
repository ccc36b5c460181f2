use proptest::prelude::*;

use super::*;

fn naming(separator: &str) -> Naming {
    Naming { separator: separator.to_owned(), max_length: 64, keeps_names: false }
}

#[test]
fn safe_names_are_joined_plainly() {
    // S1-17, S3-5, S2-7, S2-16
    assert_eq!(naming(".").expose("fs", "fs", "read_file"), "fs.read_file");
    assert_eq!(naming("__").expose("Time", "Time", "get_current_time"), "Time__get_current_time");
    assert_eq!(naming("-").expose("web-search", "web-search", "webSearchPrime"), "web-search-webSearchPrime");
    assert_eq!(naming("").expose("fs", "fs", "read"), "read");
}

#[test]
fn unsafe_names_get_a_stable_hash() {
    let naming = naming("__");
    let dotted = naming.expose("a", "a", "x.y");
    assert!(dotted.starts_with("a__x_y_") && may_be_hashed(&dotted), "{dotted}");
    assert_eq!(dotted, naming.expose("a", "a", "x.y"));
    assert_ne!(dotted, naming.expose("a", "a", "x_y"));
    assert_ne!(dotted, naming.expose("a", "b", "x.y"), "the server's key is part of the hash");
    assert!(naming.expose("a", "a", "工具").is_ascii());
}

#[test]
fn dots_are_kept_where_the_separator_is_one() {
    assert_eq!(naming(".").expose("fs", "fs", "a.b"), "fs.a.b");
}

#[test]
fn the_longest_server_id_wins() {
    let ids = || ["web", "web-search", "we"].into_iter().map(str::to_owned).enumerate();
    assert_eq!(
        readings("web-search-webSearchPrime", "-", ids()),
        [(1, "webSearchPrime"), (0, "search-webSearchPrime")]
    );
    assert_eq!(readings("web__x__y", "-", ids()), [(0, "x__y")]);
    assert_eq!(readings("web", "-", ids()), []);
    assert_eq!(readings("web-", "-", ids()), []);
}

proptest! {
    #[test]
    fn exposed_names_fit_every_client(server in "[A-Za-z0-9_-]{1,40}", tool in ".{0,200}", separator in "__|-") {
        let naming = naming(&separator);
        let name = naming.expose(&server, &server, &tool);
        prop_assert!(!name.is_empty() && name.len() <= 64, "{}", name);
        prop_assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'));
    }

    #[test]
    fn different_tools_get_different_names(a in ".{1,80}", b in ".{1,80}") {
        prop_assume!(a != b);
        let naming = naming("__");
        prop_assert_ne!(naming.expose("s", "s", &a), naming.expose("s", "s", &b));
    }
}

#[test]
fn names_of_their_own_stay_as_they_are() {
    for name in ["read", "do.it", "päth/x y", ""] {
        assert_eq!(Naming::own().expose("", "s", name), name);
    }
}
