//! Clients that hang up in mid-call (F19): to one without a session it is a cancel, to one with a session it is not, and
//! nothing is left behind either way.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]
#![expect(clippy::disallowed_types, reason = "how soon a call is taken back is measured in real time")]

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::time::{Duration, Instant};

use manifold_testkit::http_client::{BOTH, headers_of};
use manifold_testkit::modern::Marks;
use manifold_testkit::{Sandbox, fake, figures, until};
use serde_json::{Value, json};

use crate::http::{Conn, Gateway, calling, end_quietly};
use crate::{alone, figure};

/// Calls in flight at once, which is all the server may have: a slot that is not freed shows with the next wave.
const WAVE: usize = 100;
const SOON: Duration = Duration::from_secs(60);

fn config(sandbox: &Sandbox) -> Value {
    let mut server =
        fake(json!({"tools": [{"name": "echo"}, {"name": "sleep"}], "log": sandbox.path("a.log")}));
    server["maxConcurrency"] = json!(WAVE);
    json!({"mcpServers": {"a": server}, "managerTools": false})
}

/// What the server wrote down, counted as it comes.
struct Seen {
    log: Option<BufReader<File>>,
    path: std::path::PathBuf,
    half: String,
    calls: usize,
    cancels: usize,
}

impl Seen {
    fn new(sandbox: &Sandbox) -> Self {
        Self { log: None, path: sandbox.path("a.log"), half: String::new(), calls: 0, cancels: 0 }
    }

    fn look(&mut self) {
        if self.log.is_none() {
            self.log = File::open(&self.path).ok().map(BufReader::new);
        }
        let Some(log) = &mut self.log else { return };
        while log.read_line(&mut self.half).unwrap() > 0 && self.half.ends_with('\n') {
            self.calls += usize::from(self.half.contains(r#""name":"sleep""#));
            self.cancels += usize::from(self.half.contains("notifications/cancelled"));
            self.half.clear();
        }
    }

    fn wait(&mut self, what: impl Fn(&Self) -> bool) -> bool {
        until(SOON, || {
            self.look();
            what(self)
        })
    }
}

fn open_files(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count()
}

/// Calls a tool as a client without a session does, and reads nothing.
fn call_modern(port: u16, tool: &str, arguments: Value) -> Conn {
    let marks = Marks { capabilities: json!({}), log_level: None };
    let params = marks.put_on(&json!({"name": tool, "arguments": arguments}));
    let headers = headers_of("tools/call", &params);
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let mut connection = Conn::open(port);
    connection.send("POST", "/mcp", &headers, &calling(1, "tools/call", params));
    connection
}

// F19
#[test]
fn hanging_up_takes_the_call_back() {
    let _alone = alone();
    let hangups = figure(1_000, 100_000);
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &config(&sandbox), &[]);
    let (port, pid) = (gateway.port, gateway.client.pid());
    let mut seen = Seen::new(&sandbox);
    let echo = || call_modern(port, "a__echo", json!({"text": "x"})).answer().json();
    assert_eq!(echo()["result"]["content"][0]["text"], "x");
    // The connection of the echo closes in its own time.
    let at_rest = |files: usize| until(SOON, || open_files(pid) <= files);
    assert!(until(SOON, || {
        let files = open_files(pid);
        std::thread::sleep(Duration::from_millis(50));
        files == open_files(pid)
    }));
    let before = open_files(pid);
    let mut slowest = Duration::ZERO;
    let mut done = 0;
    while done < hangups {
        let wave: Vec<Conn> =
            (0..WAVE).map(|_| call_modern(port, "a__sleep", json!({"ms": 600_000}))).collect();
        done += WAVE;
        assert!(seen.wait(|seen| seen.calls == done), "{} of {done} reached the server", seen.calls);
        drop(wave);
        let began = Instant::now();
        assert!(seen.wait(|seen| seen.cancels == done), "{} of {done} taken back", seen.cancels);
        slowest = slowest.max(began.elapsed());
    }
    assert_eq!(echo()["result"]["content"][0]["text"], "x");
    assert!(at_rest(before), "{} files, {before} before", open_files(pid));
    println!(
        "F19: {hangups} hang-ups without a session, the server saw {} cancels, the slowest of a wave of {WAVE} {slowest:?} \
         after; {} files open, {before} before",
        seen.cancels,
        open_files(pid)
    );
    figures::took("F19: the slowest cancel of a wave", slowest, Duration::from_secs(1));
    end_quietly(gateway.client);
}

// F19: the older revisions say that a disconnect is no cancel
#[test]
fn hanging_up_in_a_session_takes_nothing_back() {
    let _alone = alone();
    let waves = figure(3, 30);
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &config(&sandbox), &[]);
    let pid = gateway.client.pid();
    let mut seen = Seen::new(&sandbox);
    let session = gateway.session("/mcp", "2025-11-25", json!({}));
    let echo = |id: u64| {
        let call = json!({"name": "a__echo", "arguments": {"text": "x"}});
        session.post(BOTH, &calling(id, "tools/call", call)).json()
    };
    assert_eq!(echo(0)["result"]["content"][0]["text"], "x");
    let before = open_files(pid);
    for wave in 0..waves {
        let first = 1 + wave * WAVE;
        let calls: Vec<Conn> = (0..WAVE)
            .map(|n| session.call((first + n) as u64, "a__sleep", json!({"ms": 200}), None))
            .collect();
        assert!(seen.wait(|seen| seen.calls == (wave + 1) * WAVE), "{} reached the server", seen.calls);
        drop(calls);
        // Waits for its turn behind all of them: they have ended by themselves.
        assert_eq!(echo((first + WAVE) as u64 + 1_000_000)["result"]["content"][0]["text"], "x");
    }
    seen.look();
    assert!(until(SOON, || open_files(pid) <= before), "{} files, {before} before", open_files(pid));
    println!(
        "F19: {} hang-ups in a session, {} cancels, every slot free again; {} files open, {before} before",
        waves * WAVE,
        seen.cancels,
        open_files(pid)
    );
    assert_eq!(seen.cancels, 0);
    assert_eq!(session.delete(), 204);
    end_quietly(gateway.client);
}
