//! Where the browser comes back to: a listener on this machine that knows one path, one method and one login, and is gone
//! with it. Nothing of what it is asked is shown again.

use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use manifold_oauth::{Credential, Url};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::Failed;

/// The longest request that is read; a browser's own headers fit many times.
const MAX_REQUEST_BYTES: usize = 64 << 10;
/// How long a browser may take to ask.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why nobody can come back.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoCallback {
    #[error("port {port} on 127.0.0.1 cannot be listened on: {why}; set another `oauth.callbackPort`")]
    Port { port: u16, why: io::Error },
}

/// A listener for one login.
pub(crate) struct Callbacks {
    listener: TcpListener,
    redirect_uri: String,
    path: String,
}

/// What a request is answered with.
pub(super) enum Page {
    SignedIn,
    NotSignedIn,
    Refused,
    NotFound,
}

impl Callbacks {
    /// Listens where the config says, else where the browser came back to before, else on any port, which `redirect_uri`
    /// makes the address of. `None` where the config has it come back to another machine.
    pub(crate) async fn open(
        configured: Option<&str>,
        port: Option<u16>,
        before: Option<&str>,
        redirect_uri: impl Fn(u16) -> String,
    ) -> Result<Option<Self>, NoCallback> {
        let parsed = configured.map(Url::parse).transpose().ok().flatten();
        if let (Some(url), Some(written)) = (&parsed, configured) {
            if !url.is_loopback() || written.starts_with("https") {
                return Ok(None);
            }
            let listener =
                listen(url.port()).await.map_err(|why| NoCallback::Port { port: url.port(), why })?;
            let path = if url.path().is_empty() { "/" } else { url.path() };
            return Ok(Some(Self { listener, redirect_uri: written.to_owned(), path: path.to_owned() }));
        }
        let listener = match (port, before.and_then(port_of)) {
            (Some(port), _) => listen(port).await.map_err(|why| NoCallback::Port { port, why })?,
            // The same port again, where it is free: some providers know no other.
            (None, Some(before)) => match listen(before).await {
                Ok(listener) => listener,
                Err(_) => any_port().await?,
            },
            (None, None) => any_port().await?,
        };
        let port = listener.local_addr().map_err(|why| NoCallback::Port { port: 0, why })?.port();
        let redirect_uri = redirect_uri(port);
        let path = Url::parse(&redirect_uri).map(|url| url.path().to_owned()).unwrap_or_default();
        Ok(Some(Self { listener, redirect_uri, path }))
    }

    pub(crate) fn redirect_uri(&self) -> &str {
        &self.redirect_uri
    }

    pub(crate) fn port(&self) -> Option<u16> {
        self.listener.local_addr().ok().map(|address| address.port())
    }

    /// Takes what browsers come with until one of them ends the login. Each is answered for itself, so that one which is
    /// slow keeps nobody out.
    pub(crate) async fn wait<F>(&self, take: impl Fn(String) -> F) -> Result<Credential, Failed>
    where
        F: Future<Output = Result<Credential, Failed>>,
    {
        let mut visitors = Visitors::default();
        loop {
            let (mut stream, query) = tokio::select! {
                accepted = self.listener.accept() => {
                    if let Ok((stream, _)) = accepted {
                        visitors.add(stream);
                    }
                    continue;
                }
                visitor = visitors.next() => visitor,
            };
            let Some(query) = query.as_deref().and_then(|line| query_of(line, &self.path)) else {
                answer(&mut stream, Page::NotFound).await;
                continue;
            };
            match take(query.to_owned()).await {
                Ok(credential) => {
                    answer(&mut stream, Page::SignedIn).await;
                    return Ok(credential);
                }
                Err(failed) if failed.leaves_open() => answer(&mut stream, Page::Refused).await,
                Err(failed) => {
                    answer(&mut stream, Page::NotSignedIn).await;
                    return Err(failed);
                }
            }
        }
    }
}

/// Those who have connected and not said yet what they want.
#[derive(Default)]
struct Visitors(tokio::task::JoinSet<(TcpStream, Option<String>)>);

impl Visitors {
    /// Nobody needs more at once.
    const MOST: usize = 32;

    fn add(&mut self, mut stream: TcpStream) {
        if self.0.len() >= Self::MOST {
            return;
        }
        self.0.spawn(async move {
            let line = timeout(PATIENCE, request_line(&mut stream)).await.ok().flatten();
            (stream, line)
        });
    }

    async fn next(&mut self) -> (TcpStream, Option<String>) {
        loop {
            match self.0.join_next().await {
                Some(Ok(visitor)) => return visitor,
                Some(Err(_)) => {}
                None => std::future::pending().await,
            }
        }
    }
}

async fn listen(port: u16) -> io::Result<TcpListener> {
    TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await
}

async fn any_port() -> Result<TcpListener, NoCallback> {
    listen(0).await.map_err(|why| NoCallback::Port { port: 0, why })
}

/// Returns the port of an address of ours that was registered before.
fn port_of(redirect_uri: &str) -> Option<u16> {
    Url::parse(redirect_uri).ok().filter(|url| url.host() == "127.0.0.1").map(|url| url.port())
}

/// Reads a request to the end of its head and returns its first line; none where that is no request, or too long.
async fn request_line(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::with_capacity(4096);
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        if head.len() >= MAX_REQUEST_BYTES || stream.read_buf(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    let end = head.windows(2).position(|two| two == b"\r\n")?;
    std::str::from_utf8(&head[..end]).ok().map(ToOwned::to_owned)
}

/// Returns the query of a request that may be the one that is waited for.
fn query_of<'l>(line: &'l str, path: &str) -> Option<&'l str> {
    let mut words = line.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    let is_get = method == "GET" && version.starts_with("HTTP/1.") && words.next().is_none();
    let (asked, query) = target.split_once('?')?;
    (is_get && asked == path).then_some(query)
}

impl Page {
    pub(super) fn status(&self) -> u16 {
        match self {
            Self::SignedIn | Self::NotSignedIn => 200,
            Self::Refused => 400,
            Self::NotFound => 404,
        }
    }

    pub(super) fn html(&self) -> String {
        let (title, text) = match self {
            Self::SignedIn => ("Signed in", "You are signed in. You can close this page."),
            Self::NotSignedIn => (
                "Not signed in",
                "You are not signed in. The place where you started it says why. You can close this page.",
            ),
            Self::Refused => {
                ("Not signed in", "This is not the answer that is waited for. The sign-in is still open.")
            }
            Self::NotFound => ("Not found", "There is nothing here."),
        };
        format!(
            "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title} - Manifold</title></head>\
             <body><h1>{title}</h1><p>{text}</p></body></html>\n"
        )
    }
}

async fn answer(stream: &mut TcpStream, page: Page) {
    let status = match page {
        Page::SignedIn | Page::NotSignedIn => "200 OK",
        Page::Refused => "400 Bad Request",
        Page::NotFound => "404 Not Found",
    };
    let body = page.html();
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\
         Content-Security-Policy: default-src 'none'\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n\
         X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let said = async {
        stream.write_all(answer.as_bytes()).await?;
        stream.shutdown().await
    };
    // Who has gone meanwhile needs no page.
    let _ = timeout(PATIENCE, said).await;
}

#[cfg(test)]
mod tests;
