//! Logins whose browsers come back to our own door: where the config says under which address that is, the browser may be
//! on any machine.

use std::sync::Mutex;

use manifold_engine::{BoxFuture, Lock as _};
use manifold_frontends::http::{CALLBACK, Callbacks, Page as HttpPage};
use manifold_oauth::{self as oauth, Credential, Settings, login};
use tokio::sync::{mpsc, oneshot};

use super::Failed;
use super::callback::Page;

/// So many browsers may come back to one login at once; nobody needs more.
const MOST: usize = 16;

/// The logins that wait for somebody at the door.
#[derive(Default)]
pub(crate) struct Landings {
    /// Our address, such as `https://tools.example`.
    base: Mutex<Option<String>>,
    waiting: Mutex<Vec<Waiting>>,
}

struct Waiting {
    path: String,
    visits: mpsc::Sender<Visit>,
}

/// A browser that came back.
struct Visit {
    query: String,
    answer: oneshot::Sender<Page>,
}

/// The place of one login.
pub(crate) struct Landing {
    redirect_uri: String,
    visits: tokio::sync::Mutex<mpsc::Receiver<Visit>>,
}

impl Landings {
    /// Says under which address we are known; only one by https will do.
    pub(crate) fn set_address(&self, public_url: Option<&str>) {
        let base = public_url.filter(|url| url.starts_with("https://"));
        *self.base.locked() = base.map(str::to_owned);
    }

    /// Opens a place for a login; none where its browser is to come back to this machine. A client that was registered by
    /// hand has the address that was given there.
    pub(crate) fn open(&self, server: &oauth::Server, settings: &Settings) -> Option<Landing> {
        let home = format!("{}{CALLBACK}", self.base.locked().as_deref()?);
        let registers = settings.client_id.is_none() && settings.client_metadata_url.is_none();
        let redirect_uri = match (&settings.callback_url, settings.callback_port) {
            (Some(url), _) => url.strip_prefix(&home).is_some_and(is_below).then(|| url.clone())?,
            (None, None) if registers => login::redirect_uri_below(server, &home),
            (None, _) => return None,
        };
        let path = format!("{CALLBACK}{}", &redirect_uri[home.len()..]);
        let (sender, visits) = mpsc::channel(MOST);
        let mut waiting = self.waiting.locked();
        waiting.retain(|one| !one.visits.is_closed());
        waiting.push(Waiting { path, visits: sender });
        Some(Landing { redirect_uri, visits: tokio::sync::Mutex::new(visits) })
    }

    /// Returns those who wait at a path.
    fn at(&self, path: &str) -> Vec<mpsc::Sender<Visit>> {
        let mut waiting = self.waiting.locked();
        waiting.retain(|one| !one.visits.is_closed());
        waiting.iter().filter(|one| one.path == path).map(|one| one.visits.clone()).collect()
    }
}

/// What stands behind our address makes a path of it, and no other one.
fn is_below(rest: &str) -> bool {
    (rest.is_empty() || rest.starts_with('/')) && !rest.contains(['?', '#'])
}

impl Callbacks for Landings {
    fn take(&self, path: &str, query: &str) -> BoxFuture<Option<HttpPage>> {
        let (waiting, query) = (self.at(path), query.to_owned());
        Box::pin(async move {
            if waiting.is_empty() {
                return None;
            }
            // Several clients of the config may share the path: each knows its own answer, and another's uses nothing up.
            for visits in waiting {
                let (answer, answered) = oneshot::channel();
                if visits.try_send(Visit { query: query.clone(), answer }).is_err() {
                    continue;
                }
                match answered.await {
                    Ok(Page::Refused) | Err(_) => {}
                    Ok(page) => return Some(shown(&page)),
                }
            }
            Some(shown(&Page::Refused))
        })
    }
}

fn shown(page: &Page) -> HttpPage {
    let (status, html) = (page.status(), page.html());
    HttpPage { status, html }
}

impl Landing {
    pub(crate) fn redirect_uri(&self) -> &str {
        &self.redirect_uri
    }

    /// Takes what browsers come with until one of them ends the login.
    pub(crate) async fn wait<F>(&self, take: impl Fn(String) -> F) -> Result<Credential, Failed>
    where
        F: Future<Output = Result<Credential, Failed>>,
    {
        let mut visits = self.visits.lock().await;
        while let Some(Visit { query, answer }) = visits.recv().await {
            let ended = take(query).await;
            let page = match &ended {
                Ok(_) => Page::SignedIn,
                Err(failed) if failed.leaves_open() => Page::Refused,
                Err(_) => Page::NotSignedIn,
            };
            let is_over = !matches!(page, Page::Refused);
            // Who has gone meanwhile needs no page.
            let _ = answer.send(page);
            if is_over {
                return ended;
            }
        }
        std::future::pending().await
    }
}
