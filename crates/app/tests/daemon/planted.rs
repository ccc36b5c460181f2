//! Twelve secrets, planted wherever one may be, and made to pass by every way there is (E4).

use manifold_testkit::{Client, HttpFake, Sandbox};
use serde_json::json;

use crate::home::Home;
use crate::{fake_with, text_of};

const VARIABLE: &str = "canary/of+a variable";
const OTHER_VARIABLE: &str = "canary-of-another-05";
const HEADER: &str = "canary-of-a-header-06";
const TOKEN: &str = "canary-of-a-token-07";

/// In the forms in which they might be seen.
pub(crate) const PLANTED: [&str; 12] = [
    VARIABLE,
    "Y2FuYXJ5L29mK2EgdmFyaWFibGU",
    "canary%2Fof%2Ba%20variable",
    "canary%2Fof%2Ba+variable",
    OTHER_VARIABLE,
    HEADER,
    TOKEN,
    "canary-named-password-08",
    "canary-named-api-key-09",
    "canary-named-authorization-10",
    "canary-named-cookie-11",
    "canary-named-token-12",
];

/// What is said last.
pub(crate) const LAST: &str = "the last one";

/// A local server with secrets in its variables and a remote one with secrets in its headers.
pub(crate) fn home(remote: &HttpFake) -> Home {
    let mut local = fake_with(&["env", "echo", "complain"], json!({}));
    local["env"] = json!({"KEY": VARIABLE, "OTHER_KEY": OTHER_VARIABLE});
    let headers = json!({"X-Key": HEADER, "Authorization": format!("Bearer {TOKEN}")});
    let far = json!({"url": remote.url(), "headers": headers});
    let config = json!({"mcpServers": {"fx": local, "far": far}, "daemon": {"linger": 1000}});
    Home::within(Sandbox::new(), config)
}

/// Has all of them pass: in arguments, in results, in lines beside the protocol, and under names that secrets have.
pub(crate) fn pass(window: &mut Client) {
    for (name, value) in [("KEY", VARIABLE), ("OTHER_KEY", OTHER_VARIABLE)] {
        assert_eq!(text_of(&window.call("fx__env", json!({ "name": name }))), value);
    }
    let coloured = "canary/\u{1b}[1mof+a\u{1b}[0m variable";
    for text in PLANTED[..7].iter().chain([&coloured]) {
        window.call("fx__echo", json!({ "text": text }));
        window.call("fx__complain", json!({ "text": text }));
        window.call("far__echo", json!({ "text": text }));
    }
    let named = json!({
        "text": "x",
        "password": PLANTED[7],
        "api_key": PLANTED[8],
        "headers": {"Authorization": PLANTED[9], "Cookie": PLANTED[10]},
        "deep": [{"token": PLANTED[11]}],
    });
    window.call("fx__echo", named);
    window.call("fx__echo", json!({ "text": LAST }));
}

/// Fails if one of them is in this.
#[track_caller]
pub(crate) fn are_not_in(what: &str, text: &str) {
    let plain = text.replace("\\u001b[1m", "").replace("\\u001b[0m", "");
    for secret in PLANTED {
        assert!(!plain.contains(secret), "{secret} is in {what}:\n{plain}");
    }
}
