//! What a client is told as it introduces itself, and what its introduction sets going.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use manifold_config::DEFAULT_ACCOUNT;
use manifold_protocol::{Fault, RawObject, login_command};

use super::Gateway;
use crate::catalog::Member;
use crate::fleet::Outdated;
use crate::upstream::{ClientFacts, Phase};

/// What a client is told when it introduces itself.
#[derive(Debug, Clone)]
pub struct Introduction {
    pub name: String,
    pub version: String,
    pub instructions: Option<String>,
    /// Extensions to the protocol that known servers declare.
    pub extensions: RawObject,
}

impl Gateway {
    /// Takes a client's introduction: servers may start from now on, eager ones do.
    pub fn introduce(self: &Arc<Self>, facts: ClientFacts) -> Introduction {
        self.look_up_for(facts);
        self.introduced.store(true, Ordering::Relaxed);
        self.start_eager();
        self.introduction()
    }

    /// Shows what is known for clients such as this, unless one has introduced itself. Nothing is started.
    pub fn expect(&self, facts: impl FnOnce() -> ClientFacts) {
        if !self.introduced.load(Ordering::Relaxed) {
            self.look_up_for(facts());
        }
    }

    /// Lets servers start for clients that never introduce themselves: each of their requests says who asks.
    pub fn admit(self: &Arc<Self>, facts: impl FnOnce() -> ClientFacts) {
        if !self.introduced.load(Ordering::Relaxed) {
            self.introduce(facts());
        }
    }

    /// Takes over what servers offered when they were told the same.
    fn look_up_for(&self, mut facts: ClientFacts) {
        facts.offer_roots(&self.fleet.config().settings);
        self.downstream.set_facts(facts);
        self.fleet.introduced(&self.downstream);
        self.catch_up(&self.catalog.load());
    }

    pub fn introduction(&self) -> Introduction {
        let settings = self.settings();
        Introduction {
            name: settings.server_name.clone(),
            version: settings.server_version.clone().unwrap_or_else(|| env!("CARGO_PKG_VERSION").to_owned()),
            instructions: self.instructions(),
            extensions: self.catalog.load().extensions.clone(),
        }
    }

    fn instructions(&self) -> Option<String> {
        let trouble = self.trouble();
        if self.fleet.config().unread.is_some() {
            return trouble;
        }
        let usual = self.with_starting(self.catalog.load().instructions.clone());
        let parts: Vec<String> = trouble.into_iter().chain(usual).chain(self.to_sign_in()).collect();
        (!parts.is_empty()).then(|| parts.join("\n\n"))
    }

    /// Returns which servers somebody has to sign in to first.
    fn to_sign_in(&self) -> Option<String> {
        let catalog = self.catalog.load();
        let needs = |member: &&Member| {
            member.server.as_ref().is_some_and(|server| server.enabled)
                && (matches!(member.upstream.status().phase, Phase::Failed(Fault::SignInNeeded { .. }))
                    || member.upstream.sign_in().is_some_and(|sign_in| sign_in.needs_login))
        };
        let members: Vec<&Member> = catalog.view.members.iter().filter(needs).collect();
        let names: Vec<&str> = members.iter().map(|member| member.key.id.as_str()).collect();
        let (count, verb) = match names.len() {
            0 => return None,
            1 => ("1 server".to_owned(), "needs"),
            more => (format!("{more} servers"), "need"),
        };
        let command = members.first().map(|member| {
            let sign_in = member.upstream.sign_in();
            let account = sign_in.map(|sign_in| sign_in.account);
            let named = account.filter(|account| !account.is_empty() && account != DEFAULT_ACCOUNT);
            login_command(&member.key.id, named.as_deref())
        })?;
        Some(format!("{count} {verb} login: {}. The user runs `{command}`.", names.join(", ")))
    }

    /// Returns what a client must know of a config that could not be read, at the start or since (D9, D6).
    pub(crate) fn trouble(&self) -> Option<String> {
        let config = self.fleet.config();
        let next = "Tell the user; once the file is corrected and saved it is taken over by itself.";
        if let Some(why) = &config.unread {
            return Some(format!("The config cannot be used, so there are no servers: {why}\n{next}"));
        }
        let Outdated { problem, since } = &*self.fleet.outdated()?;
        Some(format!(
            "The config file cannot be taken over; since {since} the config before it is in force: {problem}\n{next}"
        ))
    }
}
