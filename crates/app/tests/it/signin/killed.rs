//! A gateway that is killed while it renews a token.

use std::thread;
use std::time::Duration;

use manifold_testkit::until;
use serde_json::json;

use super::{PATIENCE, gateway, run, sign_in, text_of, world};

fn rounds() -> u64 {
    if std::env::var_os("MANIFOLD_LONG").is_some() { 300 } else { 15 }
}

// Row 6 of signing in, with real processes: an authorization server that forgives a lost answer.
#[test]
fn a_gateway_that_is_killed_while_it_renews_loses_no_login() {
    let (sandbox, server) = world();
    server.forgive();
    sign_in(&sandbox, &[]);
    // Its answer is under way for a while: some are killed before it, some after, some as they write.
    server.set_pause(Duration::from_millis(10));
    for round in 0..rounds() {
        server.refuse_tokens();
        let before = server.times_heard("grant_type=refresh_token");
        let mut killed = gateway(&sandbox, &[]);
        killed.request("tools/call", json!({"name": "far__whoami", "arguments": {}}));
        assert!(until(PATIENCE, || server.times_heard("grant_type=refresh_token") > before));
        thread::sleep(Duration::from_micros(round * 1_700 % 31_000));
        // It is killed by this, with no chance to do anything.
        drop(killed);
        let status = run(&sandbox, &["status", "--json"]);
        assert!(!status.stdout.contains("store failed"), "round {round}: {}", status.stdout);
        let mut next = gateway(&sandbox, &[]);
        assert_eq!(text_of(&next.call("far__whoami", json!({}))), "somebody", "round {round}");
        next.leave();
    }
    assert_eq!((server.count("authorize"), server.count("reuse")), (1, 0));
}
