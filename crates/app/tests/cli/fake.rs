//! A gateway that says what it was told to, at the place where the daemon of a sandbox listens.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::thread;
use std::time::SystemTime;

use manifold_rendezvous::{BaseFolders, Identity, Place};
use manifold_testkit::Sandbox;
use serde_json::{Value, json};

/// A command that has ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// What was asked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Asked {
    /// Method and path, with the query.
    pub(crate) line: String,
    pub(crate) face: Option<String>,
    pub(crate) if_match: Option<String>,
    pub(crate) body: Value,
}

#[derive(Clone)]
enum Answer {
    Json(u16, String),
    /// Events; the stream stays open where the last word is so.
    Events(String, bool),
}

/// The gateway. It ends with the test's process.
pub(crate) struct Gateway {
    pub(crate) sandbox: Sandbox,
    answers: Arc<Mutex<BTreeMap<String, Answer>>>,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Gateway {
    pub(crate) fn new() -> Self {
        Self::with_config(&json!({"mcpServers": {"git": {"builtin": "time"}, "files": {"builtin": "time"}}}))
    }

    pub(crate) fn with_config(config: &Value) -> Self {
        let sandbox = Sandbox::new();
        let path = sandbox.write_config(config).canonicalize().expect("the config is there");
        let identity =
            Identity { config: path.to_string_lossy().into_owned(), profile: "manifold".to_owned() };
        let runtime = sandbox.path(".run").canonicalize().expect("the folder is there");
        let base = BaseFolders { runtime: Some(runtime), state: None };
        let place = Place::open(&base, &identity).expect("a folder for sockets");
        place.make_folder().expect("a folder for sockets");
        let listener = place.listen(&place.control_socket()).expect("a socket");
        let gateway = Self { sandbox, answers: Arc::default(), asked: Arc::default() };
        let (answers, asked) = (Arc::clone(&gateway.answers), Arc::clone(&gateway.asked));
        thread::spawn(move || serve(&listener, &answers, &asked));
        gateway.says(
            "GET /v1/about",
            &json!({"version": "1.2.3", "kind": "daemon", "pid": 4711, "uptimeMs": 65_000}),
        )
    }

    /// Has it answer a request so.
    pub(crate) fn says(self, line: &str, answer: &Value) -> Self {
        self.set(line, Answer::Json(200, answer.to_string()))
    }

    /// Has it refuse a request.
    pub(crate) fn refuses(self, line: &str, status: u16, code: &str, message: &str) -> Self {
        let body = json!({"error": {"code": code, "message": message}});
        self.set(line, Answer::Json(status, body.to_string()))
    }

    /// Has it answer with these events, and leave the stream open or end it.
    pub(crate) fn streams(self, line: &str, events: &[(&str, Value)], stays_open: bool) -> Self {
        let events: String =
            events.iter().map(|(name, data)| format!("event: {name}\ndata: {data}\n\n")).collect();
        self.set(line, Answer::Events(events, stays_open))
    }

    fn set(self, line: &str, answer: Answer) -> Self {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).insert(line.to_owned(), answer);
        self
    }

    /// Returns what was asked beside who it is.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.iter().filter(|one| one.line != "GET /v1/about").cloned().collect()
    }

    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = self.sandbox.daemon();
        command.args(line.split(' ')).stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, line: &str) -> Ran {
        ran(self.command(line))
    }

    /// Runs a command that succeeds, and returns what it wrote.
    #[track_caller]
    pub(crate) fn shown(&self, line: &str) -> String {
        let ran = self.run(line);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{line}: {ran:?}");
        assert!(!ran.stdout.contains('\u{1b}'), "no escape codes in a pipe: {ran:?}");
        ran.stdout
    }

    /// Runs a command that writes one document.
    #[track_caller]
    pub(crate) fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.shown(line)).unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    /// Runs a command that fails in both forms; returns the code of the error for programs.
    #[track_caller]
    pub(crate) fn fails(&self, line: &str, exit: i32, said: &str) -> String {
        let ran = self.run(line);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(exit), ""), "{line}: {ran:?}");
        assert!(ran.stderr.contains(&format!("manifold: {said}")), "{line}: {ran:?}");
        let ran = self.run(&format!("{line} --json"));
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(exit), ""), "{line}: {ran:?}");
        let last = ran.stderr.lines().last().unwrap_or_default();
        let error: Value =
            serde_json::from_str(last).unwrap_or_else(|error| panic!("{line}: {error}: {ran:?}"));
        assert!(error["error"]["message"].is_string() && !error["error"]["hint"].is_boolean(), "{error}");
        error["error"]["code"].as_str().unwrap_or_default().to_owned()
    }
}

pub(crate) fn ran(mut command: Command) -> Ran {
    let output = command.output().expect("the program starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the output is UTF-8");
    Ran { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Runs a command in a sandbox where nothing runs.
pub(crate) fn alone(sandbox: &Sandbox, line: &str) -> Ran {
    let mut command = sandbox.daemon();
    command.args(line.split(' ')).stdin(Stdio::null());
    ran(command)
}

fn serve(listener: &UnixListener, answers: &Mutex<BTreeMap<String, Answer>>, asked: &Mutex<Vec<Asked>>) {
    thread::scope(|scope| {
        for socket in listener.incoming().flatten() {
            scope.spawn(|| answer(socket, answers, asked));
        }
    });
}

fn answer(mut socket: UnixStream, answers: &Mutex<BTreeMap<String, Answer>>, asked: &Mutex<Vec<Asked>>) {
    let Some(request) = read(&socket) else { return };
    let line = without_time(&request.line);
    asked.lock().unwrap_or_else(PoisonError::into_inner).push(request);
    let answer = answers.lock().unwrap_or_else(PoisonError::into_inner).get(&line).cloned();
    let missing = json!({"error": {"code": "unknown-route", "message": format!("no answer to {line}")}});
    match answer.unwrap_or(Answer::Json(404, missing.to_string())) {
        Answer::Json(status, body) => {
            let body = body.replace(r#""uptimeMs":65000"#, &format!(r#""uptimeMs":{}"#, uptime_ms()));
            let head = format!("HTTP/1.1 {status} -\r\nContent-Length: {}\r\n\r\n", body.len());
            let _ = socket.write_all(format!("{head}{body}").as_bytes());
        }
        Answer::Events(events, stays_open) => {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
            let _ = socket.write_all(format!("{head}{events}").as_bytes());
            if stays_open {
                // Until the other end goes.
                let _ = socket.read(&mut [0; 1]);
            }
        }
    }
}

/// Returns a request without how long it may take, which is never the same, and how much is answered at once.
fn without_time(line: &str) -> String {
    let Some((path, query)) = line.split_once('?') else { return line.to_owned() };
    let is_plain = |member: &&str| !member.starts_with("timeoutMs=") && !member.starts_with("limit=");
    let members: Vec<&str> = query.split('&').filter(is_plain).collect();
    if members.is_empty() { path.to_owned() } else { format!("{path}?{}", members.join("&")) }
}

/// It grows, as that of one that runs does.
fn uptime_ms() -> u128 {
    static BEGAN: LazyLock<SystemTime> = LazyLock::new(SystemTime::now);
    65_000 + BEGAN.elapsed().unwrap_or_default().as_millis()
}

fn read(socket: &UnixStream) -> Option<Asked> {
    let mut reader = BufReader::new(socket);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if line.trim_end().is_empty() {
            break;
        }
        lines.push(line.trim_end().to_owned());
    }
    let header = |name: &str| {
        let found = lines.iter().filter_map(|line| line.split_once(": ")).find(|(key, _)| *key == name);
        found.map(|(_, value)| value.to_owned())
    };
    let length = header("Content-Length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let line = lines.first()?.rsplit_once(' ')?.0.to_owned();
    Some(Asked {
        line,
        face: header("Manifold-Face"),
        if_match: header("If-Match"),
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
    })
}

/// Checks what a verb wrote for programs against its committed schema.
pub(crate) fn check_schema(name: &str, stdout: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/api/{name}.schema.json"));
    let schema: Value =
        serde_json::from_str(&std::fs::read_to_string(path).expect("it is there")).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let told: Value = serde_json::from_str(stdout).expect("JSON");
    let wrong: Vec<String> = validator.iter_errors(&told).map(|error| error.to_string()).collect();
    assert!(wrong.is_empty(), "{name}: {wrong:?} in {told}");
}
