use std::path::Path;
use std::sync::Mutex;

use manifold_config::{Environment, LoadOptions, Transport, load_text};
use manifold_engine::BoxFuture;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::*;
use crate::fake::lock;

#[test]
fn retry_after_is_seconds_or_a_moment() {
    assert_eq!(wait_of("7"), Some(Duration::from_secs(7)));
    assert_eq!(wait_of("Sun, 06 Nov 1994 08:49:37 GMT"), Some(Duration::ZERO), "long past");
    assert_eq!(wait_of("soon"), None);
}

/// What a server does with a request.
#[derive(Clone, Copy)]
enum Does {
    Answers,
    /// Answers and closes the connection without having said so.
    AnswersAndCloses,
    /// Closes the connection over the request.
    Closes,
    /// Refuses the credential.
    Refuses,
    /// Sends to another place of its own.
    Redirects,
}

/// A server that does one thing after another, whatever the connection.
struct Server {
    url: String,
    heard: Arc<Mutex<Vec<String>>>,
    connections: Arc<Mutex<usize>>,
    closed: Arc<Notify>,
    _tasks: JoinSet<()>,
}

impl Server {
    async fn start(script: &'static [Does]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp?a=b", listener.local_addr().unwrap());
        let heard = Arc::<Mutex<Vec<String>>>::default();
        let (connections, closed) = (Arc::<Mutex<usize>>::default(), Arc::<Notify>::default());
        let mut tasks = JoinSet::new();
        let (requests, opened, told) = (Arc::clone(&heard), Arc::clone(&connections), Arc::clone(&closed));
        tasks.spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                *lock(&opened) += 1;
                while let Some(request) = read(&mut stream).await {
                    let does = script[lock(&requests).len()];
                    lock(&requests).push(request);
                    let answer: &[u8] = match does {
                        Does::Closes => b"",
                        Does::Refuses => {
                            b"HTTP/1.1 401 X\r\nwww-authenticate: Bearer scope=\"a\"\r\ncontent-length: 2\r\n\r\nno"
                        }
                        Does::Redirects => {
                            b"HTTP/1.1 307 X\r\nlocation: /elsewhere\r\ncontent-length: 2\r\n\r\nno"
                        }
                        _ => b"HTTP/1.1 200 X\r\ncontent-length: 2\r\n\r\nok",
                    };
                    stream.write_all(answer).await.unwrap();
                    if !matches!(does, Does::Answers | Does::Refuses | Does::Redirects) {
                        break;
                    }
                }
                drop(stream);
                told.notify_one();
            }
        });
        Self { url, heard, connections, closed, _tasks: tasks }
    }

    fn client(&self, headers: &str) -> HttpClient {
        let text = format!(r#"{{"mcpServers":{{"s":{{"url":"{}","headers":{{{headers}}}}}}}}}"#, self.url);
        let environment = Environment { cwd: "/".into(), ..Environment::default() };
        let options = LoadOptions { environment, ..LoadOptions::default() };
        let server = load_text(&text, Some(Path::new("config.json")), &options).unwrap().servers[0].clone();
        let Transport::Remote(spec) = server.transport else { panic!("a remote server") };
        HttpClient::new(&spec, &Trust::default(), Tasks::new()).unwrap()
    }

    fn counts(&self) -> (usize, usize) {
        (*lock(&self.connections), lock(&self.heard).len())
    }
}

/// Reads a request whose body is `{}` or nothing.
async fn read(stream: &mut TcpStream) -> Option<String> {
    let mut text = Vec::new();
    loop {
        text.push(stream.read_u8().await.ok()?);
        let head = String::from_utf8_lossy(&text);
        if head.ends_with("\r\n\r\n") && !head.contains("content-length: 2") || head.ends_with("\r\n\r\n{}") {
            return Some(head.into_owned());
        }
    }
}

async fn post(client: &HttpClient) -> Result<Bytes, Unreached> {
    let fields = Fields::new("accept: a\r\n").with("mcp-name", "n");
    let body = Bytes::from_static(b"{}").into();
    client.send(Method::POST, client.home(), &fields, &body).await?.read(100).await
}

#[tokio::test]
async fn a_request_is_written_as_the_protocol_wants_it() {
    let server = Server::start(&[Does::Answers; 2]).await;
    let client = server.client(
        r#""Authorization":"Bearer key","Accept":"no","Mcp-Name":"no","Host":"no","Content-Length":"9",
           "Transfer-Encoding":"chunked","Mcp-Else":"yes""#,
    );
    assert_eq!(post(&client).await.unwrap(), "ok");
    let fields = Fields::default();
    client.send(Method::GET, client.home(), &fields, &Outgoing::default()).await.unwrap();
    let host = client.uri().authority().unwrap();
    let start = format!("/mcp?a=b HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer key\r\n");
    let heard = lock(&server.heard);
    let said = "mcp-else: yes\r\naccept: a\r\nmcp-name: n\r\ncontent-length: 2\r\n\r\n{}";
    assert_eq!(heard[0], format!("POST {start}{said}"));
    assert_eq!(heard[1], format!("GET {start}accept: no\r\nmcp-name: no\r\nmcp-else: yes\r\n\r\n"));
    assert_eq!(*lock(&server.connections), 1, "it is used again");
}

#[tokio::test]
async fn an_address_without_a_path_has_one_on_the_wire() {
    let mut server = Server::start(&[Does::Answers]).await;
    server.url = server.url.replace("/mcp", "");
    assert_eq!(post(&server.client("")).await.unwrap(), "ok");
    let heard = lock(&server.heard)[0].clone();
    assert!(heard.starts_with("POST /?a=b HTTP/1.1\r\n"), "{heard}");
}

#[tokio::test]
async fn a_connection_that_was_closed_at_rest_is_not_used() {
    let server = Server::start(&[Does::AnswersAndCloses, Does::Answers]).await;
    let client = server.client("");
    post(&client).await.unwrap();
    server.closed.notified().await;
    // Our side of the connection has heard of it once something else has been heard of later.
    TcpStream::connect(client.uri().authority().unwrap().as_str()).await.unwrap();
    assert_eq!(post(&client).await.unwrap(), "ok");
    assert_eq!(lock(&server.heard).len(), 2, "each once");
}

#[tokio::test]
async fn what_was_written_is_not_sent_again() {
    let server = Server::start(&[Does::Answers, Does::Closes]).await;
    let client = server.client("");
    post(&client).await.unwrap();
    let lost = post(&client).await;
    assert!(matches!(lost, Err(Unreached::Broken(_))), "{lost:?}");
    assert_eq!(server.counts(), (1, 2));
}

/// A credential that is replaced when it is refused, so often.
struct Renewed {
    left: Mutex<usize>,
    told: Mutex<Vec<Option<String>>>,
}

impl Renewed {
    fn proof(&self) -> Proof {
        let value = format!("Bearer {}", lock(&self.left));
        let fields = Some(Arc::new(Fields::default().with("authorization", value)));
        Proof { fields, bearer: None }
    }
}

impl Credentials for Renewed {
    fn current(&self) -> Option<Proof> {
        Some(self.proof())
    }

    fn obtain(&self) -> BoxFuture<Result<Proof, Fault>> {
        Box::pin(std::future::ready(Ok(self.proof())))
    }

    fn refused(&self, refusal: Refusal) -> BoxFuture<After> {
        assert!(refusal.sent.fields.is_some());
        let mut told = lock(&self.told);
        assert_eq!(refusal.is_second, !told.is_empty());
        told.push(refusal.challenges.first().cloned());
        let mut left = lock(&self.left);
        let is_left = *left > 0;
        *left = left.saturating_sub(1);
        drop(left);
        let after = if is_left { After::Resend(self.proof()) } else { After::Pass };
        Box::pin(std::future::ready(after))
    }
}

async fn check_renewal(left: usize, script: &'static [Does], expected: Option<&str>, sent: &[&str]) {
    let server = Server::start(script).await;
    let credentials = Arc::new(Renewed { left: Mutex::new(left), told: Mutex::default() });
    let client = server.client("").with_credentials(Arc::clone(&credentials) as Arc<dyn Credentials>);
    let answer = post(&client).await;
    match (answer, expected) {
        (Ok(answer), Some(expected)) => assert_eq!(answer, expected),
        (Err(Unreached::Status { status: 401, .. }), None) => {}
        (other, _) => panic!("{other:?}"),
    }
    let heard = lock(&server.heard).clone();
    let keys = heard.iter().filter_map(|one| one.split("authorization: ").nth(1)?.lines().next());
    assert_eq!(keys.collect::<Vec<_>>(), sent);
    assert!(lock(&credentials.told).iter().all(|told| told.as_deref() == Some("Bearer scope=\"a\"")));
}

#[tokio::test]
async fn a_refused_credential_is_told_and_another_is_tried_once() {
    check_renewal(1, &[Does::Answers], Some("ok"), &["Bearer 1"]).await;
    check_renewal(1, &[Does::Refuses, Does::Answers], Some("ok"), &["Bearer 1", "Bearer 0"]).await;
    check_renewal(0, &[Does::Refuses], None, &["Bearer 0"]).await;
    check_renewal(5, &[Does::Refuses, Does::Refuses], None, &["Bearer 5", "Bearer 4"]).await;
}

// It is the last of the places that says no, and there it is sent again.
#[tokio::test]
async fn a_credential_that_is_refused_behind_a_redirect_is_told_too() {
    use Does::{Answers, Redirects, Refuses};
    let (first, then) = ("Bearer 1", "Bearer 0");
    check_renewal(1, &[Redirects, Answers], Some("ok"), &[first, first]).await;
    check_renewal(1, &[Redirects, Refuses, Answers], Some("ok"), &[first, first, then]).await;
    check_renewal(1, &[Refuses, Redirects, Answers], Some("ok"), &[first, then, then]).await;
    check_renewal(1, &[Redirects, Refuses, Redirects, Answers], Some("ok"), &[first, first, then, then])
        .await;
    check_renewal(5, &[Redirects, Refuses, Refuses], None, &["Bearer 5", "Bearer 5", "Bearer 4"]).await;
    check_renewal(0, &[Redirects, Refuses], None, &["Bearer 0", "Bearer 0"]).await;
    let server = Server::start(&[Redirects, Refuses, Answers]).await;
    let credentials = Arc::new(Renewed { left: Mutex::new(1), told: Mutex::default() });
    post(&server.client("").with_credentials(credentials)).await.unwrap();
    let heard = lock(&server.heard).clone();
    assert!(
        heard[1].starts_with("POST /elsewhere ") && heard[2].starts_with("POST /elsewhere "),
        "{heard:?}"
    );
    let circles = Server::start(&[Redirects; 12]).await;
    let credentials = Arc::new(Renewed { left: Mutex::new(1), told: Mutex::default() });
    let lost = post(&circles.client("").with_credentials(credentials)).await;
    assert!(matches!(lost, Err(Unreached::Broken(_))), "{lost:?}");
}
