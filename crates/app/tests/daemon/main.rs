//! The user's daemon, the shims in front of it and the operators beside them, with the real binary. Numbers like A6 and B6
//! are those of the acceptance lists of issues 14 and 15.
#![expect(clippy::expect_used, reason = "a broken fixture ends its test at once")]

mod alone;
mod churn;
mod continuity;
mod crash;
mod doors;
mod election;
mod forms;
mod frozen;
mod home;
mod instances;
mod messages;
mod mutations;
mod operator;
mod operators;
mod orders;
mod pages;
mod place;
mod planted;
mod readers;
mod recordings;
mod releases;
mod secrets;
mod sharing;
mod speed;
mod surface;
mod terminal;
mod traffic;
mod undo;
mod units;
mod upgrade;
mod verbs;
mod versions;

use std::time::Duration;

use serde_json::{Value, json};

/// How long anything may take. It bounds a wait for what must come, and is no measure.
const SOON: Duration = Duration::from_secs(60);

/// The revision of clients that have a session.
const LEGACY: &str = "2025-11-25";

/// What a client says that is served without the daemon against its will.
const ALONE: &str = "serving without the daemon";

/// The short figure by default, the whole one when there is time.
fn figure(short: usize, long: usize) -> usize {
    if std::env::var_os("MANIFOLD_LONG").is_some() { long } else { short }
}

/// Returns the config entry of a fake server with these tools and more knobs.
fn fake_with(tools: &[&str], more: Value) -> Value {
    let mut knobs = more;
    knobs["tools"] = tools.iter().map(|name| json!({"name": name})).collect();
    manifold_testkit::fake(knobs)
}

/// Returns the text of a tool's result.
fn text_of(response: &Value) -> &str {
    match response["result"]["content"][0]["text"].as_str() {
        Some(text) => text,
        None => panic!("no text in {response}"),
    }
}

/// Chance that is the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit.max(1)
    }
}
