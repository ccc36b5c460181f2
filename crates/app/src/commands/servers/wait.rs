//! `wait`: until a server is ready, or has failed.
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "no runtime runs here")]

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use manifold_admin::{Event, Happening, Method, Server, ServerDetail, State};
use manifold_admin_client::{EventStream, Stopper, segment};

use super::super::patience::Patience;
use super::again::{is_gone, reach_again};
use super::orders::refused;
use super::{Verb, detail};
use crate::cli::WaitArgs;
use crate::commands::source::{Need, Source};
use crate::output::{Exit, Failure};

/// By how much later it ends where nobody answers.
const GRACE: Duration = Duration::from_millis(500);

pub(super) fn run(args: &WaitArgs, verb: &Verb) -> Result<Exit, Failure> {
    verb.end_on_interrupt()?;
    let too_late = || {
        let message = format!("'{}' was not ready within {} ms", args.name, args.timeout);
        let hint = format!("`manifold get {}` shows how it is doing", args.name);
        Failure::new(Exit::TimedOut, "timed-out", message).hint(hint)
    };
    let patience = Duration::from_millis(args.timeout);
    // A gateway that says nothing at all is not waited for any longer.
    let silent = Instant::now().checked_add(patience + GRACE).map(|at| (at, too_late()));
    let _patience = Patience::until(silent, &verb.output);
    let late = Late::after(patience);
    let mut source = verb.reach(Need::Running)?;
    let waiting = verb.output.progress(&format!("waiting for {}", args.name));
    let server = loop {
        match watch(&source, &args.name, &late) {
            Ok(server) => break server,
            Err(_) if late.is_late() => return Err(too_late()),
            Err(failure) if is_gone(&failure) => {}
            Err(failure) => return Err(failure),
        }
        // Another may be there in a moment; its servers are waited for likewise.
        source = match reach_again(&source, verb) {
            Err(_) if late.is_late() => return Err(too_late()),
            found => found?,
        };
    };
    drop(waiting);
    settled(&server, &source, verb)
}

/// Waits as long as one gateway is there.
fn watch(source: &Source, name: &str, late: &Late) -> Result<Server, Failure> {
    // The events come first, so that none is missed between how it is and what happens next.
    let events = source.client()?.events(Method::Get, "/v1/events?topics=server", None::<&()>)?;
    late.stops(&events);
    until_settled(ask(source, name)?, events, source, name)
}

fn ask(source: &Source, name: &str) -> Result<Server, Failure> {
    let path = format!("/v1/servers/{}", segment(name));
    source.client()?.get(&path).map_err(|error| refused(error, name, source))
}

/// The end of patience: whatever stream is read then ends.
#[derive(Clone, Default)]
struct Late(Arc<Mutex<Reading>>);

#[derive(Default)]
struct Reading {
    is_over: bool,
    stopper: Option<Stopper>,
}

impl Late {
    fn after(patience: Duration) -> Self {
        let late = Self::default();
        let ours = late.clone();
        // It ends with the process.
        std::thread::spawn(move || {
            std::thread::sleep(patience);
            let mut state = ours.lock();
            state.is_over = true;
            state.stopper.iter().for_each(Stopper::shutdown);
        });
        late
    }

    fn is_late(&self) -> bool {
        self.lock().is_over
    }

    /// Says which stream is read from now on.
    fn stops(&self, events: &EventStream) {
        let mut state = self.lock();
        let stopper = state.stopper.insert(events.stopper()).clone();
        if state.is_over {
            stopper.shutdown();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Reading> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn until_settled(
    mut server: Server,
    mut events: EventStream,
    source: &Source,
    name: &str,
) -> Result<Server, Failure> {
    loop {
        if !matches!(server.state, State::Idle | State::Starting | State::Stopped | State::Other) {
            return Ok(server);
        }
        let event = match events.next() {
            Some(Ok(event)) => event,
            Some(Err(error)) => return Err(error.into()),
            None => return Err(Failure::not_running()),
        };
        match serde_json::from_str(&event.data).map(|event: Event| event.happening) {
            Ok(Happening::Server { server: changed }) if changed.key == server.key => server = *changed,
            Ok(Happening::Reset | Happening::Config { .. }) => {
                server = ask(source, name)?;
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
            Err(failure(Exit::Unreachable, "failed-to-start", format!("'{name}' has failed: {why}")))
        }
        State::NeedsLogin => {
            Err(failure(Exit::SignIn, "sign-in", format!("'{name}' wants a sign-in: {why}")))
        }
        State::Disabled => Err(failure(Exit::Denied, "denied", format!("'{name}' is disabled"))
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
