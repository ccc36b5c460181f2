//! A lean HTTP/1.1 client for one server: reused connections, and no redirect that would carry credentials away.

mod get;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Method, Uri};
use manifold_config::{RemoteSpec, redact};
use manifold_engine::Tasks;
use manifold_protocol::dialect::modern;
use manifold_protocol::{Fault, Outgoing, Raw, put_decimal};
use tokio::time::timeout;

use super::credentials::{After, Credentials, Fixed, Proof, Refusal};
use super::dial::{Dialer, Trust};
use super::h1::{self, Asked, Body, Fields, Head, Lost, Noted, Pool, Stream, Wire};
pub use get::{Fetched, GetError, get};

const MAX_REDIRECTS: usize = 3;
/// What of an error's body is shown.
const SHOWN_BYTES: usize = 300;

/// A client for one server.
pub(crate) struct HttpClient {
    dialer: Dialer,
    home: Place,
    /// The configured headers, which go with every request to this server and to nobody else.
    configured: Configured,
    credentials: Arc<dyn Credentials>,
    pool: Arc<Pool>,
}

/// An address at the server, with what every request to it begins with after its method.
pub(crate) struct Place {
    uri: Uri,
    start: Vec<u8>,
}

/// A request as it is sent once.
#[derive(Clone, Copy)]
struct Request<'r> {
    method: &'r Method,
    place: &'r Place,
    fields: &'r Fields,
    body: &'r Outgoing,
    credential: Option<&'r Fields>,
}

/// Headers of the config file.
#[derive(Default)]
struct Configured {
    always: Fields,
    /// Those that we may say ourselves. What the protocol says is not the file's to change.
    unless_said: Vec<(String, Fields)>,
}

/// A response. Its connection is back in the pool once its body has been read.
pub(crate) struct Answer {
    pub(crate) head: Head,
    body: Body,
}

/// Why there is no usable answer.
#[derive(Debug, Clone)]
pub(crate) enum Unreached {
    /// Nothing was written: safe to try again.
    Connect(String),
    /// It broke with the request on its way.
    Broken(String),
    /// The answer is over this limit; the rest was not read.
    TooLarge(usize),
    /// The server said no.
    Status {
        status: u16,
        retry_after: Option<Duration>,
        /// It said how to sign in (`WWW-Authenticate`).
        challenges: bool,
        body: Bytes,
    },
    /// It refused the handshake by this error.
    Refused(Raw),
    /// Nobody is signed in as the server wants it; this is what the caller hears.
    SignIn(Box<Fault>),
}

impl Unreached {
    /// Returns whether this is about credentials, where that would be told as `unauthorized`. A plain 403 refuses those that
    /// are configured (decision 16); where none are it is only a no, and its words tell why (D7).
    pub(crate) fn is_unauthorized(&self, unauthorized: &Fault) -> bool {
        match self {
            Self::Status { status: 401, .. } => true,
            Self::Status { status: 403, challenges, .. } => {
                *challenges || matches!(unauthorized, Fault::Authentication { .. })
            }
            _ => false,
        }
    }

    /// Returns whether it shows that the server speaks the newest revision.
    pub(crate) fn is_modern(&self) -> bool {
        match self {
            Self::Refused(error) => modern::is_modern_error(error),
            Self::Status { status: 400..=499, body, .. } => {
                super::modern::error_of(body).is_some_and(|error| modern::is_modern_error(&error))
            }
            _ => false,
        }
    }
}

impl fmt::Display for Unreached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(why) => write!(f, "no connection: {why}"),
            Self::Broken(why) => write!(f, "the connection broke: {why}"),
            Self::Refused(error) => write!(f, "it refused the handshake: {error}"),
            Self::SignIn(fault) => f.write_str(&fault.message()),
            Self::TooLarge(limit_bytes) => write!(f, "its answer is larger than {limit_bytes} bytes"),
            Self::Status { status, body, retry_after, .. } => {
                let shown = String::from_utf8_lossy(&body[..body.len().min(SHOWN_BYTES)]);
                match shown.trim() {
                    "" => write!(f, "it answered HTTP {status}")?,
                    text => write!(f, "it answered HTTP {status}: {}", crate::logs::printable(text))?,
                }
                match retry_after {
                    Some(after) if matches!(status, 429 | 503) => {
                        write!(f, "; it asks to be tried again in {} s", after.as_secs())
                    }
                    _ => Ok(()),
                }
            }
        }
    }
}

impl From<Lost> for Unreached {
    fn from(lost: Lost) -> Self {
        match lost {
            Lost::TooLarge(limit_bytes) => Self::TooLarge(limit_bytes),
            Lost::Unwritten(_) => Self::Connect(lost.message()),
            Lost::Broken(_) | Lost::Closed | Lost::Malformed(_) => Self::Broken(lost.message()),
        }
    }
}

impl Configured {
    /// Reads the headers of a definition, and the credential among them.
    fn new(spec: &RemoteSpec) -> Result<(Self, Fixed), String> {
        let mut configured = Self::default();
        let mut credentials = Fixed::default();
        for (name, value) in &spec.headers {
            let header = name.parse::<HeaderName>().map_err(|_| format!("`{name}` is no header name"))?;
            let value = HeaderValue::from_str(value.expose()).map_err(|_| {
                format!("the value of the header `{name}` has characters a header cannot hold")
            })?;
            match header.as_str() {
                // Where a request goes and where it ends is ours to say.
                "host" | "content-length" | "transfer-encoding" => {}
                "authorization" => credentials.set(&value),
                "accept" | "content-type" | "connection" | "upgrade" | "last-event-id" => {
                    configured.put_unless_said(&header, &value);
                }
                name if name.starts_with("mcp-") || name.starts_with("sec-websocket-") => {
                    configured.put_unless_said(&header, &value);
                }
                name => configured.always.say_foreign(name, &value),
            }
        }
        Ok((configured, credentials))
    }

    fn put_unless_said(&mut self, name: &HeaderName, value: &HeaderValue) {
        let mut field = Fields::default();
        field.say_foreign(name.as_str(), value);
        self.unless_said.push((name.as_str().to_owned(), field));
    }
}

impl HttpClient {
    pub(crate) fn new(spec: &RemoteSpec, trust: &Trust, tasks: Tasks) -> Result<Self, String> {
        let uri: Uri = spec.url.parse().map_err(|error| format!("the address cannot be read: {error}"))?;
        let dialer = Dialer::new(&uri, trust)?;
        let (configured, credentials) = Configured::new(spec)?;
        let home = Place::new(uri, &dialer, &configured);
        Ok(Self { dialer, home, configured, credentials: Arc::new(credentials), pool: Pool::new(tasks) })
    }

    /// Makes a client that says nothing but what it is given.
    pub(super) fn bare(uri: Uri, dialer: Dialer, tasks: Tasks) -> Self {
        let configured = Configured::default();
        let home = Place::new(uri, &dialer, &configured);
        Self { dialer, home, configured, credentials: Arc::new(Fixed::default()), pool: Pool::new(tasks) }
    }

    /// Sends a request once, to the configured address; any answer is one.
    pub(super) async fn ask_once(
        &self,
        method: &Method,
        fields: &Fields,
        body: &Outgoing,
    ) -> Result<Answer, Unreached> {
        let request = Request { method, place: &self.home, fields, body, credential: None };
        self.send_once(request, asked_by(method)).await
    }

    /// Takes its credentials from elsewhere than the config.
    pub(super) fn with_credentials(mut self, credentials: Arc<dyn Credentials>) -> Self {
        self.credentials = credentials;
        self
    }

    pub(crate) fn uri(&self) -> &Uri {
        &self.home.uri
    }

    /// Returns the configured address.
    pub(crate) fn home(&self) -> &Place {
        &self.home
    }

    /// Prepares for requests to another address at this server.
    pub(crate) fn place(&self, uri: Uri) -> Place {
        Place::new(uri, &self.dialer, &self.configured)
    }

    /// Sends a request; any answer that is no success is `Err`.
    pub(crate) async fn send(
        &self,
        method: Method,
        place: &Place,
        fields: &Fields,
        body: &Outgoing,
    ) -> Result<Answer, Unreached> {
        let proof = match self.credentials.current() {
            Some(proof) => proof,
            None => Box::pin(self.credentials.obtain()).await.map_err(sign_in)?,
        };
        let request = Request { method: &method, place, fields, body, credential: proof.fields.as_deref() };
        let answer = self.send_once(request, asked_by(&method)).await?;
        match answer.head.status {
            200..=299 => {
                if proof.fields.is_none() {
                    self.credentials.let_in();
                }
                Ok(answer)
            }
            // Seldom, so it may cost a little more.
            307 | 308 | 401 | 403 => {
                Box::pin(self.send_on(request, asked_by(&method), proof.clone(), answer)).await
            }
            _ => Err(Box::pin(self.refusal(answer)).await),
        }
    }

    /// Goes where redirects lead, and sends a request once more that was refused for its credential, if there is another
    /// by now. The server has not begun with it, so nothing is done twice. Any answer that is no success is `Err`.
    async fn send_on(
        &self,
        request: Request<'_>,
        asked: Asked,
        mut proof: Proof,
        mut answer: Answer,
    ) -> Result<Answer, Unreached> {
        let mut led_to: Option<Place> = None;
        let (mut redirects, mut is_second) = (0, false);
        loop {
            match answer.head.status {
                101 | 200..=299 => {
                    if proof.fields.is_none() {
                        self.credentials.let_in();
                    }
                    return Ok(answer);
                }
                307 | 308 if redirects == MAX_REDIRECTS => {
                    return Err(Unreached::Broken("it redirects in circles".to_owned()));
                }
                307 | 308 => {
                    let from = led_to.as_ref().unwrap_or(request.place);
                    led_to = Some(self.place(redirected(&from.uri, &answer.head)?));
                    redirects += 1;
                }
                401 | 403 => {
                    match self.credentials.refused(refusal_of(proof.clone(), is_second, &answer)).await {
                        After::Resend(other) if !is_second => (proof, is_second) = (other, true),
                        After::Failed(fault) => return Err(sign_in_after(answer, fault).await),
                        After::Resend(_) | After::Pass => return Err(self.refusal(answer).await),
                    }
                }
                _ => return Err(self.refusal(answer).await),
            }
            answer.discard().await;
            let place = led_to.as_ref().unwrap_or(request.place);
            let again = Request { place, credential: proof.fields.as_deref(), ..request };
            answer = self.send_once(again, asked).await?;
        }
    }

    /// Asks for another protocol on the same connection; any answer but that is `Err`. Returns what came along, too.
    pub(crate) async fn upgrade(&self, fields: &Fields) -> Result<(Head, Box<dyn Stream>, Bytes), Unreached> {
        let nothing = Outgoing::default();
        let proof = match self.credentials.current() {
            Some(proof) => proof,
            None => self.credentials.obtain().await.map_err(sign_in)?,
        };
        let request = Request {
            method: &Method::GET,
            place: &self.home,
            fields,
            body: &nothing,
            credential: proof.fields.as_deref(),
        };
        let mut answer = self.send_once(request, Asked::Upgrade).await?;
        if matches!(answer.head.status, 401 | 403) {
            answer = self.send_on(request, Asked::Upgrade, proof.clone(), answer).await?;
        }
        if answer.head.status != 101 {
            return Err(self.refusal(answer).await);
        }
        let lost = || Unreached::Broken("the connection was not handed over".to_owned());
        let (stream, came) = answer.body.into_stream().ok_or_else(lost)?;
        Ok((answer.head, stream, came))
    }

    async fn send_once(&self, request: Request<'_>, asked: Asked) -> Result<Answer, Unreached> {
        loop {
            let (mut wire, reused) = match self.pool.take() {
                Some(wire) => (wire, true),
                None => (Box::pin(self.connect()).await?, false),
            };
            wire.begin(request.body, |out| self.write_head(out, request));
            match h1::exchange(wire, asked, &self.pool).await {
                Ok((head, body)) => return Ok(Answer { head, body }),
                // The server closed a resting connection before it took the request: no harm done.
                Err(Lost::Unwritten(_)) if reused => {}
                Err(lost) => return Err(lost.into()),
            }
        }
    }

    async fn connect(&self) -> Result<Box<Wire>, Unreached> {
        self.dialer.connect().await.map(Wire::new).map_err(Unreached::Connect)
    }

    fn write_head(&self, out: &mut BytesMut, request: Request<'_>) {
        let Request { method, place, fields, body, credential } = request;
        let bytes = body.len();
        out.extend_from_slice(method.as_str().as_bytes());
        out.extend_from_slice(&place.start);
        if let Some(credential) = credential {
            credential.write(out);
        }
        for (name, field) in &self.configured.unless_said {
            if !fields.has(name) {
                field.write(out);
            }
        }
        fields.write(out);
        if bytes > 0 || *method == Method::POST {
            out.extend_from_slice(b"content-length: ");
            put_decimal(bytes as u64, out);
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"\r\n");
    }

    async fn refusal(&self, answer: Answer) -> Unreached {
        let status = answer.head.status;
        let retry_after = answer.head.noted_text(Noted::RetryAfter).and_then(|after| wait_of(after.trim()));
        let challenges = answer.head.noted(Noted::Challenge).is_some();
        let body = timeout(Duration::from_secs(5), answer.read(64 << 10)).await;
        let body = body.ok().and_then(Result::ok).unwrap_or_default();
        Unreached::Status { status, retry_after, challenges, body: redacted(body) }
    }
}

fn sign_in(fault: Fault) -> Unreached {
    Unreached::SignIn(Box::new(fault))
}

async fn sign_in_after(answer: Answer, fault: Fault) -> Unreached {
    answer.discard().await;
    sign_in(fault)
}

fn refusal_of(sent: Proof, is_second: bool, answer: &Answer) -> Refusal {
    let challenges = answer.head.all_noted(Noted::Challenge).map(ToOwned::to_owned).collect();
    Refusal { sent, is_second, status: answer.head.status, challenges }
}

/// Takes out what a server may have echoed of the credentials it was sent (T24).
fn redacted(body: Bytes) -> Bytes {
    match std::str::from_utf8(&body).map(redact) {
        Ok(Cow::Owned(text)) => text.into(),
        _ => body,
    }
}

fn asked_by(method: &Method) -> Asked {
    if *method == Method::HEAD { Asked::Head } else { Asked::Body }
}

/// Follows a redirect within the same origin only: credentials go nowhere else (T12).
fn redirected(from: &Uri, head: &Head) -> Result<Uri, Unreached> {
    let location = head.noted_text(Noted::Location).unwrap_or_default();
    let refuse =
        || Unreached::Broken(format!("it redirects to `{location}`, another origin; set that as its url"));
    if location.starts_with('/') && !location.starts_with("//") {
        let authority = from.authority().map(|authority| authority.as_str()).unwrap_or_default();
        let scheme = from.scheme_str().unwrap_or("http");
        return format!("{scheme}://{authority}{location}").parse().map_err(|_| refuse());
    }
    let target: Uri = location.parse().map_err(|_| refuse())?;
    let same = target.scheme() == from.scheme() && target.authority() == from.authority();
    if same { Ok(target) } else { Err(refuse()) }
}

impl Place {
    fn new(uri: Uri, dialer: &Dialer, configured: &Configured) -> Self {
        let relay = dialer.relay();
        let mut start = vec![b' '];
        // Through a plain proxy the whole address is asked for, else only its path.
        match uri.path_and_query() {
            // As it is shown: one that is only a query gets its slash.
            Some(path) if relay.is_none() => start.extend_from_slice(path.to_string().as_bytes()),
            _ => start.extend_from_slice(uri.to_string().as_bytes()),
        }
        start.extend_from_slice(b" HTTP/1.1\r\n");
        let authority = uri.authority().map(|authority| authority.as_str()).unwrap_or_default();
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        let mut fields = Fields::default().with("host", host);
        if let Some(authorization) = relay.and_then(|relay| relay.authorization) {
            fields.say("proxy-authorization", authorization);
        }
        fields.write(&mut start);
        configured.always.write(&mut start);
        Self { uri, start }
    }
}

impl Answer {
    /// Reads the whole body within a limit.
    pub(crate) async fn read(self, limit_bytes: usize) -> Result<Bytes, Unreached> {
        Ok(self.body.read(limit_bytes).await?)
    }

    /// Reads the next piece of the body.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Unreached> {
        Ok(self.body.next().await?)
    }

    /// Returns the length of the body, if it is known.
    pub(crate) fn length(&self) -> Option<usize> {
        self.body.length()
    }

    /// Reads a body nobody needs, if it is small.
    pub(crate) async fn discard(self) {
        let _ = timeout(Duration::from_secs(1), self.read(64 << 10)).await;
    }
}

/// Reads `Retry-After`: seconds, or a moment to wait for.
fn wait_of(text: &str) -> Option<Duration> {
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let moment = jiff::fmt::rfc2822::parse(text).ok()?;
    Some(Duration::try_from(moment.timestamp().duration_since(jiff::Timestamp::now())).unwrap_or_default())
}

#[cfg(test)]
mod tests;
