//! `wait`: until a server is ready, or has failed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use manifold_admin::{Event, Happening, Method, Server, ServerDetail, State};
use manifold_admin_client::{EventStream, segment};

use super::orders::refused;
use super::{Verb, detail};
use crate::cli::WaitArgs;
use crate::commands::source::{Need, Source};
use crate::interrupt::on_interrupt;
use crate::output::{Exit, Failure};

pub(super) fn run(args: &WaitArgs, verb: &Verb) -> Result<Exit, Failure> {
    let source = verb.reach(Need::Running)?;
    on_interrupt(|| std::process::exit(Exit::Interrupted.code().into()))
        .map_err(|error| Failure::new(Exit::Failed, "failed", error.to_string()))?;
    // The events come first, so that none is missed between how it is and what happens next.
    let events = source.client()?.events(Method::Get, "/v1/events?topics=server", None::<&()>)?;
    let is_late = timeout(&events, Duration::from_millis(args.timeout));
    let server = ask(&source, &args.name)?;
    let waiting = verb.output.progress(&format!("waiting for {}", server.key));
    let ended = until_settled(server, events, &source, &args.name);
    drop(waiting);
    let server = match ended {
        Ok(server) => server,
        Err(Lost::Refused(failure)) => return Err(failure),
        Err(Lost::Stream(_)) if is_late.load(Ordering::Relaxed) => {
            let message = format!("`{}` was not ready within {} ms", args.name, args.timeout);
            let hint = format!("`manifold get {}` shows how it is doing", args.name);
            return Err(Failure::new(Exit::TimedOut, "timed-out", message).hint(hint));
        }
        Err(Lost::Stream(failure)) => return Err(failure),
    };
    settled(&server, &source, verb)
}

/// Why there is nothing more to wait for.
enum Lost {
    Refused(Failure),
    Stream(Failure),
}

fn ask(source: &Source, name: &str) -> Result<Server, Failure> {
    let path = format!("/v1/servers/{}", segment(name));
    source.client()?.get(&path).map_err(|error| refused(error, name, source))
}

/// Ends the stream when its time is up; returns what tells so.
fn timeout(events: &EventStream, after: Duration) -> Arc<AtomicBool> {
    let is_late = Arc::new(AtomicBool::new(false));
    let (stopper, late) = (events.stopper(), Arc::clone(&is_late));
    // It ends with the process.
    std::thread::spawn(move || {
        std::thread::sleep(after);
        late.store(true, Ordering::Relaxed);
        stopper.shutdown();
    });
    is_late
}

fn until_settled(
    mut server: Server,
    mut events: EventStream,
    source: &Source,
    name: &str,
) -> Result<Server, Lost> {
    loop {
        if !matches!(server.state, State::Idle | State::Starting | State::Stopped | State::Other) {
            return Ok(server);
        }
        let event = match events.next() {
            Some(Ok(event)) => event,
            Some(Err(error)) => return Err(Lost::Stream(error.into())),
            None => {
                let gone = Failure::new(Exit::NotRunning, "not-running", "the gateway has ended");
                return Err(Lost::Stream(gone));
            }
        };
        match serde_json::from_str(&event.data).map(|event: Event| event.happening) {
            Ok(Happening::Server { server: changed }) if changed.key == server.key => server = *changed,
            Ok(Happening::Reset | Happening::Config { .. }) => {
                server = ask(source, name).map_err(Lost::Refused)?;
            }
            _ => {}
        }
    }
}

/// Says what has become of it.
fn settled(server: &Server, source: &Source, verb: &Verb) -> Result<Exit, Failure> {
    let mut shown = ServerDetail::of(server);
    shown.answered_by = Some(source.kind().to_owned());
    let name = server.key.to_string();
    let why = shown.why.clone().unwrap_or_default();
    let failure = |exit, code, message| Failure {
        hint: shown.row.hint.clone(),
        server: Some(name.clone()),
        ..Failure::new(exit, code, message)
    };
    match server.state {
        State::Failed => {
            Err(failure(Exit::Unreachable, "failed-to-start", format!("`{name}` has failed: {why}")))
        }
        State::NeedsLogin => {
            Err(failure(Exit::SignIn, "sign-in", format!("`{name}` wants a sign-in: {why}")))
        }
        State::Disabled => Err(failure(Exit::Denied, "denied", format!("`{name}` is disabled"))
            .hint(format!("`manifold enable {name}` lets it be used"))),
        _ if verb.output.is_json() => {
            detail::show(&shown, &verb.output);
            Ok(Exit::Ok)
        }
        state => {
            verb.output.line(&format!("{name} is {}", state.as_str()));
            Ok(Exit::Ok)
        }
    }
}
