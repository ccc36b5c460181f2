//! Who was let in as a page: codes that wait to be used once, and the sessions they were exchanged for.

use std::time::Duration;

use manifold_admin::{CommandError, ErrorCode, PageScope};
use tokio::sync::watch;
use tokio::time::Instant;

use super::secret::{Digested, random};

/// How long a code waits for its page.
pub(super) const CODE_LIFE: Duration = Duration::from_secs(60);

/// How long a session lasts that nobody uses.
pub(super) const IDLE: Duration = Duration::from_secs(15 * 60);

/// How long a page may edit, whatever it does.
pub(super) const EDIT_LIFE: Duration = Duration::from_secs(60 * 60);

/// More pages than this at once are no person's.
const MAX_SESSIONS: usize = 64;
const MAX_CODES: usize = 16;

#[derive(Default)]
pub(super) struct Sessions {
    codes: Vec<Code>,
    sessions: Vec<Session>,
    /// When somebody was last seen who was let in, or was to be.
    last_seen: Option<Instant>,
}

struct Code {
    digest: Digested,
    scope: PageScope,
    until: Instant,
}

pub(super) struct Session {
    pub(super) id: String,
    pub(super) scope: PageScope,
    pub(super) token: Digested,
    /// What it was exchanged for.
    pub(super) code: Digested,
    /// When it ends, whatever is done.
    pub(super) until: Option<Instant>,
    last_used: Instant,
    /// Requests and streams that are under way.
    uses: usize,
    /// Whoever waits for its end hears that this is gone.
    ended: watch::Sender<()>,
}

impl Sessions {
    /// Makes a code.
    pub(super) fn grant(&mut self, scope: PageScope, now: Instant) -> Result<String, CommandError> {
        self.forget(now);
        if self.codes.len() >= MAX_CODES || self.sessions.len() >= MAX_SESSIONS {
            let message = "so many pages are open that no other can be opened";
            let hint = Some("close some; they are forgotten a quarter of an hour later".to_owned());
            return Err(CommandError { hint, ..CommandError::new(ErrorCode::Busy, message) });
        }
        let code = random()?;
        self.last_seen = Some(now);
        self.codes.push(Code { digest: Digested::of(&code), scope, until: now + CODE_LIFE });
        Ok(code)
    }

    /// Exchanges a code for a session, and returns its token. Who brings a code that was used ends the session made from it:
    /// one of the two has stolen it.
    pub(super) fn exchange(&mut self, code: &str, now: Instant) -> Result<(String, &Session), CommandError> {
        self.forget(now);
        let digest = Digested::of(code);
        let Some(at) = self.codes.iter().position(|code| code.digest.is(&digest)) else {
            let before = self.sessions.len();
            self.sessions.retain(|session| !session.code.is(&digest));
            return Err(match self.sessions.len() < before {
                true => ended("this code was used before; the session made with it has ended as well"),
                false => ended("this code is not known, or older than a minute"),
            });
        };
        let token = random()?;
        self.last_seen = Some(now);
        let Code { digest: code, scope, .. } = self.codes.swap_remove(at);
        let until = (scope == PageScope::Edit).then(|| now + EDIT_LIFE);
        self.add(Session::new(scope, Digested::of(&token), code, until, now));
        // Just put there.
        self.sessions.last().map(|session| (token, session)).ok_or_else(none)
    }

    pub(super) fn add(&mut self, session: Session) {
        self.sessions.push(session);
    }

    /// Begins a request of the session with this token. Returns what it may do, who it is, and what waits for its end.
    pub(super) fn begin(
        &mut self,
        token: &str,
        now: Instant,
    ) -> Option<(PageScope, String, watch::Receiver<()>)> {
        self.forget(now);
        let digest = Digested::of(token);
        let session = self.sessions.iter_mut().find(|session| session.token.is(&digest))?;
        session.uses += 1;
        Some((session.scope, session.id.clone(), session.ended.subscribe()))
    }

    /// Ends a request.
    pub(super) fn end(&mut self, id: &str, now: Instant) {
        if let Some(session) = self.sessions.iter_mut().find(|session| session.id == id) {
            session.uses = session.uses.saturating_sub(1);
            session.last_used = now;
        }
        self.last_seen = Some(now);
    }

    /// Lets go of what is over.
    pub(super) fn forget(&mut self, now: Instant) {
        self.codes.retain(|code| code.until > now);
        self.sessions.retain(|session| session.deadline().is_none_or(|end| end > now));
    }

    /// Returns when the next thing is over, if nothing happens.
    pub(super) fn next_end(&self) -> Option<Instant> {
        let codes = self.codes.iter().map(|code| code.until);
        let next = codes.chain(self.sessions.iter().filter_map(Session::deadline)).min();
        next.or(self.last_seen.map(|seen| seen + IDLE))
    }

    /// Returns whether nobody is left who would have to hear that a session has ended.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        let is_empty = self.codes.is_empty() && self.sessions.is_empty();
        is_empty && self.last_seen.is_none_or(|seen| now >= seen + IDLE)
    }

    pub(super) fn all(&self) -> &[Session] {
        &self.sessions
    }
}

impl Session {
    pub(super) fn new(
        scope: PageScope,
        token: Digested,
        code: Digested,
        until: Option<Instant>,
        last_used: Instant,
    ) -> Self {
        let ended = watch::Sender::new(());
        Self { id: token.short(), scope, token, code, until, last_used, uses: 0, ended }
    }

    /// Returns when it ends if it is not used again.
    pub(super) fn idle_end(&self, now: Instant) -> Instant {
        let last = if self.uses > 0 { now } else { self.last_used };
        let idle = last + IDLE;
        self.until.map_or(idle, |until| until.min(idle))
    }

    fn deadline(&self) -> Option<Instant> {
        if self.uses > 0 { self.until } else { Some(self.idle_end(self.last_used)) }
    }
}

/// Says that a page has to be opened anew.
pub(super) fn ended(message: &str) -> CommandError {
    CommandError::new(ErrorCode::SessionEnded, format!("{message}; run `manifold open`"))
}

pub(super) fn none() -> CommandError {
    ended("this page has no session, or it has ended")
}

#[cfg(test)]
mod tests;
