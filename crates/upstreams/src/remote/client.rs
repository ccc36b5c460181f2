//! A lean HTTP/1.1 client for one server: reused connections, the system's proxy and certificates, and no redirect
//! that would carry credentials away.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{HOST, HeaderName, HeaderValue, LOCATION, PROXY_AUTHORIZATION, RETRY_AFTER};
use hyper::http::response::Parts;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper::{HeaderMap, Method, Request, StatusCode, Uri};
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::TokioIo;
use manifold_config::RemoteSpec;
use manifold_engine::Tasks;
use manifold_protocol::Raw;
use manifold_protocol::dialect::modern;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;

use super::prompt::Prompt;

const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
/// Connections kept for reuse; more come and go with the load.
const MAX_IDLE: usize = 256;
/// A connection that rested longer may be closed by the server as we write: many close after five seconds.
const MAX_REST: Duration = Duration::from_secs(4);
const MAX_REDIRECTS: usize = 3;
/// What is read of an answer before anybody wants it; hyper's own limit is six times that, for each of many (F20).
const READ_BYTES: usize = 64 << 10;
/// Parts of header values that are this long are kept out of messages (`Bearer` is not).
const MIN_SECRET_CHARS: usize = 8;
/// What of an error's body is shown.
const SHOWN_BYTES: usize = 300;

/// The certificates we trust, read once and only if a server needs them.
#[derive(Clone, Default)]
pub(crate) struct Trust(Arc<Mutex<Option<Arc<rustls::ClientConfig>>>>);

/// A client for one server.
pub(crate) struct HttpClient {
    uri: Uri,
    /// The configured headers, which go with every request to this server and to nobody else.
    headers: HeaderMap,
    tls: Option<TlsConnector>,
    proxy: Option<Proxy>,
    /// Resting connections and since when.
    idle: Mutex<VecDeque<(SendRequest<Full<Bytes>>, Instant)>>,
    /// Values that must not come back to anyone's eyes.
    secrets: Vec<String>,
    tasks: Tasks,
}

struct Proxy {
    host: String,
    port: u16,
    authorization: Option<HeaderValue>,
}

/// A response whose connection goes back to the pool once its body has been read.
pub(crate) struct Answer {
    pub(crate) head: Parts,
    pub(crate) body: Incoming,
    sender: SendRequest<Full<Bytes>>,
    client: Arc<HttpClient>,
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
    Status { status: u16, retry_after: Option<Duration>, body: Bytes },
    /// It refused the handshake by this error.
    Refused(Raw),
}

impl Unreached {
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
            Self::TooLarge(limit_bytes) => write!(f, "its answer is larger than {limit_bytes} bytes"),
            Self::Status { status, body, .. } => {
                let shown = String::from_utf8_lossy(&body[..body.len().min(SHOWN_BYTES)]);
                match shown.trim() {
                    "" => write!(f, "it answered HTTP {status}"),
                    text => write!(f, "it answered HTTP {status}: {}", crate::logs::printable(text)),
                }
            }
        }
    }
}

impl HttpClient {
    pub(crate) fn new(spec: &RemoteSpec, trust: &Trust, tasks: Tasks) -> Result<Self, String> {
        let uri: Uri = spec.url.parse().map_err(|error| format!("the address cannot be read: {error}"))?;
        let secure = match uri.scheme_str() {
            Some("https" | "wss") => true,
            Some("http" | "ws") => false,
            _ => return Err("the address must begin with http:// or https://".to_owned()),
        };
        if uri.host().is_none() {
            return Err("the address has no host".to_owned());
        }
        let tls = if secure { Some(TlsConnector::from(trust.config()?)) } else { None };
        let mut headers = HeaderMap::new();
        for (name, value) in &spec.headers {
            let header = name.parse::<HeaderName>().map_err(|_| format!("`{name}` is no header name"))?;
            let mut value = HeaderValue::from_str(value.expose()).map_err(|_| {
                format!("the value of the header `{name}` has characters a header cannot hold")
            })?;
            value.set_sensitive(true);
            headers.append(header, value);
        }
        let proxy = Proxy::of(&uri);
        let values = spec.headers.iter().flat_map(|(_, value)| value.expose().split_whitespace());
        let secrets = values.filter(|part| part.len() >= MIN_SECRET_CHARS).map(str::to_owned).collect();
        Ok(Self { uri, headers, tls, proxy, idle: Mutex::default(), secrets, tasks })
    }

    pub(crate) fn uri(&self) -> &Uri {
        &self.uri
    }

    /// Sends a request; any answer that is no success is `Err`. `extra` headers come before configured ones.
    pub(crate) async fn send(
        self: &Arc<Self>,
        method: Method,
        uri: &Uri,
        extra: &HeaderMap,
        body: Bytes,
    ) -> Result<Answer, Unreached> {
        let mut uri = uri.clone();
        for _ in 0..=MAX_REDIRECTS {
            let answer = self.send_once(self.request(&method, &uri, extra, body.clone())?).await?;
            let status = answer.head.status;
            match status {
                StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => {
                    uri = self.redirected(&uri, &answer.head.headers)?;
                    answer.discard().await;
                }
                _ if status.is_success() => return Ok(answer),
                _ => return Err(answer.into_refusal().await),
            }
        }
        Err(Unreached::Broken("it redirects in circles".to_owned()))
    }

    /// Asks for another protocol on the same connection; any answer but that is `Err`.
    pub(crate) async fn upgrade(self: &Arc<Self>, extra: &HeaderMap) -> Result<(Parts, Upgraded), Unreached> {
        let answer = self.send_once(self.request(&Method::GET, &self.uri, extra, Bytes::new())?).await?;
        if answer.head.status != StatusCode::SWITCHING_PROTOCOLS {
            return Err(answer.into_refusal().await);
        }
        let Answer { mut head, .. } = answer;
        let upgrade = head.extensions.remove::<OnUpgrade>();
        let lost = || Unreached::Broken("the connection was not handed over".to_owned());
        let upgraded = upgrade.ok_or_else(lost)?.await;
        Ok((head, upgraded.map_err(|error| Unreached::Broken(error.to_string()))?))
    }

    fn request(
        &self,
        method: &Method,
        uri: &Uri,
        extra: &HeaderMap,
        body: Bytes,
    ) -> Result<Request<Full<Bytes>>, Unreached> {
        // Through a plain proxy the whole address is asked for, else only its path.
        let through_proxy = self.proxy.is_some() && self.tls.is_none();
        let target: Uri = match uri.path_and_query() {
            Some(path) if !through_proxy => Uri::from(path.clone()),
            _ => uri.clone(),
        };
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method.clone();
        *request.uri_mut() = target;
        let headers = request.headers_mut();
        headers.clone_from(&self.headers);
        // Ours replace configured ones of the same name: what the protocol says is not the file's to change.
        for (name, value) in extra {
            headers.insert(name.clone(), value.clone());
        }
        let authority = uri.authority().map(|authority| authority.as_str()).unwrap_or_default();
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        let host = HeaderValue::from_str(host)
            .map_err(|_| Unreached::Connect("the host cannot be named".to_owned()))?;
        headers.insert(HOST, host);
        if let Some(authorization) =
            self.proxy.as_ref().filter(|_| through_proxy).and_then(|p| p.authorization.clone())
        {
            headers.insert(PROXY_AUTHORIZATION, authorization);
        }
        Ok(request)
    }

    async fn send_once(self: &Arc<Self>, request: Request<Full<Bytes>>) -> Result<Answer, Unreached> {
        let mut request = request;
        loop {
            let (mut sender, reused) = match self.take_idle() {
                Some(sender) => (sender, true),
                None => (self.connect().await?, false),
            };
            match sender.try_send_request(request).await {
                Ok(response) => {
                    let (head, body) = response.into_parts();
                    return Ok(Answer { head, body, sender, client: Arc::clone(self) });
                }
                Err(mut failure) => match failure.take_message() {
                    // The server closed a resting connection before it took the request: no harm done.
                    Some(unsent) if reused => request = unsent,
                    Some(_) => return Err(Unreached::Connect(failure.into_error().to_string())),
                    None => return Err(Unreached::Broken(failure.into_error().to_string())),
                },
            }
        }
    }

    fn take_idle(&self) -> Option<SendRequest<Full<Bytes>>> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        // The one used last is the one most likely alive.
        while let Some((sender, since)) = idle.pop_back() {
            if sender.is_ready() && since.elapsed() < MAX_REST {
                return Some(sender);
            }
        }
        None
    }

    fn put_idle(&self, sender: SendRequest<Full<Bytes>>) {
        if sender.is_closed() {
            return;
        }
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MAX_IDLE {
            idle.push_back((sender, Instant::now()));
        }
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, Unreached> {
        match timeout(CONNECT_PATIENCE, self.open()).await {
            Ok(opened) => opened.map_err(|error| Unreached::Connect(error.to_string())),
            Err(_) => Err(Unreached::Connect("it took too long".to_owned())),
        }
    }

    async fn open(&self) -> Result<SendRequest<Full<Bytes>>, Box<dyn std::error::Error + Send + Sync>> {
        let host = self.uri.host().unwrap_or_default().trim_matches(['[', ']']);
        let port = self.uri.port_u16().unwrap_or(if self.tls.is_some() { 443 } else { 80 });
        let mut stream = match &self.proxy {
            None => TcpStream::connect((host, port)).await?,
            Some(proxy) => TcpStream::connect((proxy.host.as_str(), proxy.port)).await?,
        };
        stream.set_nodelay(true)?;
        notice_dead_peers(&stream);
        match &self.tls {
            None => self.shake_hands(Prompt::new(stream)).await,
            Some(connector) => {
                if let Some(proxy) = &self.proxy {
                    proxy.tunnel(&mut stream, host, port).await?;
                }
                let name = ServerName::try_from(host.to_owned())?;
                self.shake_hands(connector.connect(name, Prompt::new(stream)).await?).await
            }
        }
    }

    async fn shake_hands<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
        &self,
        stream: S,
    ) -> Result<SendRequest<Full<Bytes>>, Box<dyn std::error::Error + Send + Sync>> {
        let (sender, connection) =
            http1::Builder::new().max_buf_size(READ_BYTES).handshake(TokioIo::new(stream)).await?;
        self.tasks.spawn_background(async move {
            // How it ended, the request on it hears.
            let _ = connection.with_upgrades().await;
        });
        Ok(sender)
    }

    /// Takes out what a server may have echoed of the credentials it was sent (T24).
    fn redact(&self, body: Bytes) -> Bytes {
        let Ok(text) = std::str::from_utf8(&body) else { return body };
        if !self.secrets.iter().any(|secret| text.contains(secret)) {
            return body;
        }
        let redacted = self.secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret, "***"));
        redacted.into()
    }

    /// Follows a redirect within the same origin only: credentials go nowhere else (T12).
    fn redirected(&self, from: &Uri, headers: &HeaderMap) -> Result<Uri, Unreached> {
        let location = headers.get(LOCATION).and_then(|location| location.to_str().ok()).unwrap_or_default();
        let refuse = || {
            Unreached::Broken(format!("it redirects to `{location}`, another origin; set that as its url"))
        };
        if location.starts_with('/') && !location.starts_with("//") {
            let authority = from.authority().map(|authority| authority.as_str()).unwrap_or_default();
            let scheme = from.scheme_str().unwrap_or("http");
            return format!("{scheme}://{authority}{location}").parse().map_err(|_| refuse());
        }
        let target: Uri = location.parse().map_err(|_| refuse())?;
        let same = target.scheme() == from.scheme() && target.authority() == from.authority();
        if same { Ok(target) } else { Err(refuse()) }
    }
}

/// Lets the kernel find out about a peer that is gone without a word (F14).
fn notice_dead_peers(stream: &TcpStream) {
    use nix::sys::socket::{setsockopt, sockopt};
    // Best effort: a system that refuses one of these still serves.
    let _ = setsockopt(stream, sockopt::KeepAlive, &true);
    let _ = setsockopt(stream, sockopt::TcpKeepIdle, &15);
    let _ = setsockopt(stream, sockopt::TcpKeepInterval, &5);
    let _ = setsockopt(stream, sockopt::TcpKeepCount, &3);
    let _ = setsockopt(stream, sockopt::TcpUserTimeout, &30_000);
}

impl Answer {
    /// Reads the whole body within a limit and gives the connection back.
    pub(crate) async fn read(mut self, limit_bytes: usize) -> Result<Bytes, Unreached> {
        let mut whole: Vec<Bytes> = Vec::new();
        let mut size = 0;
        while let Some(data) = self.next().await? {
            size += data.len();
            if size > limit_bytes {
                return Err(Unreached::TooLarge(limit_bytes));
            }
            whole.push(data);
        }
        self.give_back();
        Ok(match whole.len() {
            1 => whole.swap_remove(0),
            _ => whole.concat().into(),
        })
    }

    /// Reads the next piece of the body.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Unreached> {
        loop {
            match self.body.frame().await {
                None => return Ok(None),
                Some(Err(error)) => return Err(Unreached::Broken(error.to_string())),
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
            }
        }
    }

    /// Gives the connection back once the body has been read to its end.
    pub(crate) fn give_back(self) {
        self.client.put_idle(self.sender);
    }

    /// Reads a body nobody needs, if it is small.
    pub(crate) async fn discard(self) {
        let _ = timeout(Duration::from_secs(1), self.read(64 << 10)).await;
    }

    async fn into_refusal(self) -> Unreached {
        let client = Arc::clone(&self.client);
        let status = self.head.status.as_u16();
        let retry_after =
            self.head.headers.get(RETRY_AFTER).and_then(|after| wait_of(after.to_str().ok()?.trim()));
        let body = timeout(Duration::from_secs(5), self.read(64 << 10)).await;
        let body = body.ok().and_then(Result::ok).unwrap_or_default();
        Unreached::Status { status, retry_after, body: client.redact(body) }
    }
}

impl Proxy {
    /// Returns the proxy the environment names for this address.
    fn of(uri: &Uri) -> Option<Self> {
        let found = Matcher::from_env().intercept(uri)?;
        let host = found.uri().host()?.to_owned();
        let port = found.uri().port_u16().unwrap_or(80);
        Some(Self { host, port, authorization: found.basic_auth().cloned() })
    }

    /// Asks the proxy for a way through.
    async fn tunnel(&self, stream: &mut TcpStream, host: &str, port: u16) -> std::io::Result<()> {
        let mut request = format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n");
        if let Some(authorization) = self.authorization.as_ref().and_then(|value| value.to_str().ok()) {
            request.push_str(&format!("Proxy-Authorization: {authorization}\r\n"));
        }
        request.push_str("\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let byte = stream.read_u8().await?;
            head.push(byte);
            if head.len() > 8192 {
                return Err(std::io::Error::other("the proxy's answer does not end"));
            }
        }
        let line = String::from_utf8_lossy(&head);
        let line = line.lines().next().unwrap_or_default();
        match line.split(' ').nth(1) {
            Some("200") => Ok(()),
            _ => Err(std::io::Error::other(format!("the proxy said: {line}"))),
        }
    }
}

impl Trust {
    fn config(&self) -> Result<Arc<rustls::ClientConfig>, String> {
        let mut config = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(config) = &*config {
            return Ok(Arc::clone(config));
        }
        let mut roots = rustls::RootCertStore::empty();
        let found = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(found.certs);
        if roots.is_empty() {
            return Err(
                "the system has no certificates to trust; install ca-certificates or set SSL_CERT_FILE"
                    .to_owned(),
            );
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let built = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let built = Arc::new(built);
        *config = Some(Arc::clone(&built));
        Ok(built)
    }
}

/// Returns the essence of a response's content type.
pub(crate) fn is_events(response: &Parts) -> bool {
    let kind =
        response.headers.get(hyper::header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("");
    kind.trim_start().to_ascii_lowercase().starts_with("text/event-stream")
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
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_seconds_or_a_moment() {
        assert_eq!(wait_of("7"), Some(Duration::from_secs(7)));
        assert_eq!(wait_of("Sun, 06 Nov 1994 08:49:37 GMT"), Some(Duration::ZERO), "long past");
        assert_eq!(wait_of("soon"), None);
    }
}
