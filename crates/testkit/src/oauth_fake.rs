//! An authorization server and a protected MCP server in one, on this machine: it registers, signs in at once, rotates,
//! revokes a family when an old refresh token comes again, counts, and misbehaves where it is told to.

mod http;
mod mcp;
mod state;

use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use http::{Answer, Request, read, write};
pub use http::{Visited, visit};
use state::State;

/// What it does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misbehaviour {
    /// Says no to whoever signs in.
    Denies,
    /// Sends the browser back with the `iss` of somebody else.
    WrongIssuer,
    /// Has no PKCE.
    NoPkce,
    /// Answers 500 to token requests.
    Broken,
    /// Answers 500 to revocations.
    NoRevocation,
    /// Takes requests for tokens and revocations, and does not answer them.
    Hangs,
    /// Wants another scope than was granted for every call.
    WantsScope,
    /// Lets in whoever comes, token or not.
    Open,
}

/// The server. It ends with the test's process.
#[derive(Clone)]
pub struct OAuthFake {
    port: u16,
    state: Arc<Mutex<State>>,
}

impl OAuthFake {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let fake = Self { port, state: Arc::default() };
        // What two of them give out is never the same.
        fake.state().salt = port;
        let server = fake.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let server = server.clone();
                thread::spawn(move || server.serve(stream));
            }
        });
        fake
    }

    /// Returns the address of the MCP server.
    pub fn url(&self) -> String {
        format!("{}/mcp", self.issuer())
    }

    pub fn issuer(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Says how long tokens live from now on, in seconds; 0: they have expired when they are given.
    pub fn set_life(&self, seconds: u64) {
        self.state().life = seconds;
    }

    /// Lets token requests take so long.
    pub fn set_pause(&self, pause: Duration) {
        self.state().pause = pause;
    }

    pub fn misbehave(&self, how: Option<Misbehaviour>) {
        self.state().misbehaviour = how;
    }

    /// Accepts no access token of before any more.
    pub fn refuse_tokens(&self) {
        self.state().access.clear();
    }

    /// Forgets refresh tokens too: who refreshes is to sign in again.
    pub fn forget_sign_ins(&self) {
        let mut state = self.state();
        state.access.clear();
        state.refresh.clear();
    }

    /// Signs in whoever comes next as this user.
    pub fn set_user(&self, user: &str) {
        user.clone_into(&mut self.state().user);
    }

    /// Gives out an access token without any login.
    pub fn give_token(&self) -> String {
        self.state().give_token()
    }

    /// Lets a device that waits be signed in.
    pub fn approve_devices(&self) {
        self.state().devices_approved = true;
    }

    /// Returns how often something was asked: `register`, `authorize`, `code`, `refresh`, `device`, `revoke`, `call`,
    /// `unauthorized`.
    pub fn count(&self, what: &str) -> usize {
        self.state().counts.get(what).copied().unwrap_or(0)
    }

    /// Names another authorization server from now on.
    pub fn move_to(&self, other: &Self) {
        self.state().moved_to = Some(other.issuer());
    }

    /// Takes spent refresh tokens again from now on, as many do for a while: the answer may have been lost.
    pub fn forgive(&self) {
        self.state().has_grace = true;
    }

    /// Returns in how many requests this was.
    pub fn times_heard(&self, text: &str) -> usize {
        self.state().heard.iter().filter(|request| request.contains(text)).count()
    }

    /// Returns whether anything that it was ever sent has this in it.
    pub fn heard(&self, text: &str) -> bool {
        self.state().heard.iter().any(|request| request.contains(text))
    }

    /// Returns how many requests have come, of whatever kind.
    pub fn requests(&self) -> usize {
        self.state().heard.len()
    }

    /// Returns every secret that it has given out or was told.
    pub fn secrets(&self) -> Vec<String> {
        self.state().secrets.clone()
    }

    /// Returns what each authorization request asked for.
    pub fn scopes_asked(&self) -> Vec<String> {
        self.state().scopes_asked.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, mut stream: TcpStream) {
        while let Some(request) = read(&mut stream) {
            let answer = self.answer(&request);
            if write(&mut stream, &answer).is_err() {
                return;
            }
        }
    }

    fn answer(&self, request: &Request) -> Answer {
        let issuer = self.issuer();
        let named = {
            let mut state = self.state();
            state.heard.push(request.text());
            state.moved_to.clone().unwrap_or_else(|| issuer.clone())
        };
        match (request.method.as_str(), request.path.as_str()) {
            ("GET", "/.well-known/oauth-protected-resource/mcp") => Answer::json(&json!({
                "resource": self.url(), "authorization_servers": [named], "scopes_supported": ["mcp:basic"],
            })),
            ("GET", "/.well-known/oauth-authorization-server") => Answer::json(&self.metadata()),
            ("POST", "/register") => self.register(request),
            ("GET", "/authorize") => self.authorize(request),
            ("POST", "/token" | "/revoke") if self.state().misbehaviour == Some(Misbehaviour::Hangs) => {
                // Longer than anybody waits.
                thread::sleep(Duration::from_secs(600));
                Answer::status(500)
            }
            ("POST", "/token") => {
                let pause = self.state().pause;
                thread::sleep(pause);
                self.token(request)
            }
            ("POST", "/device") => {
                let answer = self.state().device(&issuer);
                Answer::json(&answer)
            }
            ("POST", "/revoke") => self.revoke(request),
            (_, "/mcp") => self.mcp(request),
            _ => Answer::status(404),
        }
    }

    fn metadata(&self) -> Value {
        let issuer = self.issuer();
        let mut metadata = json!({
            "issuer": issuer,
            "authorization_endpoint": format!("{issuer}/authorize"),
            "token_endpoint": format!("{issuer}/token"),
            "registration_endpoint": format!("{issuer}/register"),
            "revocation_endpoint": format!("{issuer}/revoke"),
            "device_authorization_endpoint": format!("{issuer}/device"),
            "scopes_supported": ["mcp:basic", "mcp:write", "offline_access"],
            "response_types_supported": ["code"],
            "grant_types_supported": [
                "authorization_code", "refresh_token", "client_credentials",
                "urn:ietf:params:oauth:grant-type:device_code",
            ],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported":
                ["client_secret_basic", "client_secret_post", "none", "private_key_jwt"],
            "authorization_response_iss_parameter_supported": true,
        });
        if self.state().misbehaviour == Some(Misbehaviour::NoPkce) {
            metadata.as_object_mut().expect("an object").remove("code_challenge_methods_supported");
        }
        metadata
    }

    fn register(&self, request: &Request) -> Answer {
        let asked: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let mut state = self.state();
        state.note("register");
        let (id, secret) = (state.fresh("client"), state.fresh_secret("client-secret"));
        let registration_token = state.fresh_secret("registration");
        drop(state);
        let mut answer = json!({
            "client_id": id, "client_secret": secret, "client_secret_expires_at": 0,
            "token_endpoint_auth_method": "client_secret_basic",
            "registration_access_token": registration_token,
            "registration_client_uri": format!("{}/register/{id}", self.issuer()),
        });
        answer["redirect_uris"] = asked["redirect_uris"].clone();
        Answer { status: 201, ..Answer::json(&answer) }
    }

    fn authorize(&self, request: &Request) -> Answer {
        let query = request.query();
        let value = |name: &str| query.get(name).cloned().unwrap_or_default();
        let mut state = self.state();
        state.note("authorize");
        state.scopes_asked.push(value("scope"));
        state.secrets.push(value("state"));
        let back = match state.misbehaviour {
            Some(Misbehaviour::Denies) => "error=access_denied".to_owned(),
            _ if value("code_challenge_method") != "S256" || value("resource").is_empty() => {
                "error=invalid_request".to_owned()
            }
            _ => format!(
                "code={}",
                state.code(&value("code_challenge"), &value("redirect_uri"), &value("scope"))
            ),
        };
        let issuer = match state.misbehaviour {
            Some(Misbehaviour::WrongIssuer) => "https://evil.example".to_owned(),
            _ => self.issuer(),
        };
        let location = format!(
            "{}?{back}&state={}&iss={}",
            value("redirect_uri"),
            http::encoded(&value("state")),
            http::encoded(&issuer)
        );
        Answer { status: 302, headers: vec![("Location".to_owned(), location)], body: Vec::new() }
    }

    fn token(&self, request: &Request) -> Answer {
        let form = request.form();
        let mut state = self.state();
        if state.misbehaviour == Some(Misbehaviour::Broken) {
            return Answer::status(500);
        }
        match state.grant(&form) {
            Ok(tokens) => Answer::json(&tokens),
            Err(error) => Answer { status: 400, ..Answer::json(&json!({"error": error})) },
        }
    }

    fn revoke(&self, request: &Request) -> Answer {
        let token = request.form().get("token").cloned().unwrap_or_default();
        let mut state = self.state();
        state.note("revoke");
        if state.misbehaviour == Some(Misbehaviour::NoRevocation) {
            return Answer::status(500);
        }
        state.access.remove(&token);
        state.refresh.remove(&token);
        Answer::status(200)
    }
}
