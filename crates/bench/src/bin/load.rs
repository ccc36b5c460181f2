//! Asks a server, or a gateway before it, as fast as it answers, checks every answer, and prints one line of JSON.
#![expect(clippy::print_stdout, reason = "the figures are what it is for")]

use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Parser};
use manifold_bench::http::{Address, Connection};
use serde::Deserialize;
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

type Failure = Box<dyn Error + Send + Sync>;

#[derive(Parser)]
enum Order {
    /// Calls over HTTP, each connection one at a time.
    Calls(Calls),
    /// Opens sessions over HTTP and leaves them be.
    Sessions {
        #[arg(long)]
        url: String,
        #[arg(long)]
        count: usize,
        #[arg(long)]
        pid: u32,
    },
    /// Starts a program and waits for its `initialize`, and for its list.
    Start {
        #[arg(long)]
        tools: usize,
        command: Vec<String>,
    },
}

#[derive(Args, Clone)]
struct Calls {
    #[arg(long)]
    url: String,
    #[arg(long, default_value_t = 1)]
    connections: usize,
    #[arg(long, default_value_t = 1)]
    sessions: usize,
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// Which tools to call, in turn.
    #[arg(long, value_delimiter = ',')]
    tools: Vec<String>,
    /// Ask for so many bytes; else 64 are sent to be said again.
    #[arg(long)]
    size: Option<usize>,
    /// So many connections call this tool all the while, which takes two seconds; they do not count.
    #[arg(long, default_value_t = 0)]
    slow: usize,
    #[arg(long, default_value = "")]
    slow_tool: String,
    /// So many connections more that say nothing.
    #[arg(long, default_value_t = 0)]
    idle: usize,
    /// Whose processor time to tell.
    #[arg(long)]
    pid: u32,
}

#[derive(Deserialize)]
struct Answer<'a> {
    id: u64,
    #[serde(borrow)]
    result: Outcome<'a>,
}

#[derive(Deserialize)]
struct Outcome<'a> {
    #[serde(borrow)]
    content: Vec<Content<'a>>,
}

#[derive(Deserialize)]
struct Content<'a> {
    text: &'a str,
}

const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"load","version":"1"}}}"#;
const READY: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
const PING: &str = r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#;
/// Long enough for what a start leaves to be done behind it.
const WARM_UP: Duration = Duration::from_millis(1000);

fn main() -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let figures = match Order::parse() {
        Order::Calls(calls) => runtime.block_on(call(calls))?,
        Order::Sessions { url, count, pid } => runtime.block_on(open_sessions(&url, count, pid))?,
        Order::Start { tools, command } => start(&command, tools)?,
    };
    println!("{figures}");
    Ok(())
}

/// Says hello and returns the session, where the server has any.
async fn open_session(connection: &mut Connection) -> Result<Option<String>, Failure> {
    let session = connection.post(None, HELLO).await?.session;
    connection.post(session.as_deref(), READY).await?;
    Ok(session)
}

async fn call(calls: Calls) -> Result<serde_json::Value, Failure> {
    let address = Address::parse(&calls.url)?;
    let mut first = Connection::open(&address).await?;
    let mut sessions = Vec::new();
    for _ in 0..calls.sessions {
        sessions.push(open_session(&mut first).await?);
    }
    first.post(sessions[0].as_deref(), LIST).await?;

    let calls = Arc::new(calls);
    let caller = |at: usize, connection| Caller {
        connection,
        session: sessions[at % sessions.len()].clone(),
        calls: Arc::clone(&calls),
        is_slow: at >= calls.connections,
        next: at as u64 * 1_000_000_000,
    };
    // Each tool once, so that every server runs before the window opens.
    let mut first = caller(0, first);
    for _ in &calls.tools {
        first.one_call().await?;
    }
    let mut connections = Vec::new();
    for _ in 0..calls.connections + calls.slow + calls.idle {
        connections.push(Connection::open(&address).await?);
    }
    let _idle = connections.split_off(calls.connections + calls.slow);
    let begin = Instant::now() + WARM_UP;
    let window = (begin, begin + Duration::from_secs_f64(calls.seconds));
    let mut callers = JoinSet::new();
    for (at, connection) in connections.into_iter().enumerate() {
        callers.spawn(caller(at, connection).run(window));
    }
    sleep_until(window.0).await;
    let before = processor_time(calls.pid)?;
    sleep_until(window.1).await;
    let used = processor_time(calls.pid)? - before;
    let elapsed = window.0.elapsed();
    let rss_kb = rss_kb(calls.pid)?;

    let mut times = Vec::new();
    while let Some(done) = callers.join_next().await {
        times.extend(done??);
    }
    times.sort_unstable();
    let count = times.len().max(1);
    let quantile =
        |share: f64| times.get((times.len() as f64 * share) as usize).map_or(0.0, Duration::as_secs_f64);
    Ok(json!({
        "calls": times.len(),
        "rate": times.len() as f64 / elapsed.as_secs_f64(),
        "p50_us": quantile(0.50) * 1e6,
        "p99_us": quantile(0.99) * 1e6,
        "cpu_us": used.as_secs_f64() * 1e6 / count as f64,
        "rss_kb": rss_kb,
    }))
}

/// One connection and its calls, one after another.
struct Caller {
    connection: Connection,
    session: Option<String>,
    calls: Arc<Calls>,
    is_slow: bool,
    next: u64,
}

impl Caller {
    /// Calls until the window is over; returns how long the calls took that ended within it.
    async fn run(mut self, (begin, end): (Instant, Instant)) -> Result<Vec<Duration>, Failure> {
        let mut times = Vec::new();
        while Instant::now() < end {
            let start = Instant::now();
            self.one_call().await?;
            let now = Instant::now();
            if now >= begin && now < end && !self.is_slow {
                times.push(now - start);
            }
        }
        Ok(times)
    }

    async fn one_call(&mut self) -> Result<(), Failure> {
        let id = self.next;
        self.next += 1;
        let text = format!("{id:064}");
        let tools = &self.calls.tools;
        let (tool, arguments) = match self.calls.size {
            _ if self.is_slow => (&self.calls.slow_tool, r#""ms":2000"#.to_owned()),
            Some(size) => (&tools[id as usize % tools.len()], format!(r#""size":{size}"#)),
            None => (&tools[id as usize % tools.len()], format!(r#""text":"{text}""#)),
        };
        let request = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{{arguments}}}}}}}"#
        );
        let body = self.connection.post(self.session.as_deref(), &request).await?.body;
        let wrong = || format!("a wrong answer to {request}: {:?}", body.slice(..body.len().min(300)));
        let answer: Answer<'_> = serde_json::from_slice(&body).map_err(|_| wrong())?;
        let said = answer.result.content.first().ok_or_else(wrong)?.text;
        let is_right = match self.calls.size {
            _ if self.is_slow => true,
            Some(size) => said.len() == size && said.bytes().all(|byte| byte == b'x'),
            None => said == text,
        };
        if answer.id == id && is_right { Ok(()) } else { Err(wrong().into()) }
    }
}

async fn open_sessions(url: &str, count: usize, pid: u32) -> Result<serde_json::Value, Failure> {
    let mut connection = Connection::open(&Address::parse(url)?).await?;
    // What the first ones bring with them is not theirs.
    for _ in 0..100 {
        open_session(&mut connection).await?;
    }
    let before = rss_kb(pid)?;
    let mut sessions = Vec::with_capacity(count);
    for _ in 0..count {
        sessions.push(open_session(&mut connection).await?);
    }
    let after = rss_kb(pid)?;
    for session in sessions.iter().step_by(100) {
        connection.post(session.as_deref(), PING).await?;
    }
    let each = after.saturating_sub(before) as f64 / count as f64;
    Ok(json!({ "sessions": count, "rss_kb": after, "kib_each": each }))
}

fn start(command: &[String], tools: usize) -> Result<serde_json::Value, Failure> {
    let [program, arguments @ ..] = command else { return Err("no command".into()) };
    let begin = Instant::now();
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut input = child.stdin.take().ok_or("no stdin")?;
    let mut output = BufReader::with_capacity(1 << 20, child.stdout.take().ok_or("no stdout")?);
    let mut answer_to = |message: &str, id: &str| -> Result<String, Failure> {
        input.write_all(format!("{message}\n").as_bytes())?;
        loop {
            let mut line = String::new();
            if output.read_line(&mut line)? == 0 {
                return Err("it ended without an answer".into());
            }
            if line.get(..40).unwrap_or(&line).contains(id) {
                return Ok(line);
            }
        }
    };
    answer_to(HELLO, "\"id\":1")?;
    let hello = begin.elapsed();
    let mut list = answer_to(&format!("{READY}\n{LIST}"), "\"id\":2")?;
    while list.matches("\"inputSchema\"").count() < tools {
        list = answer_to(LIST, "\"id\":2")?;
    }
    let whole = begin.elapsed();
    drop(input);
    child.wait()?;
    Ok(json!({ "initialize_ms": hello.as_secs_f64() * 1e3, "list_ms": whole.as_secs_f64() * 1e3 }))
}

/// Returns what all threads of a process have used so far, its children not among them.
fn processor_time(pid: u32) -> Result<Duration, Failure> {
    let mut sum = 0;
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        // The scheduler's own account, since utime and stime only tick every 10 ms.
        let account = fs::read_to_string(task?.path().join("schedstat"))?;
        sum += account.split(' ').next().and_then(|used| used.parse::<u64>().ok()).ok_or("no schedstat")?;
    }
    Ok(Duration::from_nanos(sum))
}

fn rss_kb(pid: u32) -> Result<u64, Failure> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let rss =
        status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next()?.parse().ok());
    rss.ok_or_else(|| "no VmRSS".into())
}
