//! Requests as bytes, answers as bytes, over a pair of sockets.

mod asking;
mod changing;
mod following;
mod looking;
mod pages;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use manifold_admin::{AskerEnvironment, ErrorCode, Method, ROUTES};
use manifold_config::Profile;
use manifold_engine::Program;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use super::*;
use crate::fake::{self, NoFile, World, lock};

struct Desk {
    world: World,
    office: Office,
    program: Arc<Fake>,
}

/// A program that does what a test says.
struct Fake {
    gateway: Arc<Gateway>,
    lines: Mutex<Vec<AuditLine>>,
    edits: Mutex<Vec<(Edit, Option<String>)>>,
    undos: Mutex<Vec<Undo>>,
    orders: Mutex<Vec<DaemonOrder>>,
    opened: Mutex<Vec<(Option<String>, Option<AskerEnvironment>)>>,
    held: Arc<AtomicUsize>,
}

impl ControlledProgram for Fake {
    fn about(&self) -> About {
        About { version: "1.2.3".to_owned(), pid: 77, revision: Some("r1".to_owned()), ..About::default() }
    }

    fn open(
        &self,
        namespace: Option<&str>,
        client: Option<AskerEnvironment>,
    ) -> Result<Arc<Gateway>, CommandError> {
        lock(&self.opened).push((namespace.map(str::to_owned), client));
        match namespace {
            None | Some("all") => Ok(Arc::clone(&self.gateway)),
            Some(_) => Err(CommandError::new(ErrorCode::UnknownNamespace, "there is no such namespace")),
        }
    }

    fn config(&self) -> BoxFuture<Result<ConfigFile, CommandError>> {
        let file = ConfigFile { text: "{}".to_owned(), revision: "r1".to_owned(), ..ConfigFile::default() };
        Box::pin(std::future::ready(Ok(file)))
    }

    fn check_config(&self, text: String) -> BoxFuture<ConfigCheck> {
        let refused = (text == "bad").then(|| "it is bad".to_owned());
        Box::pin(std::future::ready(ConfigCheck { refused, ..ConfigCheck::default() }))
    }

    fn edit_config(
        &self,
        edit: Edit,
        expected: Option<String>,
        undo: Undo,
    ) -> BoxFuture<Result<ConfigChanged, CommandError>> {
        let is_stale = expected.as_ref().is_some_and(|expected| expected != "r1");
        lock(&self.edits).push((edit, expected));
        lock(&self.undos).push(undo);
        let changed = match is_stale {
            true => Err(CommandError::new(ErrorCode::Stale, "the config has changed")),
            false => Ok(ConfigChanged {
                before: "r1".to_owned(),
                revision: "r2".to_owned(),
                ..ConfigChanged::default()
            }),
        };
        Box::pin(std::future::ready(changed))
    }

    fn daemon(&self, order: DaemonOrder) -> BoxFuture<Result<(), CommandError>> {
        lock(&self.orders).push(order);
        let refused = || CommandError::new(ErrorCode::Failed, "it is the same program");
        Box::pin(std::future::ready(match order {
            DaemonOrder::Upgrade => Err(refused()),
            DaemonOrder::Stop | DaemonOrder::Restart => Ok(()),
        }))
    }

    fn daemon_status(&self) -> Option<Box<RawValue>> {
        RawValue::from_string(r#"{"running": true, "pid":77}"#.to_owned()).ok()
    }

    fn audit(&self, line: AuditLine) {
        lock(&self.lines).push(line);
    }

    fn audited(&self, lines: usize) -> Result<Vec<AuditLine>, CommandError> {
        let all = lock(&self.lines);
        Ok(all[all.len().saturating_sub(lines)..].to_vec())
    }

    fn hold(&self) -> Box<dyn Send + Sync> {
        self.held.fetch_add(1, Ordering::SeqCst);
        Box::new(Hold(Arc::clone(&self.held)))
    }
}

struct Hold(Arc<AtomicUsize>);

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn desk() -> Desk {
    let world = fake::world(Profile::Manifold);
    let program = Arc::new(Fake {
        gateway: Arc::clone(&world.gateway),
        lines: Mutex::default(),
        edits: Mutex::default(),
        undos: Mutex::default(),
        orders: Mutex::default(),
        opened: Mutex::default(),
        held: Arc::default(),
    });
    let told = Program { version: "1.2.3".to_owned(), ..Program::default() };
    let control = Control::new(&world.fleet, Arc::new(NoFile), told);
    let office = Office::new(control, Arc::clone(&program) as Arc<dyn ControlledProgram>);
    Desk { world, office, program }
}

/// An answer, taken apart.
#[derive(Debug)]
struct Answered {
    status: u16,
    head: String,
    body: String,
}

impl Answered {
    fn of(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let body = if head.contains("chunked") { unchunked(body) } else { body.to_owned() };
        Self { status, head: head.to_lowercase(), body }
    }

    fn header(&self, name: &str) -> Option<&str> {
        let of = |line: &'_ str| {
            line.split_once(": ").filter(|(found, _)| *found == name).map(|(_, value)| value.len())
        };
        let line = self.head.lines().find(|line| of(line).is_some())?;
        line.split_once(": ").map(|(_, value)| value)
    }

    fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The code of an error.
    fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_default().to_owned()
    }
}

fn unchunked(mut text: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = text.split_once("\r\n") {
        let Ok(size) = usize::from_str_radix(size, 16) else { break };
        let Some(chunk) = rest.get(..size) else { break };
        whole.push_str(chunk);
        text = rest.get(size + 2..).unwrap_or_default();
    }
    whole
}

impl Desk {
    /// Opens a connection.
    fn connect(&self) -> UnixStream {
        self.connect_as(None)
    }

    fn connect_as(&self, scope: Option<Scope>) -> UnixStream {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let mut peer = Peer::of(&theirs);
        peer.scope = scope.unwrap_or(peer.scope);
        let office = self.office.clone();
        let io = hyper_util::rt::TokioIo::new(theirs);
        self.world.tasks.spawn(serve_connection(io, peer, office));
        ours
    }

    /// Makes one request of these bytes and returns all that comes.
    async fn send(&self, request: &str) -> Answered {
        let mut socket = self.connect();
        // One that is refused early need not be read to its end.
        let _ = socket.write_all(request.as_bytes()).await;
        Answered::of(&rest(&mut socket).await)
    }

    async fn get(&self, path: &str) -> Answered {
        self.send(&request("GET", path, "", None)).await
    }

    async fn ask(&self, method: &str, path: &str, body: &str) -> Answered {
        self.send(&request(method, path, "", Some(body))).await
    }

    fn lines(&self) -> Vec<AuditLine> {
        std::mem::take(&mut *lock(&self.program.lines))
    }

    fn held(&self) -> usize {
        self.program.held.load(Ordering::SeqCst)
    }
}

/// Writes a request; `headers` are whole lines.
fn request(method: &str, path: &str, headers: &str, body: Option<&str>) -> String {
    let typed = if body.is_some() { "Content-Type: application/json\r\n" } else { "" };
    let body = body.unwrap_or_default();
    format!(
        "{method} {path} HTTP/1.1\r\nHost: m\r\nConnection: close\r\n{typed}{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

async fn rest(socket: &mut UnixStream) -> String {
    let mut read = Vec::new();
    let _ = socket.read_to_end(&mut read).await;
    String::from_utf8(read).unwrap()
}

/// Reads until something is there.
async fn until(socket: &mut UnixStream, read: &mut String, wanted: &str) {
    while !read.contains(wanted) {
        let mut some = [0; 4096];
        let count = socket.read(&mut some).await.unwrap();
        assert!(count > 0, "it ended without {wanted:?}: {read}");
        read.push_str(std::str::from_utf8(&some[..count]).unwrap());
    }
}

/// Waits for something that will be so.
async fn becomes(is_so: impl Fn() -> bool) {
    while !is_so() {
        tokio::task::yield_now().await;
    }
}
