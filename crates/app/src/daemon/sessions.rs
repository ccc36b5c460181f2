//! The clients that are attached.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use manifold_config::{ClientEnvironment, Config};
use manifold_engine::{Gateway, Lock as _};
use manifold_frontends::shim::{Leaving, Notes};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::wiring::Services;

/// How long clients may take to be left.
const PATIENCE: Duration = Duration::from_secs(3);

/// All clients, by number.
#[derive(Default)]
pub(crate) struct Sessions {
    state: Mutex<State>,
    leaving: watch::Sender<Option<Leaving>>,
    /// How many read no more of their clients.
    held: watch::Sender<usize>,
    /// Turns true when servers say nothing more to us.
    suspended: watch::Sender<bool>,
    count: watch::Sender<usize>,
    /// How many were welcomed and are not among the clients yet.
    expected: watch::Sender<usize>,
}

/// One who was welcomed, until it is among the clients or gone.
pub(crate) struct Expected<'s>(&'s Sessions);

impl Drop for Expected<'_> {
    fn drop(&mut self) {
        self.0.expected.send_modify(|expected| *expected -= 1);
    }
}

#[derive(Default)]
struct State {
    numbers: u64,
    attached: BTreeMap<u64, Attached>,
}

/// What is known of a client.
pub(crate) struct Attached {
    pub(crate) gateway: Option<Arc<Gateway>>,
    /// What its servers are resolved with.
    pub(crate) environment: ClientEnvironment,
    /// By which way lines for people reach it; LiteMCP has none.
    pub(crate) notes: Option<Notes>,
    /// What was said last of each server: it is not said again and again.
    pub(crate) said: BTreeMap<String, String>,
}

impl Sessions {
    /// Notes that somebody is about to be welcomed; none is once we leave those who are here.
    pub(crate) fn expect(&self) -> Option<Expected<'_>> {
        self.expected.send_modify(|expected| *expected += 1);
        // Whoever decides to leave looks at the number after that: it sees this one, or this one sees the decision.
        let expected = Expected(self);
        self.leaving.borrow().is_none().then_some(expected)
    }

    /// Takes in a client. Returns its number.
    pub(crate) fn add(&self, attached: Attached) -> u64 {
        let mut state = self.lock();
        state.numbers += 1;
        let number = state.numbers;
        state.attached.insert(number, attached);
        self.count.send_replace(state.attached.len());
        number
    }

    pub(crate) fn remove(&self, number: u64) {
        let mut state = self.lock();
        state.attached.remove(&number);
        self.count.send_replace(state.attached.len());
    }

    /// Resolves when we leave all clients, and says why.
    pub(crate) async fn left(&self) -> Leaving {
        let mut leaving = self.leaving.subscribe();
        match leaving.wait_for(Option::is_some).await.ok().and_then(|leaving| *leaving) {
            Some(leaving) => leaving,
            None => std::future::pending().await,
        }
    }

    /// Resolves when servers say nothing more to us. Whoever waits for it reads no more of its client.
    pub(crate) async fn suspended(&self) {
        self.held.send_modify(|held| *held += 1);
        let _ = self.suspended.subscribe().wait_for(|suspended| *suspended).await;
    }

    /// Has all clients come back to another process, which takes our place: nothing more of them is read.
    pub(crate) async fn hold(&self) {
        self.leaving.send_replace(Some(Leaving::Replaced));
        let (mut held, mut expected) = (self.held.subscribe(), self.expected.subscribe());
        let all = async {
            // Whoever has heard our welcome takes us for its daemon: it must hear that it is to come back.
            let _ = expected.wait_for(|expected| *expected == 0).await;
            let _ = held.wait_for(|held| *held >= *self.count.borrow()).await;
        };
        // One that cannot be reached by then has nothing to lose.
        let _ = timeout(PATIENCE, all).await;
    }

    /// Lets clients go that were held, once they have what was said to them.
    pub(crate) async fn let_go(&self) {
        self.suspended.send_replace(true);
        let _ = timeout(PATIENCE, self.count.subscribe().wait_for(|count| *count == 0)).await;
    }

    /// Leaves all clients, and waits until each has heard of it.
    pub(crate) async fn leave(&self, leaving: Leaving) {
        self.leaving.send_replace(Some(leaving));
        let _ = self.count.subscribe().wait_for(|count| *count == 0).await;
    }

    /// Tells the clients whose own instance of a server has failed why, unless they know it.
    pub(crate) fn tell_of(&self, server: &str) {
        for attached in self.lock().attached.values_mut() {
            let fault = attached.gateway.as_ref().and_then(|gateway| gateway.failure_of(server));
            let Some(line) = fault.map(|fault| format!("manifold: {}", fault.message())) else { continue };
            let is_known = attached.said.get(server).is_some_and(|said| *said == line);
            if !is_known {
                attached.notes.iter().for_each(|notes| notes.tell(&line));
                attached.said.insert(server.to_owned(), line);
            }
        }
    }

    /// Tells all clients that can be told.
    pub(crate) fn tell_all(&self, line: &str) {
        let state = self.lock();
        state.attached.values().filter_map(|one| one.notes.as_ref()).for_each(|notes| notes.tell(line));
    }

    /// Returns how many clients have said who they are.
    pub(crate) fn introduced(&self) -> usize {
        let is_introduced =
            |one: &&Attached| one.gateway.as_ref().is_none_or(|gateway| gateway.is_introduced());
        self.lock().attached.values().filter(is_introduced).count()
    }

    /// Tells a client what is wrong with its servers as the config has them for it.
    pub(crate) fn tell_problems(&self, number: u64, config: &Config) {
        let state = self.lock();
        let Some(Attached { gateway: Some(gateway), notes: Some(notes), .. }) = state.attached.get(&number)
        else {
            return;
        };
        for problem in &config.problems {
            let server = problem.place.split('.').nth(1).unwrap_or_default();
            if gateway.shows(server) {
                notes.tell(&format!("manifold: {problem}"));
            }
        }
    }

    /// Gives every client the servers of the new config, as its own variables resolve them.
    pub(crate) fn prepare(&self, services: &Services) {
        let attached: Vec<_> = {
            let state = self.lock();
            let known = |one: &Attached| Some((one.gateway.clone()?, one.environment.clone()));
            state.attached.values().filter_map(known).collect()
        };
        for (gateway, environment) in attached {
            if let Some(resolution) = services.resolve(&environment) {
                gateway.prepare(resolution);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.locked()
    }
}
