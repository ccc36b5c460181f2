//! An authorization server, a store, a clock and tasks for tests: nothing leaves the process.

mod issuer;
mod store;

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;

pub(crate) use issuer::{FakeIssuer, Rules};
pub(crate) use store::FakeStore;

use crate::clock::Clock;
use crate::http::{BoxFuture, Http, HttpError, Request, Response};
use crate::login::{Context, Start};
use crate::record::Credential;
use crate::session::{Parts, SignIn};
use crate::settings::{Server, Settings};
use crate::spawn::Spawn;

pub(crate) const SERVER: &str = "https://mcp.example/mcp";
pub(crate) const ISSUER: &str = "https://as.example";
pub(crate) const REDIRECT: &str = "http://127.0.0.1:4711/callback";

/// Follows tokio's clock; the wall's can be set and the machine can be put to sleep.
pub(crate) struct FakeClock {
    start: Instant,
    asleep: AtomicU64,
    wall_offset: AtomicI64,
}

impl FakeClock {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { start: Instant::now(), asleep: AtomicU64::new(0), wall_offset: AtomicI64::new(0) })
    }

    /// Time that no timer counts.
    pub(crate) fn sleep_machine(&self, seconds: u64) {
        self.asleep.fetch_add(seconds, Ordering::SeqCst);
    }

    pub(crate) fn set_wall(&self, seconds: i64) {
        self.wall_offset.fetch_add(seconds, Ordering::SeqCst);
    }
}

impl Clock for FakeClock {
    fn now(&self) -> Duration {
        // Nothing begins at zero.
        self.start.elapsed() + Duration::from_secs(1000 + self.asleep.load(Ordering::SeqCst))
    }

    fn wall(&self) -> u64 {
        (self.now().as_secs() + 1_800_000_000).saturating_add_signed(self.wall_offset.load(Ordering::SeqCst))
    }
}

pub(crate) struct FakeTasks;

#[expect(clippy::disallowed_methods, reason = "tests end with their runtime")]
impl Spawn for FakeTasks {
    fn spawn(&self, task: BoxFuture<'static, ()>) {
        tokio::spawn(task);
    }

    fn spawn_background(&self, task: BoxFuture<'static, ()>) {
        tokio::spawn(task);
    }
}

type Handler = Box<dyn Fn(&Request) -> Result<Response, HttpError> + Send + Sync>;

/// Answers by a function and remembers what it was asked.
pub(crate) struct FakeHttp {
    handler: Handler,
    pub(crate) seen: Mutex<Vec<Request>>,
    pub(crate) delay: Duration,
}

impl FakeHttp {
    pub(crate) fn new(
        handler: impl Fn(&Request) -> Result<Response, HttpError> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            handler: Box::new(handler),
            seen: Mutex::default(),
            delay: Duration::from_millis(20),
        })
    }

    /// The addresses that were asked for.
    pub(crate) fn urls(&self) -> Vec<String> {
        self.seen.lock().unwrap().iter().map(|request| request.url.as_str().to_owned()).collect()
    }

    /// All bodies and headers that went to a host.
    pub(crate) fn said_to(&self, host: &str) -> String {
        let seen = self.seen.lock().unwrap();
        let of_host = seen.iter().filter(|request| request.url.host() == host);
        of_host
            .map(|request| {
                let headers: Vec<&str> = request.headers.iter().map(|(_, value)| value.expose()).collect();
                let body = request.body.parts().map_or("", |(_, body)| body);
                format!("{} {} {body}\n", request.url.as_str(), headers.join(" "))
            })
            .collect()
    }
}

impl Http for FakeHttp {
    fn send(&self, request: Request) -> BoxFuture<'_, Result<Response, HttpError>> {
        Box::pin(async move {
            // What an implementation must do before it resolves a name.
            request.reach.permits_url(&request.url)?;
            self.seen.lock().unwrap().push(request.clone());
            tokio::time::sleep(self.delay).await;
            (self.handler)(&request)
        })
    }
}

pub(crate) fn json(status: u16, body: &str) -> Response {
    Response { status, headers: vec![("Content-Type".into(), "application/json".into())], body: body.into() }
}

/// Reads one field of a form.
pub(crate) fn field(request: &Request, name: &str) -> Option<String> {
    let (_, body) = request.body.parts()?;
    let fields = crate::text::fields(body)?;
    fields.into_iter().find(|(at, _)| at == name).map(|(_, value)| value)
}

pub(crate) fn server() -> Server {
    Server { id: "files".to_owned(), url: SERVER.to_owned() }
}

/// Everything a test signs in with.
pub(crate) struct World {
    pub(crate) issuer: Arc<FakeIssuer>,
    pub(crate) http: Arc<FakeHttp>,
    pub(crate) store: Arc<FakeStore>,
    pub(crate) clock: Arc<FakeClock>,
    pub(crate) settings: Settings,
}

impl World {
    pub(crate) fn new(rules: Rules) -> Self {
        let clock = FakeClock::new();
        let issuer = Arc::new(FakeIssuer::new(rules, clock.clone()));
        let http = FakeHttp::new({
            let issuer = issuer.clone();
            move |request| issuer.answer(request)
        });
        Self { issuer, http, store: FakeStore::new(), clock, settings: Settings::default() }
    }

    pub(crate) fn context(&self) -> Context {
        Context {
            server: server(),
            settings: self.settings.clone(),
            http: self.http.clone(),
            clock: self.clock.clone(),
        }
    }

    /// Signs in with a browser that says yes.
    pub(crate) async fn log_in(&self) -> Credential {
        let known = self.store.record();
        let start = Start { redirect_uri: REDIRECT.to_owned(), known, ..Start::default() };
        let pending = crate::login::begin(&self.context(), start).await.unwrap();
        let query = self.issuer.consent(pending.authorization_url());
        let credential = pending.finish(&query).await.unwrap();
        crate::login::keep(self.store.as_ref(), credential).await.unwrap()
    }

    /// Another process that looks at the same store.
    pub(crate) async fn process(&self) -> SignIn {
        let sign_in = SignIn::new(Parts {
            server: server(),
            settings: self.settings.clone(),
            http: self.http.clone(),
            store: self.store.clone(),
            clock: self.clock.clone(),
            tasks: Arc::new(FakeTasks),
        })
        .unwrap();
        sign_in.open().await;
        sign_in
    }
}

/// A credential for tests that need any.
pub(crate) fn credential() -> Credential {
    use crate::record::{ClientSource, CredentialKey, Registration};
    Credential {
        key: CredentialKey::of(&server(), &Settings::default()).unwrap(),
        generation: 1,
        issuer: ISSUER.to_owned(),
        resource: None,
        resource_metadata: None,
        server_metadata: crate::metadata::ServerMetadata { issuer: ISSUER.to_owned(), ..Default::default() },
        registration: Registration {
            source: ClientSource::Registered,
            client_id: "client".to_owned(),
            client_secret: None,
            client_secret_expires_at: None,
            token_endpoint_auth_method: None,
            registration_access_token: None,
            registration_client_uri: None,
            redirect_uris: Vec::new(),
            answer: None,
            is_refused: false,
        },
        tokens: None,
        ended: None,
        grant: crate::settings::Grant::Code,
        requested_scopes: Vec::new(),
        granted_scopes: Vec::new(),
        wanted_scopes: Vec::new(),
        redirect_uri: None,
        looked_up: 0,
        refreshed: 0,
        marker: None,
    }
}
