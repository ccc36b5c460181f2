use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use manifold_oauth::{Body, Reach};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::*;
use crate::fake::lock;

const LOOPBACK: Reach = Reach { loopback: true, private: false };

/// A server that answers each connection with the next of these.
struct Server {
    port: u16,
    heard: Arc<Mutex<Vec<String>>>,
    _tasks: JoinSet<()>,
}

impl Server {
    async fn start(answers: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = Arc::<Mutex<Vec<String>>>::default();
        let told = Arc::clone(&heard);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            for answer in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut head = vec![0; 8192];
                let read = stream.read(&mut head).await.unwrap();
                lock(&told).push(String::from_utf8_lossy(&head[..read]).into_owned());
                // Who has heard enough hangs up.
                let _ = stream.write_all(answer.as_bytes()).await;
            }
            std::future::pending::<()>().await;
        });
        Self { port, heard, _tasks: tasks }
    }

    fn url(&self, path: &str) -> Url {
        Url::parse(&format!("http://localhost:{}{path}", self.port)).unwrap()
    }
}

fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nRetry-After: 7\r\n\r\n{body}", body.len())
}

fn redirect(to: &str) -> String {
    format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n")
}

/// Resolves every name to the next of these, and counts.
fn resolving(addresses: &'static [&'static str]) -> (OAuthHttp, Arc<AtomicUsize>) {
    let asked = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&asked);
    let http = OAuthHttp::resolving(move |_, port| {
        let at = counted.fetch_add(1, Ordering::Relaxed);
        let ip = addresses[at.min(addresses.len() - 1)].parse().unwrap();
        Box::pin(std::future::ready(Ok(vec![SocketAddr::new(ip, port)])))
    });
    (http, asked)
}

#[tokio::test]
async fn a_request_says_what_it_is_given_and_nothing_else() {
    let server = Server::start(vec![ok("{}"), ok("{}")]).await;
    let (http, _) = resolving(&["127.0.0.1"]);
    let answer = http.send(Request::metadata(server.url("/a?b=c"), LOOPBACK)).await.unwrap();
    assert_eq!(
        (answer.status, answer.body.as_slice(), answer.header("Retry-After")),
        (200, &b"{}"[..], Some("7"))
    );
    let form = Body::Form("grant_type=x".into());
    let request = Request::post(server.url("/token"), form, LOOPBACK).header("authorization", "Basic abc");
    http.send(request).await.unwrap();
    let agent = concat!("user-agent: manifold/", env!("CARGO_PKG_VERSION"), "\r\nconnection: close\r\n");
    let host = format!("host: localhost:{}\r\n", server.port);
    let heard = lock(&server.heard);
    assert_eq!(heard[0], format!("GET /a?b=c HTTP/1.1\r\n{host}{agent}accept: application/json\r\n\r\n"));
    let said = "accept: application/json\r\nauthorization: Basic abc\r\n";
    let kind = "content-type: application/x-www-form-urlencoded\r\ncontent-length: 12\r\n\r\ngrant_type=x";
    assert_eq!(heard[1], format!("POST /token HTTP/1.1\r\n{host}{agent}{said}{kind}"));
}

#[tokio::test]
async fn redirects_stay_at_their_origin_and_posts_follow_none() {
    let server = Server::start(vec![redirect("/second"), ok("there")]).await;
    let (http, _) = resolving(&["127.0.0.1"]);
    let answer = http.send(Request::metadata(server.url("/first"), LOOPBACK)).await.unwrap();
    assert_eq!(answer.body, b"there");
    assert!(lock(&server.heard)[1].starts_with("GET /second "));
    for to in ["http://127.0.0.1:1/", "https://localhost/", "//evil.example/", "http://169.254.169.254/", "x"]
    {
        let server = Server::start(vec![redirect(to)]).await;
        let refused = http.send(Request::metadata(server.url("/"), LOOPBACK)).await;
        assert!(matches!(refused, Err(HttpError::Redirected { .. })), "{to}: {refused:?}");
    }
    let circle = Server::start(vec![redirect("/round"); 40]).await;
    let refused = http.send(Request::metadata(circle.url("/"), LOOPBACK)).await;
    assert!(matches!(refused, Err(HttpError::Redirected { .. })), "{refused:?}");
    assert_eq!(lock(&circle.heard).len(), 4, "three are followed");
    let server = Server::start(vec![redirect("/second"), ok("there")]).await;
    let answer = http.send(Request::post(server.url("/token"), Body::None, LOOPBACK)).await.unwrap();
    assert_eq!((answer.status, lock(&server.heard).len()), (302, 1));
}

#[tokio::test]
async fn limits_of_size_and_time_hold() {
    let long =
        format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{}", "5\r\nhello\r\n".repeat(100));
    let server = Server::start(vec![ok("hello"), long, String::new()]).await;
    let (http, _) = resolving(&["127.0.0.1"]);
    for limit in [4, 400] {
        let request = Request { max_body_bytes: limit, ..Request::metadata(server.url("/"), LOOPBACK) };
        let refused = http.send(request).await;
        assert!(matches!(refused, Err(HttpError::TooLarge { .. })), "{limit}: {refused:?}");
    }
    // One that takes the request and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://127.0.0.1:{}/", silent.local_addr().unwrap().port())).unwrap();
    let request = Request { timeout: Duration::from_millis(50), ..Request::metadata(url, LOOPBACK) };
    let refused = http.send(request).await;
    assert!(matches!(refused, Err(HttpError::TimedOut { .. })), "{refused:?}");
}

// T14
#[tokio::test]
async fn nothing_inside_the_network_is_asked() {
    let public = Reach::default();
    let refused = async |http: &OAuthHttp, url: &str| {
        let Ok(url) = Url::parse(url) else { return true };
        matches!(http.send(Request::metadata(url, public)).await, Err(HttpError::Refused(_)))
    };
    let (http, asked) = resolving(&["127.0.0.1"]);
    for url in [
        "http://as.example/",
        "http://127.0.0.1/",
        "https://127.0.0.1/",
        "https://localhost/",
        "https://[::1]/",
        "https://10.0.0.1/",
        "https://172.16.0.1/",
        "https://192.168.1.1/",
        "https://100.64.0.1/",
        "https://169.254.169.254/latest/",
        "https://0.0.0.0/",
        "https://[fe80::1]/",
        "https://[fd00::1]/",
        "https://[::ffff:10.0.0.1]/",
        "https://[64:ff9b::a00:1]/",
        "https://[2002:a00:1::]/",
        "https://metadata.google.internal/",
        "https://0x7f.1/",
        "https://2130706433/",
        "https://127.1/",
        "https://user@as.example/",
        "file:///etc/passwd",
        "gopher://as.example/",
        "javascript:alert(1)",
    ] {
        assert!(refused(&http, url).await, "{url}");
    }
    assert_eq!(asked.load(Ordering::Relaxed), 0, "they are known by how they are written");
    // Names that lead inside.
    for address in ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "fd12::1", "100.100.100.200"] {
        let http = OAuthHttp::resolving(move |_, port| {
            let address = SocketAddr::new(address.parse().unwrap(), port);
            Box::pin(std::future::ready(Ok(vec![address])))
        });
        assert!(refused(&http, "https://as.example/").await, "{address}");
    }
    // One good address does not redeem a bad one.
    let http = OAuthHttp::resolving(|_, port| {
        let both = ["93.184.216.34", "127.0.0.1"].map(|ip| SocketAddr::new(ip.parse().unwrap(), port));
        Box::pin(std::future::ready(Ok(both.to_vec())))
    });
    assert!(refused(&http, "https://as.example/").await);
}

// T14: what was judged is what is connected to.
#[tokio::test]
async fn a_name_is_looked_up_once_for_each_request() {
    let server = Server::start(vec![ok("{}")]).await;
    let (http, asked) = resolving(&["127.0.0.1", "10.0.0.1"]);
    http.send(Request::metadata(server.url("/"), LOOPBACK)).await.unwrap();
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    let refused = http.send(Request::metadata(server.url("/"), LOOPBACK)).await;
    assert!(matches!(refused, Err(HttpError::Refused(_))), "{refused:?}");
    assert_eq!(lock(&server.heard).len(), 1);
}
