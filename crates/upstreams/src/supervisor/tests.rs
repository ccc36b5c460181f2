mod endings;
mod idle;
mod lists;
mod orders;
mod reports;
mod sign_in;
mod starts;
mod suspending;

use std::collections::VecDeque;
use std::sync::Mutex;

use manifold_config::Server;
use manifold_engine::{ClientId, Host, Order, Phase, Tasks, Upstream};
use manifold_protocol::Method;
use manifold_protocol::dialect::ServerFacts;
use tokio::task::JoinSet;

use super::mailbox::Command;
use super::*;
use crate::cache::Cache;
use crate::connection::Connection;
use crate::fake::{Asked, Does, FakeHost, lock, raw, run, server};
use crate::logs::LogRing;

const SECOND: Duration = Duration::from_secs(1);

/// What one start of the fake server comes to.
enum Start {
    Fails,
    /// Wants somebody to sign in first.
    WantsSignIn,
    /// Takes this long to fail.
    Hangs(Duration),
    Runs {
        takes: Duration,
        calls: Calls,
        lists: bool,
    },
}

#[derive(Clone, Copy, PartialEq)]
enum Calls {
    Answered,
    Ignored,
}

const RUNS: Start = Start::Runs { takes: Duration::ZERO, calls: Calls::Answered, lists: true };
const SLOW: Start = Start::Runs { takes: Duration::from_secs(3), calls: Calls::Answered, lists: true };
const DEAF: Start = Start::Runs { takes: Duration::ZERO, calls: Calls::Ignored, lists: true };
const LISTLESS: Start = Start::Runs { takes: Duration::ZERO, calls: Calls::Answered, lists: false };

/// What the starts left behind.
#[derive(Default)]
struct Record {
    script: VecDeque<Start>,
    starts: Vec<Instant>,
    /// Ends the present life.
    end: Option<oneshot::Sender<Ending>>,
    alive: usize,
    stops: usize,
    /// It is known that nobody is signed in.
    is_held_back: bool,
}

struct FakeLauncher {
    server: Arc<Server>,
    host: Arc<dyn Host>,
    logs: Arc<LogRing>,
    cache: Cache,
    record: Arc<Mutex<Record>>,
}

struct FakeLife {
    ends: oneshot::Receiver<Ending>,
    ended: bool,
    record: Arc<Mutex<Record>>,
    _server: JoinSet<()>,
}

impl Launcher for FakeLauncher {
    type Life = FakeLife;

    fn server(&self) -> &Arc<Server> {
        &self.server
    }

    fn host(&self) -> &Arc<dyn Host> {
        &self.host
    }

    fn logs(&self) -> &Arc<LogRing> {
        &self.logs
    }

    fn cache(&self) -> &Cache {
        &self.cache
    }

    fn held_back(&self) -> Option<Fault> {
        lock(&self.record).is_held_back.then(wants_sign_in)
    }

    async fn launch(&self) -> Result<Running<FakeLife>, Fault> {
        let start = {
            let mut record = lock(&self.record);
            record.starts.push(Instant::now());
            record.script.pop_front().unwrap_or(Start::Fails)
        };
        if let Start::Hangs(takes) = start {
            tokio::time::sleep(takes).await;
        }
        if let Start::WantsSignIn = start {
            return Err(wants_sign_in());
        }
        let Start::Runs { takes, calls, lists } = start else {
            return Err(Fault::FailedToStart { server: "s".to_owned(), reason: "no".to_owned() });
        };
        tokio::time::sleep(takes).await;
        let (end, ends) = oneshot::channel();
        let pid = {
            let mut record = lock(&self.record);
            record.end = Some(end);
            record.alive += 1;
            assert_eq!(record.alive, 1, "one process at a time");
            record.starts.len() as u32
        };
        let connection = Connection::new(
            Arc::clone(&self.server),
            Arc::clone(&self.host),
            Arc::clone(&self.logs),
            1 << 20,
        );
        let server = run(Arc::clone(&connection), move |method, _| match method {
            "tools/list" if lists => Does::Answer(r#"{"tools":[{"name":"x"}]}"#.to_owned()),
            "tools/list" => Does::Refuse(r#"{"code":-32603,"message":"not now"}"#.to_owned()),
            _ if calls == Calls::Answered => Does::Answer(pid.to_string()),
            _ => Does::Nothing,
        });
        let life = FakeLife { ends, ended: false, record: Arc::clone(&self.record), _server: server };
        let said = ServerFacts {
            revision: "2025-11-25".to_owned(),
            capabilities: raw(r#"{"tools":{}}"#),
            instructions: None,
        };
        Ok(Running { connection, said, pid: Some(pid), life })
    }
}

impl Life for FakeLife {
    async fn ended(&mut self) -> Ending {
        let ending = (&mut self.ends).await.unwrap();
        self.ended = true;
        ending
    }

    async fn stop(self) {
        if !self.ended {
            lock(&self.record).stops += 1;
            tokio::time::sleep(SECOND / 2).await;
        }
    }
}

impl Drop for FakeLife {
    fn drop(&mut self) {
        lock(&self.record).alive -= 1;
    }
}

fn wants_sign_in() -> Fault {
    Fault::SignInNeeded { server: "s".to_owned(), account: None, state: "needs login", reason: None }
}

struct Stage {
    upstream: Arc<Supervised>,
    record: Arc<Mutex<Record>>,
    host: Arc<FakeHost>,
    began: Instant,
}

fn stage(keys: &str, script: impl IntoIterator<Item = Start>) -> Stage {
    stage_with(Cache::default(), keys, script)
}

fn stage_with(cache: Cache, keys: &str, script: impl IntoIterator<Item = Start>) -> Stage {
    let record = Arc::new(Mutex::new(Record { script: script.into_iter().collect(), ..Record::default() }));
    stage_of(cache, keys, record, Begin::default())
}

fn stage_of(cache: Cache, keys: &str, record: Arc<Mutex<Record>>, begin: Begin<FakeLife>) -> Stage {
    let host = Arc::new(FakeHost::default());
    let launcher = FakeLauncher {
        server: server(keys),
        host: Arc::clone(&host) as Arc<dyn Host>,
        logs: Arc::default(),
        cache,
        record: Arc::clone(&record),
    };
    let upstream = Supervised::begin(launcher, begin, &Tasks::new());
    upstream.introduced();
    Stage { upstream, record, host, began: Instant::now() }
}

impl Stage {
    fn ask(&self) -> Asked {
        let (exchange, asked) = Asked::open(60 * SECOND);
        self.upstream.send(Call::new(Method::ToolsCall, Some(raw("{}"))), exchange);
        asked
    }

    async fn call(&self) -> String {
        self.ask().answered().await
    }

    /// Returns when it was started, in milliseconds.
    fn starts(&self) -> Vec<u64> {
        lock(&self.record).starts.iter().map(|at| (*at - self.began).as_millis() as u64).collect()
    }

    fn stops(&self) -> usize {
        lock(&self.record).stops
    }

    fn crash(&self) {
        self.ends(Ending::Exited { code: Some(1), how: "with exit code 1".to_owned() });
    }

    fn exit(&self) {
        self.ends(Ending::Exited { code: Some(0), how: "with exit code 0".to_owned() });
    }

    fn ends(&self, ending: Ending) {
        let end = lock(&self.record).end.take().expect("it is alive");
        assert!(end.send(ending).is_ok());
    }

    fn phase(&self) -> Phase {
        self.upstream.status().phase
    }
}

/// Lets everything that can happen at this moment happen.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

const FAILED: &str = "fault -32001 Server 's' failed to start: no";
