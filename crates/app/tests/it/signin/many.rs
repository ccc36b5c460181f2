//! Twenty servers that nobody is signed in to: lists are as they were, none of the servers is asked for one, and nothing
//! opens.
#![expect(clippy::disallowed_types, reason = "how fast a list comes is measured in real time")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use manifold_testkit::{Client, OAuthFake, Sandbox, figures, until};
use serde_json::{Map, Value, json};

use super::{PATIENCE, gateway, run, sign_in};

const SERVERS: usize = 20;

/// So many servers that share a login; the first is called as `login` knows it.
fn many(server: &OAuthFake) -> Value {
    let entry = json!({"url": server.url(), "oauth": {"credential": "company"}});
    let named = |at: usize| if at == 0 { "far".to_owned() } else { format!("far-{at}") };
    let servers: Map<String, Value> = (0..SERVERS).map(|at| (named(at), entry.clone())).collect();
    json!({"mcpServers": servers, "managerTools": false})
}

/// Starts a gateway whose browser leaves a file behind.
fn with_browser(sandbox: &Sandbox) -> Client {
    let browser = sandbox.write("browser", "#!/bin/sh\ntouch \"$HOME/opened\"\n");
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o700)).unwrap();
    let mut command = sandbox.manifold();
    command.args(["serve", "--stdio"]).env("BROWSER", browser);
    let mut client = Client::spawn(command);
    client.initialize("2025-11-25", json!({}));
    client
}

/// Lists, several times; returns the names and the median of how long it took.
fn listed(client: &mut Client) -> (Vec<String>, Duration) {
    let mut times = Vec::new();
    let mut names = Vec::new();
    for _ in 0..9 {
        let began = Instant::now();
        names = client.tool_names();
        times.push(began.elapsed());
    }
    times.sort_unstable();
    (names, times[times.len() / 2])
}

// Row 9 of signing in.
#[test]
fn a_list_with_twenty_servers_that_need_a_login() {
    let (sandbox, server) = (Sandbox::new(), OAuthFake::start());
    sandbox.write_config(&many(&server));
    sign_in(&sandbox, &[]);
    // Their tools are seen once, and remembered.
    let mut client = gateway(&sandbox, &[]);
    assert!(until(PATIENCE, || client.tool_names().len() == 2 * SERVERS), "{:?}", client.tool_names());
    let (_, signed_in) = listed(&mut client);
    client.leave();
    assert_eq!(run(&sandbox, &["logout", "far"]).code, Some(0));

    let before = server.requests();
    let mut client = with_browser(&sandbox);
    let (names, signed_out) = listed(&mut client);
    assert_eq!(names.len(), 2 * SERVERS, "what is remembered is there: {names:?}");
    assert_eq!(server.requests(), before, "none was asked");
    let told = client.call("far-7__whoami", json!({}));
    assert_eq!(told["error"]["data"]["state"], "needs login", "{told}");
    assert_eq!(client.tool_names().len(), 2 * SERVERS);
    assert!(!sandbox.path("opened").exists(), "nothing opens by itself");
    let later = signed_out.saturating_sub(signed_in);
    figures::took(
        "9: how much longer a list takes, 20 servers need a login",
        later,
        Duration::from_millis(5),
    );

    // Of those that were never met there is nothing to show, and once they have said so they are let be.
    let fresh = Sandbox::new();
    fresh.write_config(&many(&server));
    let mut client = with_browser(&fresh);
    let refused = server.count("unauthorized");
    client.tool_names();
    assert!(until(PATIENCE, || server.count("unauthorized") - refused >= SERVERS), "each says what it wants");
    let before = server.requests();
    let (names, _) = listed(&mut client);
    assert_eq!((names, server.requests()), (Vec::new(), before), "none was asked again");
    assert!(!fresh.path("opened").exists());
    assert_eq!(server.count("authorize"), 1, "that of the first login");
}
