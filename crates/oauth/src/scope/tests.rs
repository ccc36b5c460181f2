use super::*;
use crate::fakes;

fn check(
    asked: &[&str],
    configured: &[&str],
    challenge: Option<&str>,
    offered: Option<&[&str]>,
    server: &[&str],
    known: Option<(&[&str], &[&str])>,
) -> String {
    let owned = |list: &[&str]| list.iter().map(|scope| (*scope).to_owned()).collect::<Vec<_>>();
    let challenge =
        challenge.map(|scope| Challenge { scope: Some(scope.to_owned()), ..Challenge::default() });
    let resource = offered.map(|offered| ResourceMetadata {
        resource: String::new(),
        authorization_servers: Vec::new(),
        scopes_supported: Some(owned(offered)),
        resource_name: None,
    });
    let known = known.map(|(requested, wanted)| {
        let mut known = fakes::credential();
        known.requested_scopes = owned(requested);
        known.wanted_scopes = owned(wanted);
        known.granted_scopes = Vec::new();
        known
    });
    let server = ServerMetadata { scopes_supported: Some(owned(server)), ..ServerMetadata::default() };
    let (asked, configured) = (owned(asked), owned(configured));
    let choice = Choice {
        asked: &asked,
        configured: &configured,
        challenge: challenge.as_ref(),
        resource: resource.as_ref(),
        server: &server,
        known: known.as_ref(),
    };
    choice.scopes().join(" ")
}

#[test]
fn scopes_are_chosen_in_order() {
    assert_eq!(check(&["x"], &["c"], Some("h"), Some(&["p"]), &["s"], None), "x");
    assert_eq!(check(&[], &["c"], Some("h"), Some(&["p"]), &["s"], None), "c");
    assert_eq!(check(&[], &[], Some("h i"), Some(&["p"]), &["s"], None), "h i");
    assert_eq!(check(&[], &[], None, Some(&["p", "q"]), &["s"], None), "p q");
    assert_eq!(
        check(&[], &[], None, None, &["s"], None),
        "",
        "what the authorization server knows is no default"
    );
}

#[test]
fn a_step_up_keeps_what_was_asked_before() {
    assert_eq!(
        check(&[], &[], None, Some(&["unrelated"]), &[], Some((&["basic"], &["write"]))),
        "basic write"
    );
    assert_eq!(
        check(&[], &[], Some("write"), Some(&["unrelated"]), &[], Some((&["basic"], &[]))),
        "basic write"
    );
    assert_eq!(check(&[], &["c"], None, None, &[], Some((&["basic"], &["write"]))), "c write");
}

#[test]
fn offline_access_is_the_authorization_servers_word() {
    assert_eq!(check(&[], &[], Some("a offline_access"), None, &["a"], None), "a");
    assert_eq!(check(&[], &[], Some("a"), None, &["a", "offline_access"], None), "a offline_access");
    assert_eq!(check(&[], &[], None, None, &["offline_access"], None), "");
    assert_eq!(
        check(&[], &["a", "offline_access"], None, None, &[], None),
        "a offline_access",
        "the user knows best"
    );
}

#[test]
fn a_renewal_asks_for_what_was_asked_for_and_given() {
    let check = |requested: &str, granted: &str, renewed: &str| {
        assert_eq!(to_renew(&split(requested), &split(granted)).join(" "), renewed);
    };
    check("read write", "read write", "read write");
    check("read offline_access", "read", "read");
    check("read", "read write", "read");
    check("read", "", "read");
    check("read", "https://issuer.example/read", "read");
}
