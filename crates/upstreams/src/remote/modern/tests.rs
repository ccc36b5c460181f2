use std::collections::VecDeque;
use std::path::Path;
use std::sync::Mutex;

use manifold_config::{Environment, LoadOptions, Transport, load_text};
use manifold_engine::Host;
use manifold_protocol::Call;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use super::*;
use crate::cache::Cache;
use crate::fake::{Asked, FakeHost, lock, raw};
use crate::supervisor::Launcher;

const SECOND: Duration = Duration::from_secs(1);
const DISCOVERED: &str = r#"{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}"#;

/// A request as it came.
#[derive(Debug, Clone)]
struct Request {
    head: String,
    body: Raw,
}

impl Request {
    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    fn method(&self) -> String {
        self.body.get("method").unwrap().to_text().unwrap().into_owned()
    }
}

/// What the server does with the next request.
enum Does {
    /// The status and a body, `ID` standing for the request's own.
    Says(u16, String),
    /// Opens a stream, says this much and goes on for ever.
    Streams(&'static str),
    /// Opens a stream and breaks it off.
    Breaks,
}

struct Stage {
    remote: Remote,
    seen: Arc<Mutex<Vec<Request>>>,
    script: Arc<Mutex<VecDeque<Does>>>,
    /// Hears of each connection that we let go of while a stream was open.
    hangups: mpsc::UnboundedReceiver<()>,
    _server: JoinSet<()>,
}

async fn stage(keys: &str, script: impl IntoIterator<Item = Does>) -> Stage {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let text = format!(r#"{{"mcpServers":{{"s":{{"url":"{url}"{keys}}}}}}}"#);
    let environment = Environment { cwd: "/".into(), ..Environment::default() };
    let options = LoadOptions { environment, ..LoadOptions::default() };
    let server = load_text(&text, Some(Path::new("config.json")), &options).unwrap().servers[0].clone();
    let Transport::Remote(spec) = server.transport.clone() else { panic!("a remote server") };
    let remote = Remote {
        sign_in: None,
        server: Arc::new(server),
        spec,
        host: Arc::new(FakeHost::default()) as Arc<dyn Host>,
        logs: Arc::default(),
        tasks: Tasks::new(),
        trust: Default::default(),
        cache: Cache::default(),
        limit_bytes: 1 << 20,
        may_move: false,
    };
    let (seen, script) = (Arc::default(), Arc::new(Mutex::new(script.into_iter().collect())));
    let (hung_up, hangups) = mpsc::unbounded_channel();
    let mut tasks = JoinSet::new();
    let (record, plan) = (Arc::clone(&seen), Arc::clone(&script));
    tasks.spawn(async move {
        let mut peers = JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            peers.spawn(serve(stream, Arc::clone(&record), Arc::clone(&plan), hung_up.clone()));
        }
    });
    Stage { remote, seen, script, hangups, _server: tasks }
}

async fn serve(
    mut stream: TcpStream,
    seen: Arc<Mutex<Vec<Request>>>,
    script: Arc<Mutex<VecDeque<Does>>>,
    hung_up: mpsc::UnboundedSender<()>,
) {
    while let Some(request) = read(&mut stream).await {
        // The stream of a session: there is none here.
        if request.head.starts_with("GET") {
            stream.write_all(b"HTTP/1.1 405 X\r\ncontent-length: 0\r\n\r\n").await.unwrap();
            continue;
        }
        lock(&seen).push(request.clone());
        let does = lock(&script).pop_front().unwrap_or(Does::Says(500, String::new()));
        let id = request.body.get("id").unwrap_or_else(Raw::null).to_string();
        match does {
            Does::Says(status, body) => {
                let body = body.replace("ID", &id);
                let length = body.len();
                let head = format!(
                    "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
                );
                stream.write_all((head + &body).as_bytes()).await.unwrap();
            }
            Does::Streams(event) => {
                let head = "HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\n\r\n";
                stream.write_all(format!("{head}: hello\n\n{event}").as_bytes()).await.unwrap();
                let _ = stream.read(&mut [0; 1]).await;
                let _ = hung_up.send(());
                return;
            }
            Does::Breaks => {
                let head = "HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\n\r\n: hello\n\n";
                stream.write_all(head.as_bytes()).await.unwrap();
                return;
            }
        }
    }
}

async fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    loop {
        bytes.push(stream.read_u8().await.ok()?);
        if bytes.ends_with(b"\r\n\r\n") {
            break;
        }
    }
    let head = String::from_utf8(bytes).unwrap();
    let request = Request { head, body: Raw::null() };
    let length = request.header("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some(Request { body: Raw::parse(body).unwrap_or_else(|_| Raw::null()), ..request })
}

fn result(result: &str) -> Does {
    Does::Says(200, format!(r#"{{"jsonrpc":"2.0","id":ID,"result":{result}}}"#))
}

fn error(status: u16, code: i32) -> Does {
    Does::Says(status, format!(r#"{{"jsonrpc":"2.0","id":ID,"error":{{"code":{code},"message":"m"}}}}"#))
}

fn call(connection: &Connection, params: &str) -> Asked {
    let (exchange, asked) = Asked::open(60 * SECOND);
    assert!(connection.send(Call::new(Method::ToolsCall, Some(raw(params))), exchange).is_ok());
    asked
}

/// Shows which methods a start took, and how it ended.
async fn check_start(keys: &str, script: Vec<Does>, expected: &str) {
    let stage = stage(keys, script).await;
    let met = match stage.remote.launch().await {
        Ok(running) => running.said.revision,
        Err(fault) => format!("fault {}", fault.code(manifold_protocol::CodeSet::Own)),
    };
    let methods: Vec<String> = lock(&stage.seen).iter().map(Request::method).collect();
    assert_eq!(format!("{met}: {}", methods.join(" ")), expected);
}

const INITIALIZED: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{}}"#;

#[tokio::test]
async fn the_era_is_read_from_the_first_answer() {
    let old = || vec![result(INITIALIZED), Does::Says(202, String::new())];
    let then = |first: Does, rest: Vec<Does>| std::iter::once(first).chain(rest).collect::<Vec<_>>();
    check_start("", vec![result(DISCOVERED)], "2026-07-28: server/discover").await;
    check_start("", vec![error(400, -32022)], "2026-07-28: server/discover").await;
    check_start("", vec![error(404, -32601)], "2026-07-28: server/discover").await;
    let legacy = "2025-11-25: server/discover initialize notifications/initialized";
    let http = r#","type":"streamable-http""#;
    for first in
        [error(400, -32000), Does::Says(400, "no".to_owned()), error(200, -32601), error(400, -32601)]
    {
        check_start(http, then(first, old()), legacy).await;
    }
    // None of these says anything of the era.
    check_start(http, vec![Does::Says(401, String::new())], "fault -32603: server/discover").await;
    check_start(http, vec![Does::Says(503, String::new())], "fault -32001: server/discover").await;
    check_start(http, vec![error(500, -32022)], "fault -32001: server/discover").await;
    let pinned = r#","type":"streamable-http","era":"legacy""#;
    check_start(pinned, old(), "2025-11-25: initialize notifications/initialized").await;
    let pinned = r#","type":"streamable-http","era":"modern""#;
    check_start(pinned, vec![error(400, -32000)], "fault -32001: server/discover").await;
}

#[tokio::test]
async fn a_verdict_is_kept_and_dropped_when_it_proves_wrong() {
    let home = tempfile::tempdir().unwrap();
    let script = vec![
        error(400, -32000),
        result(INITIALIZED),
        Does::Says(202, String::new()),
        result(INITIALIZED),
        Does::Says(202, String::new()),
        error(400, -32022),
        result(DISCOVERED),
    ];
    let mut stage = stage(r#","type":"streamable-http""#, script).await;
    stage.remote.cache = Cache::new(Some(home.path().to_owned()));
    for expected in [
        "server/discover initialize notifications/initialized",
        "initialize notifications/initialized",
        "initialize server/discover",
    ] {
        drop(stage.remote.launch().await.unwrap_or_else(|fault| panic!("{}", fault.message())));
        let seen = std::mem::take(&mut *lock(&stage.seen));
        let methods: Vec<String> = seen.iter().map(Request::method).collect();
        assert_eq!(methods.join(" "), expected);
    }
}

#[tokio::test]
async fn headers_say_what_the_body_says() {
    let tools = r#"{"tools":[{"name":"t é","inputSchema":{"type":"object","properties":{
        "region":{"type":"string","x-mcp-header":"Region"},
        "deep":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}}}}},
        {"name":"bad","inputSchema":{"type":"object","x-mcp-header":"X"}}]}"#;
    let script = vec![result(DISCOVERED), result(&tools.replace('\n', "")), result("{}")];
    let stage = stage("", script).await;
    let running = stage.remote.launch().await.unwrap_or_else(|fault| panic!("{}", fault.message()));
    let listed = listing::read(&running.connection, Kind::Tools).await.unwrap();
    assert_eq!(listed.labels(), ["t é"], "what has no valid headers is left out");
    let asked = call(&running.connection, r#"{"name":"t é","arguments":{"region":"süd","deep":{"n":7}}}"#);
    assert_eq!(asked.answered().await, "{}");
    let seen = lock(&stage.seen).clone();
    for request in &seen {
        assert_eq!(request.header("mcp-protocol-version"), Some("2026-07-28"));
        assert_eq!(request.header("mcp-method"), Some(&*request.method()));
        assert_eq!(request.header("accept"), Some("application/json, text/event-stream"));
        assert!(modern::version_of(request.body.get("params").as_ref()).is_some());
    }
    assert_eq!(seen[1].header("mcp-name"), None);
    assert_eq!(seen[2].header("mcp-name"), Some("=?base64?dCDDqQ==?="));
    assert_eq!(seen[2].header("mcp-param-region"), Some("=?base64?c8O8ZA==?="));
    assert_eq!(seen[2].header("mcp-param-n"), Some("7"));
}

#[tokio::test]
async fn refused_headers_are_built_anew_once() {
    let schema = r#"{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"}}}"#;
    let script = vec![
        result(DISCOVERED),
        result(r#"{"tools":[{"name":"t"}]}"#),
        error(400, -32020),
        result(&format!(r#"{{"tools":[{{"name":"t","inputSchema":{schema}}}]}}"#)),
        result(r#"{"ok":1}"#),
        error(400, -32020),
        result(r#"{"tools":[]}"#),
        error(400, -32020),
    ];
    let stage = stage("", script).await;
    let running = stage.remote.launch().await.unwrap_or_else(|fault| panic!("{}", fault.message()));
    listing::read(&running.connection, Kind::Tools).await.unwrap();
    let params = r#"{"name":"t","arguments":{"a":"b"}}"#;
    assert_eq!(call(&running.connection, params).answered().await, r#"{"ok":1}"#);
    let said = |at: usize| lock(&stage.seen)[at].header("mcp-param-a").map(str::to_owned);
    assert_eq!((said(2), said(4)), (None, Some("b".to_owned())));
    assert_eq!(
        call(&running.connection, params).answered().await,
        r#"peer {"code":-32020,"message":"m"}"#,
        "twice is an answer"
    );
}

#[tokio::test]
async fn letting_go_of_the_stream_takes_the_call_back() {
    let script = vec![result(DISCOVERED), result(r#"{"tools":[]}"#), Does::Streams("")];
    let mut stage = stage("", script).await;
    let running = stage.remote.launch().await.unwrap_or_else(|fault| panic!("{}", fault.message()));
    listing::read(&running.connection, Kind::Tools).await.unwrap();
    let asked = call(&running.connection, r#"{"name":"t"}"#);
    while lock(&stage.seen).len() < 3 {
        tokio::task::yield_now().await;
    }
    asked.flight.cancel(None);
    timeout(5 * SECOND, stage.hangups.recv()).await.expect("the connection is closed");
    assert_eq!(lock(&stage.seen).len(), 3, "and nothing else is said");
}

#[tokio::test]
async fn a_broken_stream_loses_its_call_and_errors_are_answers() {
    let script = vec![
        result(DISCOVERED),
        result(r#"{"tools":[]}"#),
        Does::Breaks,
        error(404, -32601),
        Does::Says(400, r#"{"jsonrpc":"2.0","error":{"code":-32602,"message":"m"}}"#.to_owned()),
        Does::Says(502, "bad gateway".to_owned()),
    ];
    let stage = stage("", script).await;
    let running = stage.remote.launch().await.unwrap_or_else(|fault| panic!("{}", fault.message()));
    listing::read(&running.connection, Kind::Tools).await.unwrap();
    let expected = [
        "fault -32603 Server 's' went away during the call: the connection broke: its stream ended without the answer",
        r#"peer {"code":-32601,"message":"m"}"#,
        r#"peer {"code":-32602,"message":"m"}"#,
        "fault -32603 Server 's' refused the call: it answered HTTP 502: bad gateway",
    ];
    for expected in expected {
        assert_eq!(call(&running.connection, r#"{"name":"t"}"#).answered().await, expected);
    }
    assert!(lock(&stage.script).is_empty(), "none was sent twice");
}

/// Returns the size of the future that a function makes.
fn future_size<A, F: Future>(_: impl FnOnce(A) -> F) -> usize {
    size_of::<F>()
}

// A future is moved when it is started, and cleared when it is made: what is seldom is boxed where it begins.
#[test]
fn what_a_call_takes_on_its_way_is_small() {
    let carry = future_size(|(posts, post): (&'static Posts, Post)| posts.carry(post));
    let send =
        future_size(|(client, fields, body): (&'static HttpClient, &'static Fields, &'static Outgoing)| {
            client.send(Verb::POST, client.home(), fields, body)
        });
    assert!(send <= 512, "{send}");
    assert!(carry <= 1280, "{carry}");
}
