//! The gateway, asked from threads: what it says comes back as news. It is held on to only while a connection is opened,
//! so that one that runs for us alone ends with us.

mod ask;
mod fetch;
mod follow;
mod traffic;

use std::collections::HashMap;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use manifold_admin::{CommandError, ConfigText, ErrorCode, Method};
use manifold_admin_client::{Client, ClientError, Stopper};

use crate::Gateway;
use crate::effect::{Effect, Fetch, News};
use crate::run::Message;

/// Nothing that is done to a server takes longer.
const PATIENCE: Duration = Duration::from_secs(300);

/// Streams that can be ended from here.
type Stoppers = Arc<Mutex<HashMap<u64, Stopper>>>;

pub(crate) struct Connection {
    asker: Asker,
    calls: Stoppers,
    /// The stream of frames has the number 0.
    traffic: Stoppers,
}

/// What a thread needs to ask and to tell.
#[derive(Clone)]
struct Asker {
    gateway: Weak<dyn Gateway>,
    messages: SyncSender<Message>,
    namespace: Option<String>,
}

impl Connection {
    /// Begins to follow what happens.
    pub(crate) fn open(
        gateway: Weak<dyn Gateway>,
        messages: SyncSender<Message>,
        namespace: Option<String>,
    ) -> Self {
        let asker = Asker { gateway, messages, namespace };
        let following = asker.clone();
        spawn("events", move || follow::run(&following));
        Self { asker, calls: Stoppers::default(), traffic: Stoppers::default() }
    }

    /// Does what is asked of the gateway; other effects are not for here.
    pub(crate) fn perform(&self, effect: Effect) {
        let asker = self.asker.clone();
        match effect {
            Effect::Fetch(fetch) => spawn("fetch", move || asker.fetch(fetch)),
            Effect::Order { method, path, body, said } => spawn("order", move || {
                let what = path.rsplit('/').next().unwrap_or_default().to_owned();
                let done = asker.with(|client| client.send_raw(method, &path, body.as_ref()));
                asker.tell(match done {
                    // Where one signs in is worth a look before it is opened.
                    Ok(link) if what == "login" => {
                        News::Shown { title: said, text: String::from_utf8_lossy(&link).into_owned() }
                    }
                    Ok(_) => News::Done { said },
                    Err(error) => failed(what, error),
                });
            }),
            Effect::PutConfig { draft } => spawn("config", move || {
                let body = ConfigText { text: draft.text };
                let put = |client: Client| {
                    client.if_match(&draft.revision).send_raw(Method::Put, "/v1/config", Some(&body))
                };
                let put = asker.with(put);
                asker.tell(News::ConfigPut(put.map(drop).map_err(|error| Box::new(told(error)))));
            }),
            Effect::Show { path, title } => spawn("show", move || {
                let shown = asker.with(|client| client.send_raw(Method::Get, &path, None::<&()>));
                asker.tell(match shown {
                    Ok(bytes) => News::Shown { title, text: String::from_utf8_lossy(&bytes).into_owned() },
                    Err(error) => failed(title, error),
                });
            }),
            Effect::Reread => spawn("snapshot", move || {
                if let Ok(news) = asker.with(follow::snapshot_of(&asker)) {
                    asker.tell(news);
                }
            }),
            Effect::Ask { number, path, body } => {
                let calls = Arc::clone(&self.calls);
                spawn("call", move || ask::run(&asker, number, path, &body, &calls));
            }
            Effect::HangUp { number } => stop(&self.calls, number),
            Effect::Answer { id, answer } => spawn("answer", move || ask::answer(&asker, &id, answer)),
            Effect::Traffic { run, filter } => {
                stop(&self.traffic, 0);
                let traffic = Arc::clone(&self.traffic);
                spawn("traffic", move || traffic::run(&asker, run, &filter, &traffic));
            }
            Effect::CloseTraffic => stop(&self.traffic, 0),
            Effect::Quit | Effect::Suspend | Effect::Redraw | Effect::Copy { .. } | Effect::Edit { .. } => {}
        }
    }
}

impl Asker {
    /// Opens a connection and makes one request over it.
    fn with<T>(&self, ask: impl FnOnce(Client) -> Result<T, ClientError>) -> Result<T, ClientError> {
        ask(self.client(PATIENCE)?)
    }

    fn client(&self, patience: Duration) -> Result<Client, ClientError> {
        let gateway = self.gateway.upgrade().ok_or(ClientError::Silent)?;
        Ok(gateway.client(patience)?.face("tui"))
    }

    /// Returns whether anybody listens.
    fn tell(&self, news: News) -> bool {
        self.messages.send(Message::News(Box::new(news))).is_ok()
    }

    fn fetch(&self, fetch: Fetch) {
        fetch::run(self, fetch);
    }
}

fn stop(stoppers: &Stoppers, number: u64) {
    if let Some(stopper) = stoppers.lock().unwrap_or_else(PoisonError::into_inner).remove(&number) {
        stopper.shutdown();
    }
}

fn failed(what: String, error: ClientError) -> News {
    News::Failed { what, error: Box::new(told(error)) }
}

fn told(error: ClientError) -> CommandError {
    match error {
        ClientError::Refused { error, .. } => error,
        error => CommandError::new(ErrorCode::Failed, error.to_string()),
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) {
    // Where no thread can be had, what was asked for does not come; the next key asks again.
    let _ = thread::Builder::new().name(name.to_owned()).spawn(run);
}
