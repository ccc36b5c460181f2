//! What is asked of authorization servers goes out here: only to addresses that were judged, with nothing of the server's
//! own headers, and within limits of size and time (T14).

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use hyper::{Method, Uri};
use manifold_engine::Tasks;
use manifold_oauth::{BoxFuture, Http, HttpError, Redirects, Refused, Request, Response, Url};
use manifold_protocol::Outgoing;
use tokio::time::{Instant, timeout_at};

use super::super::client::{Answer, HttpClient, Unreached};
use super::super::dial::{Dialer, Trust};
use super::super::h1::{Fields, Noted};

/// Finds the addresses of a host.
type Resolve = dyn Fn(String, u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync;

/// Asks authorization servers.
pub struct OAuthHttp {
    trust: Trust,
    tasks: Tasks,
    resolve: Arc<Resolve>,
}

impl OAuthHttp {
    pub fn new(tasks: Tasks) -> Self {
        Self {
            trust: Trust::default(),
            tasks,
            resolve: Arc::new(|host, port| Box::pin(looked_up(host, port))),
        }
    }

    #[cfg(test)]
    fn resolving(
        resolve: impl Fn(String, u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync + 'static,
    ) -> Self {
        Self { resolve: Arc::new(resolve), ..Self::new(Tasks::new()) }
    }

    async fn walk(&self, mut request: Request) -> Result<Response, HttpError> {
        let host = request.url.host().to_owned();
        let until = Instant::now() + request.timeout;
        let walk = async {
            let mut left = match request.redirects {
                Redirects::None => 0,
                Redirects::SameOrigin(most) => most,
            };
            loop {
                let answer = self.ask(&request).await?;
                let is_redirect = matches!(answer.head.status, 301 | 302 | 303 | 307 | 308);
                if !is_redirect || request.redirects == Redirects::None {
                    return read(answer, &request).await;
                }
                let location = answer.head.noted_text(Noted::Location).unwrap_or_default();
                let next = next(&request.url, location).filter(|_| left > 0);
                request.url =
                    next.ok_or_else(|| HttpError::Redirected { host: request.url.host().to_owned() })?;
                left -= 1;
            }
        };
        timeout_at(until, walk).await.unwrap_or(Err(HttpError::TimedOut { host }))
    }

    /// Sends the request once, over a connection of its own.
    async fn ask(&self, request: &Request) -> Result<Answer, HttpError> {
        let url = &request.url;
        request.reach.permits_url(url)?;
        let unreachable = |why: String| HttpError::Unreachable { host: url.host().to_owned(), why };
        let uri: Uri =
            url.as_str().parse().map_err(|_| unreachable("its address cannot be read".to_owned()))?;
        let dialer = Dialer::new(&uri, &self.trust).map_err(unreachable)?;
        let addresses = self.judged(request, dialer.has_proxy()).await?;
        let client = HttpClient::bare(uri, dialer.pinned(addresses), self.tasks.clone());
        let agent = concat!("manifold/", env!("CARGO_PKG_VERSION"));
        let mut fields = Fields::default().with("user-agent", agent).with("connection", "close");
        for (name, value) in &request.headers {
            fields.say(name, value.expose());
        }
        let mut body = Outgoing::default();
        if let Some((kind, text)) = request.body.parts() {
            fields.say("content-type", kind);
            body = Bytes::copy_from_slice(text.as_bytes()).into();
        }
        let method = match request.method {
            manifold_oauth::Method::Get => Method::GET,
            manifold_oauth::Method::Post => Method::POST,
            manifold_oauth::Method::Delete => Method::DELETE,
        };
        client.ask_once(&method, &fields, &body).await.map_err(|why| unreached(url, why))
    }

    /// Returns the addresses of the host that may be connected to.
    async fn judged(&self, request: &Request, has_proxy: bool) -> Result<Vec<SocketAddr>, HttpError> {
        let url = &request.url;
        let found = match url.ip() {
            Some(ip) => Ok(vec![SocketAddr::new(ip, url.port())]),
            None => (self.resolve)(url.host().to_owned(), url.port()).await,
        };
        let found = match found {
            Ok(found) => found,
            // Behind a proxy names may be known to it alone, and it is the one to judge them.
            Err(_) if has_proxy => return Ok(Vec::new()),
            Err(error) => {
                return Err(HttpError::Unreachable { host: url.host().to_owned(), why: error.to_string() });
            }
        };
        let mut refused: Option<Refused> = None;
        let mut judged = Vec::new();
        for address in found {
            match request.reach.permits_address(url, address.ip()) {
                Ok(()) => judged.push(address),
                Err(why) => refused = Some(why),
            }
        }
        match refused {
            // A name that leads inside at times is none to go by.
            Some(why) => Err(why.into()),
            None if judged.is_empty() => {
                let why = "its name leads nowhere".to_owned();
                Err(HttpError::Unreachable { host: url.host().to_owned(), why })
            }
            None => Ok(judged),
        }
    }
}

impl Http for OAuthHttp {
    fn send(&self, request: Request) -> BoxFuture<'_, Result<Response, HttpError>> {
        Box::pin(self.walk(request))
    }
}

async fn looked_up(host: String, port: u16) -> io::Result<Vec<SocketAddr>> {
    Ok(tokio::net::lookup_host((host.as_str(), port)).await?.collect())
}

async fn read(mut answer: Answer, request: &Request) -> Result<Response, HttpError> {
    let limit = request.max_body_bytes;
    let too_large = || HttpError::TooLarge { host: request.url.host().to_owned(), limit };
    if answer.length().is_some_and(|bytes| bytes > limit) {
        return Err(too_large());
    }
    let noted = [
        (Noted::RetryAfter, "retry-after"),
        (Noted::Location, "location"),
        (Noted::Challenge, "www-authenticate"),
        (Noted::CacheControl, "cache-control"),
    ];
    let headers = noted.into_iter().filter_map(|(noted, name)| {
        answer.head.noted_text(noted).map(|value| (name.to_owned(), value.to_owned()))
    });
    let mut response = Response { status: answer.head.status, headers: headers.collect(), body: Vec::new() };
    while let Some(piece) = answer.next().await.map_err(|why| unreached(&request.url, why))? {
        if response.body.len() + piece.len() > limit {
            return Err(too_large());
        }
        response.body.extend_from_slice(&piece);
    }
    Ok(response)
}

fn unreached(url: &Url, why: Unreached) -> HttpError {
    HttpError::Unreachable { host: url.host().to_owned(), why: why.to_string() }
}

/// Returns where a redirect leads, if it stays at its origin.
fn next(from: &Url, location: &str) -> Option<Url> {
    let target = match location.starts_with('/') && !location.starts_with("//") {
        true => format!("{}{location}", from.origin()),
        false => location.to_owned(),
    };
    Url::parse(&target).ok().filter(|url| url.is_same_origin(from))
}

#[cfg(test)]
mod tests;
