//! No challenge makes the reader panic, what it takes out is fit to be used, and what stands inside a quoted value is
//! never taken for a parameter.

use manifold_oauth::{Challenge, Url};

pub(crate) fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let lines: Vec<&str> = text.split('\n').collect();
    if let Some(challenge) = Challenge::parse(lines.iter().copied()) {
        assert!(text.to_ascii_lowercase().contains("bearer"));
        check_values(&challenge);
    }
    check_quoting(&text);
    check_address(&text);
}

fn check_values(challenge: &Challenge) {
    for scope in challenge.scopes() {
        assert!(!scope.is_empty() && scope.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"'));
    }
    if let Some(error) = &challenge.error {
        assert!(error.len() <= 64 && error.bytes().all(|byte| byte.is_ascii_graphic()));
    }
    if let Some(description) = &challenge.error_description {
        assert!(description.chars().count() <= 201 && !description.contains(char::is_control));
    }
}

/// Whatever a server says in a description, it says there alone.
fn check_quoting(text: &str) {
    let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
    if quoted.len() > 8 << 10 {
        return;
    }
    let header = format!("Negotiate, Bearer error_description=\"{quoted}\", scope=\"a b\"");
    let challenge = Challenge::parse([header.as_str()]).expect("there is a Bearer challenge");
    assert_eq!(
        (challenge.scope.as_deref(), challenge.resource_metadata, challenge.error),
        (Some("a b"), None, None)
    );
}

/// An address that is taken has no second reading: it is read the same from its own parts.
fn check_address(text: &str) {
    let Ok(url) = Url::parse(text) else { return };
    assert_eq!(url.as_str(), text);
    assert!(!url.host().is_empty() && !url.host().contains(['@', '/', '\\', '?', '#']));
    let again = Url::parse(&format!("{}{}", url.origin(), url.target())).expect("its parts make an address");
    assert_eq!((again.host(), again.port(), again.scheme()), (url.host(), url.port(), url.scheme()));
    assert_eq!((again.query(), again.target()), (url.query(), url.target()));
}
