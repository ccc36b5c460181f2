//! A Redis, and a balancer, of one test.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use manifold_testkit::client::PATIENCE;
use manifold_testkit::{Sandbox, until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// A server program that ends with its test.
pub(crate) struct Program {
    child: Child,
    pub(crate) port: u16,
}

impl Program {
    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).expect("it runs");
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a port that is free now.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("there are ports");
    listener.local_addr().expect("it has an address").port()
}

#[expect(clippy::print_stderr, reason = "what is not tested is said")]
fn spawn(mut command: Command) -> Option<Child> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.spawn() {
        Ok(child) => Some(child),
        Err(error) => {
            eprintln!("not tested: {:?} cannot be started: {error}", command.get_program());
            None
        }
    }
}

/// Starts a Redis; `None`, and a line that says so, where there is no such program.
pub(crate) fn redis(home: &Sandbox) -> Option<Program> {
    redis_at(home, free_port())
}

pub(crate) fn redis_at(home: &Sandbox, port: u16) -> Option<Program> {
    redis_with(home, port, &[])
}

/// Starts one with more settings.
pub(crate) fn redis_with(home: &Sandbox, port: u16, more: &[&str]) -> Option<Program> {
    let mut command = Command::new("redis-server");
    command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]);
    command.arg("--dir").arg(home.home()).args(more);
    let program = Program { child: spawn(command)?, port };
    assert!(until(PATIENCE, || ask(port, &["PING"]).contains("PONG")), "redis answers");
    Some(program)
}

/// Asks a Redis; what it says comes as it is written.
pub(crate) fn ask(port: u16, words: &[&str]) -> String {
    use std::io::{Read, Write};
    let Ok(mut stream) = std::net::TcpStream::connect(("127.0.0.1", port)) else { return String::new() };
    let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
    let mut text = format!("*{}\r\n", words.len());
    for word in words {
        text += &format!("${}\r\n{word}\r\n", word.len());
    }
    // Having said goodbye it closes, and all has been read.
    text += "*1\r\n$4\r\nQUIT\r\n";
    let mut answer = String::new();
    let _ = stream.write_all(text.as_bytes());
    let _ = stream.read_to_string(&mut answer);
    answer
}

/// Returns how often each command was run, those of scripts included.
pub(crate) fn commands(port: u16) -> BTreeMap<String, u64> {
    let text = ask(port, &["INFO", "commandstats"]);
    let lines = text.lines().filter_map(|line| line.strip_prefix("cmdstat_"));
    let mut all = BTreeMap::new();
    for line in lines {
        let Some((name, rest)) = line.split_once(":calls=") else { continue };
        let calls: u64 = rest.split(',').next().and_then(|calls| calls.parse().ok()).unwrap_or(0);
        *all.entry(name.split('|').next().unwrap_or(name).to_owned()).or_default() += calls;
    }
    all
}

/// Returns what was run between two points beside what each replica does every two seconds to be known, and every minute
/// to say which sessions are in use, what keeps connections alive, and what the test itself asks.
pub(crate) fn beside_upkeep(
    before: &BTreeMap<String, u64>,
    after: &BTreeMap<String, u64>,
) -> Vec<(String, u64)> {
    const ASIDE: [&str; 3] = ["info", "quit", "ping"];
    /// Each heartbeat runs these once; nothing else asks the time.
    const BEAT: [&str; 5] = ["evalsha", "time", "hset", "hgetall", "pexpire"];
    /// And these say that a session is in use, and ask whether it is over.
    const USED: [&str; 3] = ["hset", "expire", "hexists"];
    let run = |name: &str| after.get(name).unwrap_or(&0) - before.get(name).unwrap_or(&0);
    let (beats, used) = (run("time"), run("expire"));
    assert!(used <= 10, "sessions are noted once a minute: {used}");
    let upkeep = |name: &str| {
        let is_of = |all: &[&str], count: u64| if all.contains(&name) { count } else { 0 };
        is_of(&BEAT, beats) + is_of(&USED, used)
    };
    let others = after.keys().filter(|name| !ASIDE.contains(&name.as_str()));
    let counts = others.map(|name| (name.clone(), run(name).saturating_sub(upkeep(name))));
    counts.filter(|(_, count)| *count > 0).collect()
}

/// Starts a balancer before these ports; `None`, and a line that says so, where there is no such program.
pub(crate) fn haproxy(home: &Sandbox, ports: &[u16]) -> Option<Program> {
    let port = free_port();
    let servers: String = ports
        .iter()
        .map(|port| format!("  server r{port} 127.0.0.1:{port} check inter 100ms fall 1 rise 1\n"))
        .collect();
    let config = format!(
        "global\n  maxconn 2000\ndefaults\n  mode http\n  timeout connect 2s\n  timeout client 1h\n  timeout server 1h\n  \
         option redispatch\n  retries 2\n  retry-on conn-failure\nfrontend all\n  bind 127.0.0.1:{port}\n  \
         default_backend replicas\nbackend replicas\n  balance roundrobin\n  option httpchk\n  \
         http-check send meth GET uri /health ver HTTP/1.1 hdr Host localhost\n{servers}"
    );
    let path = home.write("haproxy.cfg", &config);
    let program = ["haproxy", "/usr/sbin/haproxy"].into_iter().find(|name| {
        Command::new(name).arg("-v").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
    });
    let mut command = Command::new(program.unwrap_or("haproxy"));
    command.arg("-db").arg("-f").arg(path);
    let program = Program { child: spawn(command)?, port };
    let up = || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok();
    assert!(until(PATIENCE, up), "the balancer listens");
    Some(program)
}
