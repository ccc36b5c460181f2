//! The page's door: who may look from a browser, for how long, and at which port. Codes are given out over the control
//! socket alone, and each is good for one page; a daemon that nobody asks for a page opens no port.

mod connection;
mod judge;
mod kept;
mod neighbour;
mod port;
mod secret;
mod sessions;
mod ui;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use hyper::http::request::Parts;
use manifold_admin::{CommandError, ErrorCode, PageScope, WebCode, WebGrant, WebSession, WebToken};
use manifold_engine::{Lock as _, Tasks};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use tracing::warn;

use super::Office;
use super::answer::{Answer, json};
use super::peer::Scope;
use super::request::{Asked, bad};
pub(super) use judge::check_page;
use kept::Kept;
use port::Port;
use sessions::{CODE_LIFE, EDIT_LIFE, IDLE, Sessions};

/// All pages of a gateway.
pub struct Pages {
    /// Where that is kept by which the next program knows them.
    file: Option<PathBuf>,
    tasks: Tasks,
    state: Mutex<State>,
    /// Somebody has come, or was let in.
    changed: Arc<Notify>,
}

#[derive(Default)]
struct State {
    sessions: Sessions,
    port: Option<Port>,
    /// Where the files of the page are read from, if they are not our own.
    dev: Option<PathBuf>,
    is_written: bool,
    is_closed: bool,
}

/// A request of a page, or a stream to it.
pub(super) struct Use {
    pages: Arc<Pages>,
    id: String,
    ended: watch::Receiver<()>,
}

impl Pages {
    pub fn new(file: Option<PathBuf>, tasks: Tasks) -> Self {
        Self { file, tasks, state: Mutex::default(), changed: Arc::default() }
    }

    /// Goes on with the pages of the program before us, at the same port, where there are any whose time is not up.
    pub(super) fn go_on(self: &Arc<Self>, office: &Office) {
        let Some(file) = &self.file else { return };
        let Some(kept) = Kept::read(file) else { return };
        let now = Instant::now();
        let mut state = self.state.locked();
        kept.sessions(now).into_iter().for_each(|session| state.sessions.add(session));
        state.is_written = true;
        if !state.sessions.all().is_empty() {
            match Port::open(self, office, Some(kept.port)) {
                Ok(port) => state.port = Some(port),
                Err(error) => {
                    warn!("open pages end here, as port {} cannot be had again: {error}", kept.port);
                    state.sessions = Sessions::default();
                }
            }
        }
        self.write(&mut state, now);
    }

    /// Lets nobody in any more. What is kept stays, for the next program.
    pub(super) fn close(&self) {
        let mut state = self.state.locked();
        let now = Instant::now();
        state.sessions.forget(now);
        self.write(&mut state, now);
        state.is_closed = true;
        state.port = None;
    }

    fn grant(self: &Arc<Self>, office: &Office, wanted: WebSession) -> Result<WebGrant, CommandError> {
        let mut state = self.state.locked();
        if state.is_closed {
            return Err(CommandError::new(ErrorCode::ShuttingDown, "the gateway is shutting down"));
        }
        if let Some(dev) = wanted.dev {
            state.dev = Some(PathBuf::from(dev)).filter(|folder| folder.is_absolute());
        }
        let code = state.sessions.grant(wanted.scope, Instant::now())?;
        let port = match &state.port {
            Some(port) => port.number,
            None => {
                let port = Port::open(self, office, None).map_err(|error| {
                    let message = format!("no port can be opened for the page: {error}");
                    CommandError::new(ErrorCode::Failed, message)
                })?;
                state.port.insert(port).number
            }
        };
        drop(state);
        self.changed.notify_one();
        Ok(WebGrant {
            url: format!("http://127.0.0.1:{port}/ui/"),
            code,
            scope: wanted.scope,
            expires_in_ms: ms(CODE_LIFE),
        })
    }

    fn exchange(&self, code: &str) -> Result<WebToken, CommandError> {
        let mut state = self.state.locked();
        let now = Instant::now();
        let exchanged = state.sessions.exchange(code, now).map(|(token, session)| WebToken {
            token,
            scope: session.scope,
            session_id: session.id.clone(),
            expires_in_ms: ms(if session.scope == PageScope::Edit { EDIT_LIFE } else { IDLE }),
        });
        // One that was revoked is to be so for the next program, too.
        self.write(&mut state, now);
        drop(state);
        self.changed.notify_one();
        exchanged
    }

    /// Begins a request of the page with this token.
    fn begin(self: &Arc<Self>, token: &str) -> Option<(PageScope, Use)> {
        let (scope, id, ended) = self.state.locked().sessions.begin(token, Instant::now())?;
        Some((scope, Use { pages: Arc::clone(self), id, ended }))
    }

    fn dev(&self) -> Option<PathBuf> {
        self.state.locked().dev.clone()
    }

    /// Writes down by what pages are known, or removes it where there are none.
    fn write(&self, state: &mut MutexGuard<'_, State>, now: Instant) {
        // From then on it is the next program's.
        let Some(file) = self.file.as_ref().filter(|_| !state.is_closed) else { return };
        let number = state.port.as_ref().map(|port| port.number);
        let written = match number.filter(|_| !state.sessions.all().is_empty()) {
            Some(number) => {
                state.is_written = true;
                Kept::of(number, &state.sessions, now).and_then(|kept| kept.write(file))
            }
            None if std::mem::take(&mut state.is_written) => std::fs::remove_file(file),
            None => Ok(()),
        };
        if let Err(error) = written {
            warn!("{}: {error}", file.display());
        }
    }
}

impl Use {
    fn id(&self) -> &str {
        &self.id
    }

    /// Returns what closes when the session has ended.
    fn ended(&self) -> watch::Receiver<()> {
        self.ended.clone()
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        self.pages.state.locked().sessions.end(&self.id, Instant::now());
    }
}

impl From<PageScope> for Scope {
    fn from(scope: PageScope) -> Self {
        match scope {
            PageScope::View => Self::View,
            PageScope::Act => Self::Act,
            PageScope::Edit => Self::Edit,
        }
    }
}

/// Answers with one of the page's files.
pub(super) fn file(head: &Parts) -> Answer {
    ui::answer(head, None)
}

/// Gives out a code for a page.
pub(super) fn session(office: &Office, asked: &Asked) -> Result<Answer, CommandError> {
    let wanted: WebSession = asked.json()?;
    Ok(json(&pages(office)?.grant(office, wanted)?))
}

/// Exchanges a code for a session.
pub(super) fn token(office: &Office, asked: &Asked) -> Result<Answer, CommandError> {
    let WebCode { code } = asked.json()?;
    if code.is_empty() {
        return Err(bad("`code` may not be missing"));
    }
    Ok(json(&pages(office)?.exchange(&code)?))
}

fn pages(office: &Office) -> Result<&Arc<Pages>, CommandError> {
    let none = || CommandError::new(ErrorCode::Unsupported, "this gateway shows no page");
    office.pages.as_ref().ok_or_else(none)
}

fn ms(span: std::time::Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
