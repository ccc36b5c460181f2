//! Fetching what an address has: no server's headers or credentials go along, and nothing is kept open.

use std::io::{self, Write};
use std::time::Duration;

use hyper::{Method, Uri};
use manifold_engine::Tasks;
use manifold_protocol::Outgoing;
use tokio::time::timeout;

use super::{Answer, HttpClient, MAX_REDIRECTS, Noted, Unreached};
use crate::remote::dial::{Dialer, Trust};
use crate::remote::h1::Fields;

/// How long an answer may take to begin, and each next piece of it to come.
const PATIENCE: Duration = Duration::from_secs(30);
/// And all of it together: twice that, or this where so much may come.
const MAX_PATIENCE: Duration = Duration::from_secs(600);
const LARGE: u64 = 32 << 20;

/// What is fetched.
#[derive(Debug, Clone, Copy)]
pub struct Fetched<'a> {
    pub url: &'a str,
    pub max_bytes: u64,
    /// Whether a redirect may lead to another host, if that is asked by https.
    pub may_leave_origin: bool,
}

/// Why there is nothing.
#[derive(Debug, thiserror::Error)]
pub enum GetError {
    #[error("it answered HTTP {0}")]
    Status(u16),
    #[error("its answer is larger than {0} bytes")]
    TooLarge(u64),
    #[error("it redirects to where it may not")]
    Redirected,
    #[error("{0}")]
    Unreached(String),
    #[error("it took too long")]
    TimedOut,
    #[error("what came could not be written: {0}")]
    Write(#[source] io::Error),
}

/// Fetches what an address has, through the proxy of the environment, within bounds of size and time.
pub async fn get(fetched: Fetched<'_>, into: &mut dyn Write) -> Result<(), GetError> {
    let patience = if fetched.max_bytes > LARGE { MAX_PATIENCE } else { PATIENCE * 2 };
    match timeout(patience, walk(fetched, into)).await {
        Ok(done) => done,
        Err(_) => Err(GetError::TimedOut),
    }
}

async fn walk(fetched: Fetched<'_>, into: &mut dyn Write) -> Result<(), GetError> {
    let unreadable = |error| GetError::Unreached(format!("the address cannot be read: {error}"));
    let mut uri: Uri = fetched.url.parse().map_err(unreadable)?;
    let trust = Trust::default();
    for _ in 0..=MAX_REDIRECTS {
        let answer = timeout(PATIENCE, ask(&uri, &trust)).await.map_err(|_| GetError::TimedOut)??;
        match answer.head.status {
            200 => return read(answer, fetched.max_bytes, into).await,
            301 | 302 | 303 | 307 | 308 => {
                let location = answer.head.noted_text(Noted::Location).unwrap_or_default();
                uri = next(&uri, location, fetched.may_leave_origin).ok_or(GetError::Redirected)?;
            }
            status => return Err(GetError::Status(status)),
        }
    }
    Err(GetError::Redirected)
}

async fn ask(uri: &Uri, trust: &Trust) -> Result<Answer, GetError> {
    let dialer = Dialer::new(uri, trust).map_err(GetError::Unreached)?;
    let client = HttpClient::bare(uri.clone(), dialer, Tasks::new());
    let agent = concat!("manifold/", env!("CARGO_PKG_VERSION"));
    let fields =
        Fields::default().with("accept", "*/*").with("user-agent", agent).with("connection", "close");
    let body = Outgoing::default();
    client.ask_once(&Method::GET, &fields, &body).await.map_err(unreached)
}

async fn read(mut answer: Answer, max_bytes: u64, into: &mut dyn Write) -> Result<(), GetError> {
    if answer.length().is_some_and(|bytes| bytes as u64 > max_bytes) {
        return Err(GetError::TooLarge(max_bytes));
    }
    let mut left = max_bytes;
    loop {
        let piece = timeout(PATIENCE, answer.next()).await.map_err(|_| GetError::TimedOut)?;
        let Some(piece) = piece.map_err(unreached)? else { break };
        left = left.checked_sub(piece.len() as u64).ok_or(GetError::TooLarge(max_bytes))?;
        into.write_all(&piece).map_err(GetError::Write)?;
    }
    into.flush().map_err(GetError::Write)
}

/// Returns where a redirect leads, if it may lead there.
fn next(from: &Uri, location: &str, may_leave_origin: bool) -> Option<Uri> {
    let (scheme, authority) = (from.scheme_str()?, from.authority()?.as_str());
    let is_path = location.starts_with('/') && !location.starts_with("//");
    let target: Uri = match is_path {
        true => format!("{scheme}://{authority}{location}").parse().ok()?,
        false => location.parse().ok()?,
    };
    let is_same = target.scheme_str() == Some(scheme) && target.authority()? == from.authority()?;
    let may_go = may_leave_origin && target.scheme_str() == Some("https");
    let has_user = target.authority()?.as_str().contains('@');
    (!has_user && (is_same || may_go)).then_some(target)
}

fn unreached(why: Unreached) -> GetError {
    GetError::Unreached(why.to_string())
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio::task::JoinSet;

    use super::*;

    /// Answers each connection with the next of these, whatever it asks.
    async fn fetched(
        answers: Vec<String>,
        max_bytes: u64,
        may_leave_origin: bool,
    ) -> (Result<String, GetError>, Vec<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/first?a=b", listener.local_addr().unwrap());
        let mut server = JoinSet::new();
        let (asked, mut heard) = tokio::sync::mpsc::unbounded_channel();
        server.spawn(async move {
            for answer in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut head = vec![0; 4096];
                let read = stream.read(&mut head).await.unwrap();
                asked.send(String::from_utf8_lossy(&head[..read]).into_owned()).unwrap();
                // Who has heard enough hangs up.
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        let mut body = Vec::new();
        let got = get(Fetched { url: &url, max_bytes, may_leave_origin }, &mut body).await;
        let mut requests = Vec::new();
        while let Ok(request) = heard.try_recv() {
            requests.push(request);
        }
        (got.map(|()| String::from_utf8(body).unwrap()), requests)
    }

    fn ok(body: &str) -> String {
        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
    }

    fn redirect(to: &str) -> String {
        format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n")
    }

    #[tokio::test]
    async fn a_get_carries_nothing_but_itself() {
        let (got, asked) = fetched(vec![ok("hello")], 100, false).await;
        assert_eq!(got.unwrap(), "hello");
        assert!(asked[0].starts_with("GET /first?a=b HTTP/1.1\r\nhost: 127.0.0.1"), "{}", asked[0]);
        assert!(!asked[0].to_lowercase().contains("authorization"));
    }

    #[tokio::test]
    async fn redirects_stay_at_home_or_go_by_https() {
        let (got, asked) = fetched(vec![redirect("/second"), ok("there")], 100, false).await;
        assert_eq!(got.unwrap(), "there");
        assert!(asked[1].starts_with("GET /second HTTP/1.1\r\n"));
        for to in
            ["http://other.example/", "https://other.example/", "//other.example/", "file:///etc/passwd", ""]
        {
            let (got, asked) = fetched(vec![redirect(to)], 100, false).await;
            assert!(matches!(got, Err(GetError::Redirected)), "{to}: {got:?}");
            assert_eq!(asked.len(), 1);
        }
        for to in ["http://other.example/", "ftp://other.example/", "https://user@other.example/"] {
            let (got, _) = fetched(vec![redirect(to)], 100, true).await;
            assert!(matches!(got, Err(GetError::Redirected)), "{to}: {got:?}");
        }
        let from: Uri = "https://a.example/x".parse().unwrap();
        assert!(next(&from, "https://b.example/y", true).is_some());
        assert!(next(&from, "http://a.example/y", true).is_none(), "away from https");
        let circle = vec![redirect("/round"); MAX_REDIRECTS + 1];
        assert!(matches!(fetched(circle, 100, false).await.0, Err(GetError::Redirected)));
    }

    #[tokio::test]
    async fn an_answer_that_is_too_large_is_not_read() {
        let (got, _) = fetched(vec![ok("hello")], 4, false).await;
        assert!(matches!(got, Err(GetError::TooLarge(4))), "{got:?}");
        let endless =
            format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{}", "5\r\nhello\r\n".repeat(100));
        let (got, _) = fetched(vec![endless], 400, false).await;
        assert!(matches!(got, Err(GetError::TooLarge(400))), "{got:?}");
    }

    #[tokio::test]
    async fn what_is_no_success_is_said() {
        let (got, _) =
            fetched(vec!["HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_owned()], 9, false).await;
        assert!(matches!(got, Err(GetError::Status(404))), "{got:?}");
        let (got, _) =
            fetched(vec!["HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf".to_owned()], 99, false).await;
        assert!(matches!(got, Err(GetError::Unreached(_))), "{got:?}");
        let refused =
            get(Fetched { url: "ftp://a", max_bytes: 1, may_leave_origin: false }, &mut Vec::new()).await;
        assert!(matches!(refused, Err(GetError::Unreached(_))));
    }
}
