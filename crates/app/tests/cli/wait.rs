//! `wait`: ready, failed, or too late.

use manifold_admin::State;
use serde_json::json;

use crate::fake::Gateway;
use crate::{happening, in_state, value};

const EVENTS: &str = "GET /v1/events?topics=server";
const SERVER: &str = "GET /v1/servers/git";

#[test]
fn a_server_that_is_ready_is_not_waited_for() {
    let gateway = Gateway::new().streams(EVENTS, &[], true).says(SERVER, &value(&in_state(State::Ready)));
    assert_eq!(gateway.shown("wait git"), "git is ready\n");
    assert_eq!(gateway.json("wait git --json")["state"], "ready");
}

#[test]
fn events_tell_when_it_is_ready() {
    let mut other = in_state(State::Ready);
    other.key.id = "other".to_owned();
    let events = [
        ("config", json!({"seq": 1, "kind": "other"})),
        ("server", happening(&other)),
        ("server", happening(&in_state(State::Starting))),
        ("server", happening(&in_state(State::Ready))),
    ];
    let gateway = Gateway::new().streams(EVENTS, &events, true).says(SERVER, &value(&in_state(State::Idle)));
    assert_eq!(gateway.shown("wait git"), "git is ready\n");
}

#[test]
fn a_server_that_failed_ends_the_wait_with_4() {
    let failed = [("server", happening(&in_state(State::Failed)))];
    let gateway =
        Gateway::new().streams(EVENTS, &failed, true).says(SERVER, &value(&in_state(State::Starting)));
    assert_eq!(gateway.fails("wait git", 4, "'git' has failed"), "failed-to-start");
    let gateway =
        Gateway::new().streams(EVENTS, &[], true).says(SERVER, &value(&in_state(State::NeedsLogin)));
    assert_eq!(gateway.fails("wait git", 6, "'git' wants a sign-in"), "sign-in");
    let gateway = Gateway::new().streams(EVENTS, &[], true).says(SERVER, &value(&in_state(State::Disabled)));
    assert_eq!(gateway.fails("wait git", 8, "'git' is disabled; `manifold enable git`"), "denied");
}

#[test]
fn what_does_not_happen_in_time_ends_with_124() {
    let gateway = Gateway::new().streams(EVENTS, &[], true).says(SERVER, &value(&in_state(State::Idle)));
    assert_eq!(gateway.fails("wait git --timeout 1", 124, "'git' was not ready within 1 ms"), "timed-out");
}

#[test]
fn a_gateway_that_ends_and_a_name_that_is_not_there_are_told_apart() {
    let gateway = Gateway::new().streams(EVENTS, &[], false).says(SERVER, &value(&in_state(State::Idle)));
    assert_eq!(gateway.fails("wait git", 3, "the daemon (pid 4711) has ended"), "not-running");
    let gateway = Gateway::new().streams(EVENTS, &[], true).refuses(
        SERVER,
        404,
        "unknown-server",
        "there is no server 'git'",
    );
    assert_eq!(gateway.fails("wait git", 7, "there is no server 'git'"), "unknown-server");
}
