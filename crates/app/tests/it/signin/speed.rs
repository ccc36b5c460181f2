//! How soon who is not signed in hears of it, and what signing in costs a call. The times are figures.
#![expect(clippy::disallowed_types, reason = "real processes run in real time")]

use std::time::{Duration, Instant};

use manifold_testkit::http::{Gateway, calling};
use manifold_testkit::{Client, OAuthFake, Sandbox, figures, until};
use serde_json::{Value, json};

use super::{PATIENCE, config, gateway, sign_in, text_of, world};

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let began = Instant::now();
    let done = work();
    (done, began.elapsed())
}

fn percentile(times: &mut [Duration], share: f64) -> Duration {
    times.sort_unstable();
    times[((times.len() - 1) as f64 * share) as usize]
}

// Row 8 of signing in: calls beside a token that is renewed meanwhile, and beside one that stands in the file.
#[test]
fn a_token_that_is_renewed_costs_a_call_nothing() {
    let calls = if figures::are_wanted() { 20_000 } else { 300 };
    let (sandbox, server) = world();
    // Renewed about every three seconds.
    server.set_life(4);
    sign_in(&sandbox, &[]);
    let fixed = Sandbox::new();
    let headers = json!({"Authorization": format!("Bearer {}", server.give_token())});
    fixed.write_config(&json!({"mcpServers": {"far": {"url": server.url(), "headers": headers}}}));
    let mut clients = [gateway(&sandbox, &[]), gateway(&fixed, &[])];
    for client in &mut clients {
        assert!(until(PATIENCE, || client.call("far__echo", json!({"text": "in"}))["result"].is_object()));
    }
    let refused = server.count("unauthorized");
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..calls {
        for (client, times) in clients.iter_mut().zip(&mut times) {
            let (answer, took) = timed(|| client.call("far__echo", json!({"text": "in"})));
            assert_eq!(text_of(&answer), "in");
            times.push(took);
        }
    }
    assert_eq!((server.count("unauthorized"), server.count("reuse")), (refused, 0), "none was refused");
    let total = |times: &[Duration]| times.iter().sum::<Duration>().as_secs_f64();
    let [signed_in, with_header] = [total(&times[0]), total(&times[1])];
    figures::ratio("8: calls per second lost to signing in", signed_in / with_header - 1.0, 0.01);
    let [signed_in, with_header] = times.each_mut().map(|times| percentile(times, 0.99).as_secs_f64());
    figures::ratio("8: p99 of a call with a renewed token over a fixed one", signed_in / with_header, 1.1);
    println!("{calls} calls each, {} renewals", server.count("refresh"));
}

/// A way to call: by which transport, in which revision.
enum Caller {
    Pipe(Box<Client>),
    Http(Gateway, bool),
}

impl Caller {
    fn all(sandboxes: &[Sandbox; 4], config: &Value) -> Vec<(&'static str, Self)> {
        let [one, two, three, four] = sandboxes;
        let mut modern = gateway(two, &[]);
        modern.speak_modern(json!({}));
        vec![
            ("stdio, 2025-11-25", Self::Pipe(Box::new(gateway(one, &[])))),
            ("stdio, 2026-07-28", Self::Pipe(Box::new(modern))),
            ("the API over HTTP", Self::Http(Gateway::start(three, config, &[]), false)),
            ("HTTP, 2026-07-28", Self::Http(Gateway::start(four, config, &[]), true)),
        ]
    }

    fn whoami(&mut self) -> Value {
        let params = json!({"name": "far__whoami", "arguments": {}});
        match self {
            Self::Pipe(client) => client.call("far__whoami", json!({})),
            Self::Http(gateway, true) => {
                manifold_testkit::http_client::HttpCaller::new(gateway.port, "/mcp", json!({}))
                    .ask("tools/call", params)
            }
            Self::Http(gateway, false) => {
                let body = calling(1, "tools/call", params);
                gateway.ask("POST", "/api/default/mcp", &[], &body).json()
            }
        }
    }
}

// Row 10 of signing in: who calls hears at once what to do, and can go on as soon as somebody has.
#[test]
fn every_era_and_transport_hears_at_once_what_to_do() {
    let server = OAuthFake::start();
    let sandboxes = [(); 4].map(|()| Sandbox::new());
    for sandbox in &sandboxes {
        sandbox.write_config(&config(&server));
    }
    for ((way, mut caller), sandbox) in Caller::all(&sandboxes, &config(&server)).into_iter().zip(&sandboxes)
    {
        // The first meets the server.
        caller.whoami();
        let (told, took) = timed(|| caller.whoami());
        let message = told["error"]["message"].as_str().unwrap_or_else(|| panic!("{way}: {told}"));
        assert!(message.contains("'far'") && message.contains("`manifold login far`"), "{way}: {message}");
        assert_eq!(told["error"]["data"]["state"], "needs login", "{way}");
        figures::took(&format!("10: the error of a call, {way}"), took, Duration::from_millis(50));
        sign_in(sandbox, &[]);
        let (worked, took) =
            timed(|| until(PATIENCE, || caller.whoami()["result"]["content"][0]["text"] == "somebody"));
        assert!(worked, "{way}");
        figures::took(
            &format!("10: from the login to a call that works, {way}"),
            took,
            Duration::from_secs(1),
        );
    }
    assert_eq!(server.count("authorize"), 4, "one login each, and none by itself");
}
