//! What is wrong now: with servers, with the config, with the gateway. Each with the key that mends it.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use manifold_admin::{Problem, Severity, State, escaped_line};

use super::Model;
use crate::input::Action;

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) key: u64,
    /// A server's name, `config`, `gateway` or `recording`.
    pub(crate) whose: String,
    pub(crate) is_server: bool,
    pub(crate) is_error: bool,
    pub(crate) what: String,
    pub(crate) hint: Option<String>,
    /// The key that mends it, and what that does.
    pub(crate) mend: Option<(Action, &'static str)>,
    /// For how long, in milliseconds.
    pub(crate) since_ms: Option<u64>,
}

/// What mends an entry, or the file as a whole.
const MEND_CONFIG: Option<(Action, &str)> = Some((Action::EditConfig, "edit config"));

/// Returns a number that tells things of these names apart.
pub(crate) fn key_of(parts: &[&str]) -> u64 {
    let mut hasher = DefaultHasher::new();
    parts.hash(&mut hasher);
    hasher.finish()
}

impl Model {
    /// Remembers since when each thing is wrong that is.
    pub(super) fn note_problems(&mut self, now: u64) {
        let keys: Vec<u64> = self.problems(now).iter().map(|wrong| wrong.key).collect();
        self.wrong_since.retain(|key, _| keys.contains(key));
        for key in keys {
            self.wrong_since.entry(key).or_insert(now);
        }
    }

    /// Returns all that is wrong, what stops something from working first.
    pub(crate) fn problems(&self, now: u64) -> Vec<Wrong> {
        let mut found = Vec::new();
        for (why, what) in [
            (&self.config.unread, "the config cannot be used, and nothing is served"),
            (&self.config.refused, "the config was changed and not taken over"),
        ] {
            if let Some(why) = why {
                let hint = "correct the file; it is read anew when it changes".to_owned();
                let what = format!("{what}: {}", escaped_line(why));
                found.push(wrong("config", true, what, Some(hint), MEND_CONFIG));
            }
        }
        self.servers.iter().for_each(|one| self.of_server(&one.it, &mut found));
        // The config and the server it is about both tell of one thing; it is said once.
        let servers = self.servers.iter().map(|one| &one.it).filter(|one| one.state != State::Disabled);
        let of_servers: HashSet<&str> =
            servers.flat_map(|one| &one.problems).map(|problem| problem.what.as_str()).collect();
        let problems = self.config.problems.iter();
        for problem in problems.filter(|problem| !of_servers.contains(problem.what.as_str())) {
            let hint = problem.hint.as_deref().map(|hint| escaped_line(hint).into_owned());
            let place = match problem.line {
                Some(line) => format!("line {line}, {}: ", problem.place),
                None if problem.place.is_empty() => String::new(),
                None => format!("{}: ", problem.place),
            };
            let what = escaped_line(&format!("{place}{}", problem.what)).into_owned();
            found.push(wrong("config", problem.severity == Severity::Error, what, hint, MEND_CONFIG));
        }
        if let Some(why) = &self.about.audit_fault {
            let what = format!("changes are not written down: {}", escaped_line(why));
            found.push(wrong("gateway", false, what, None, None));
        }
        for (name, why) in &self.broken_recordings {
            let whose = escaped_line(name);
            let what = format!("the recording '{whose}': {}", escaped_line(why));
            let hint = "what was kept up to then can be used; begin another when there is room".to_owned();
            found.push(wrong("recording", false, what, Some(hint), Some((Action::Record, "record anew"))));
        }
        for one in &mut found {
            one.since_ms = self.wrong_since.get(&one.key).map(|since| now.saturating_sub(*since));
            if let Some(server) = self.server(&one.whose).filter(|_| one.is_server) {
                // The server knows for longer than we watch.
                let stated = server.it.since_ms.map(|ms| ms + now.saturating_sub(server.at));
                one.since_ms = stated.or(one.since_ms);
            }
        }
        found.sort_by_key(|one| !one.is_error);
        found
    }

    fn of_server(&self, server: &manifold_admin::Server, found: &mut Vec<Wrong>) {
        if server.state == State::Disabled {
            return;
        }
        let name = server.key.to_string();
        let name = escaped_line(&name);
        let error = server.fault.as_ref().or(server.error.as_ref());
        let is_config = server.fault.is_some();
        if let Some(error) = error {
            let what = escaped_line(&error.text).into_owned();
            let hint = error.hint.as_deref().map(|hint| escaped_line(hint).into_owned());
            let mend = match (server.state, is_config) {
                (_, true) => MEND_CONFIG,
                (State::Failed | State::Stopped, _) => Some((Action::Restart, "start it anew")),
                (State::NeedsLogin, _) => Some((Action::SignIn, "sign in")),
                _ => Some((Action::Logs, "see what it wrote")),
            };
            found.push(of(&name, true, what, hint, mend));
        } else if server.state == State::NeedsLogin {
            let what = "it wants to know who asks, and nobody has signed in".to_owned();
            found.push(of(&name, true, what, None, Some((Action::SignIn, "sign in"))));
        } else if server.unresponsive {
            let what = "it runs and gives no sign of life".to_owned();
            found.push(of(&name, false, what, None, Some((Action::Restart, "start it anew"))));
        }
        // What keeps it from working has been said.
        let is_said = |problem: &&Problem| is_config && problem.severity == Severity::Error;
        for problem in server.problems.iter().filter(|problem| !is_said(problem)) {
            let what = escaped_line(&problem.what).into_owned();
            let hint = problem.hint.as_deref().map(|hint| escaped_line(hint).into_owned());
            found.push(of(&name, problem.severity == Severity::Error, what, hint, MEND_CONFIG));
        }
    }
}

fn of(
    server: &str,
    is_error: bool,
    what: String,
    hint: Option<String>,
    mend: Option<(Action, &'static str)>,
) -> Wrong {
    Wrong { is_server: true, ..wrong(server, is_error, what, hint, mend) }
}

fn wrong(
    whose: &str,
    is_error: bool,
    what: String,
    hint: Option<String>,
    mend: Option<(Action, &'static str)>,
) -> Wrong {
    let key = key_of(&[whose, &what]);
    Wrong { key, whose: whose.to_owned(), is_server: false, is_error, what, hint, mend, since_ms: None }
}
