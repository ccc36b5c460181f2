//! Does every server come up, and how long does that take?
#![allow(clippy::disallowed_types, reason = "no runtime runs here")]

use std::time::{Duration, Instant};

use manifold_admin::{Server, State};
use manifold_admin_client::segment;
use manifold_config::{Server as Configured, ServerKey, ServerStart};

use super::context::Context;
use super::{Outcome, Trouble};
use crate::commands::source::Source;
use crate::output::{Exit, Failure, span};

/// So many are started at once.
const AT_ONCE: usize = 8;

/// What came of starting one.
struct Tried {
    name: String,
    took: Duration,
    outcome: Result<State, Failure>,
}

/// Starts every server that can work. One that an operator has stopped, or that is only started by hand, is left alone.
pub(super) fn handshake(context: &Context<'_>) -> Outcome {
    let can_work = |server: &&Configured| server.fault.is_none() && server.start != ServerStart::Manual;
    let names: Vec<String> = context.servers().filter(can_work).map(|server| name(&server.key)).collect();
    if names.is_empty() {
        return Outcome::Well;
    }
    let Some(source) = context.starter() else {
        return Outcome::WellAs("not looked at: there is nobody to start them".to_owned());
    };
    let tried: Vec<Tried> = names.chunks(AT_ONCE).flat_map(|some| try_all(some, source)).collect();
    let troubles: Vec<Trouble> = tried.iter().filter_map(|one| trouble(one, source)).collect();
    if troubles.is_empty() {
        let told = |one: &Tried| format!("{} ({})", one.name, time(one.took));
        let told: Vec<String> = tried.iter().map(told).collect();
        return Outcome::WellAs(format!("every server comes up: {}", told.join(", ")));
    }
    troubles.into()
}

fn try_all(names: &[String], source: &Source) -> Vec<Tried> {
    let tried = |name: &String| {
        let begun = Instant::now();
        let outcome = start(name, source);
        Tried { name: name.clone(), took: begun.elapsed(), outcome }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = names.iter().map(|name| scope.spawn(move || tried(name))).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    })
}

fn start(name: &str, source: &Source) -> Result<State, Failure> {
    let path = format!("/v1/servers/{}", segment(name));
    let server: Server = source.client()?.get(&path)?;
    if matches!(server.state, State::Ready | State::Stopped) {
        return Ok(server.state);
    }
    let server: Server = source.client()?.post(&format!("{path}/start"))?;
    Ok(server.state)
}

fn trouble(one: &Tried, source: &Source) -> Option<Trouble> {
    let failure = match &one.outcome {
        Ok(_) => return None,
        Err(failure) => failure,
    };
    let message = format!("'{}' does not come up ({}): {}", one.name, time(one.took), failure.message);
    Some(match failure.exit {
        Exit::SignIn => Trouble::warn(message, format!("manifold get {}", one.name)),
        // Where nothing runs there is no log to read: this starts it again, and says what it says.
        _ if source.is_own() => Trouble::fail(message, format!("manifold tools --server {}", one.name)),
        _ => Trouble::fail(message, format!("manifold logs {}", one.name)),
    })
}

fn time(took: Duration) -> String {
    match u64::try_from(took.as_millis()).unwrap_or(u64::MAX) {
        short @ 0..1000 => format!("{short} ms"),
        long => span(long),
    }
}

fn name(key: &ServerKey) -> String {
    match &key.schema {
        Some(schema) => format!("{schema}/{}", key.id),
        None => key.id.clone(),
    }
}
