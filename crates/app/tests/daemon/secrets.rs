//! What runs has a secret that is stored or changed beside it.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::home::Home;
use crate::{fake_with, text_of};

fn set(home: &Home, name: &str, value: &str) -> Value {
    let mut command = home.sandbox.daemon();
    command.args(["secret", "set", name, "--json"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the program starts");
    child.stdin.take().expect("a pipe").write_all(value.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn servers_that_use_a_changed_secret_are_started_anew_and_no_others() {
    let mut with_secret = fake_with(&["env", "pid"], json!({}));
    with_secret["env"] = json!({"TOKEN": "${secret:TOKEN}"});
    let home = Home::new(json!({"fx": with_secret, "other": fake_with(&["pid"], json!({}))}));
    let mut window = home.open();
    let call =
        |window: &mut manifold_testkit::Client, tool: &str| window.call(tool, json!({"name": "TOKEN"}));
    let refused = call(&mut window, "fx__env");
    let said = refused.to_string();
    assert!(said.contains("manifold secret set TOKEN"), "{refused}");
    let other = text_of(&call(&mut window, "other__pid")).to_owned();

    assert_eq!(set(&home, "TOKEN", "first-value-1\n")["restarted"], json!(["fx"]));
    assert_eq!(text_of(&call(&mut window, "fx__env")), "first-value-1");
    let before = text_of(&call(&mut window, "fx__pid")).to_owned();

    assert_eq!(set(&home, "TOKEN", "second-value-2\n")["restarted"], json!(["fx"]));
    assert_eq!(text_of(&call(&mut window, "fx__env")), "second-value-2");
    assert_ne!(text_of(&call(&mut window, "fx__pid")), before);
    assert_eq!(text_of(&call(&mut window, "other__pid")), other, "it was left alone");

    // The same value, or one that nobody uses, changes nothing.
    assert_eq!(set(&home, "TOKEN", "second-value-2")["restarted"], json!([]));
    assert_eq!(set(&home, "UNUSED", "third-value-3")["restarted"], json!([]));
    let log = home.log();
    assert!(!log.contains("first-value-1") && !log.contains("second-value-2"), "{log}");
}
