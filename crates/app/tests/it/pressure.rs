//! F32, F34, F35 and F39: a disk, descriptors, memory or a reader of logs that give out. Calls go on; each test prints
//! its figure.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]
#![expect(clippy::disallowed_types, reason = "how long real clients wait is measured in real time")]

use std::fs::{self, OpenOptions};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use manifold_testkit::client::PATIENCE;
use manifold_testkit::http::{Conn, calling, http_command, port_of};
use manifold_testkit::{Client, Sandbox, Usage, fake, figures, until};
use nix::sys::stat::Mode;
use nix::unistd::{SysconfVar, mkfifo, sysconf};
use serde_json::{Value, json};

use crate::studio::text_of;

/// Returns a command that runs another after a line of shell.
fn after(sandbox: &Sandbox, shell: &str, command: &Command) -> Command {
    let mut wrapped = sandbox.command("sh");
    wrapped
        .args(["-c", &format!("{shell} \"$@\""), "sh"])
        .arg(command.get_program())
        .args(command.get_args());
    wrapped
}

fn stdio_command(sandbox: &Sandbox, config: &Value) -> Command {
    let path = sandbox.write_config(config);
    let mut command = sandbox.manifold();
    command.args(["serve", "--stdio", "--log-level", "debug", "--config"]).arg(path);
    command
}

/// Makes calls, each with a text of its own, and returns how many came back right.
fn right_calls(client: &mut Client, calls: usize) -> usize {
    let texts = (0..calls).map(|n| format!("call {n}"));
    texts.filter(|text| text_of(&client.call("a__echo", json!({"text": text}))) == *text).count()
}

/// Makes the gateway log this many lines: each is one it cannot read.
fn make_it_log(client: &mut Client, lines: usize) {
    for _ in 0..lines {
        client.send_raw(b"this is no message\n");
        client.recv(PATIENCE);
    }
}

// F39
#[test]
fn a_log_that_nobody_reads_holds_nothing_up() {
    const LINES: usize = 3_000;
    const CALLS: usize = 500;
    let sandbox = Sandbox::new();
    let pipe = sandbox.path("stderr");
    mkfifo(&pipe, Mode::S_IRWXU).unwrap();
    // Open at both ends, so that nobody waits for a reader, and never read.
    let _unread = OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
    let command = stdio_command(&sandbox, &json!({"mcpServers": {"a": fake(json!({}))}}));
    let redirect = format!("exec 2>{}; exec", pipe.display());
    let mut client = Client::spawn(after(&sandbox, &redirect, &command));
    client.initialize("2025-11-25", json!({}));
    make_it_log(&mut client, LINES);
    let right = right_calls(&mut client, CALLS);
    let began = Instant::now();
    client.close_stdin();
    assert!(client.wait_exit(PATIENCE).success());
    println!(
        "F39: {LINES} log lines into a full pipe, {right}/{CALLS} calls right, gone after {:?}",
        began.elapsed()
    );
    assert_eq!(right, CALLS);
}

// F32
#[test]
fn a_log_and_a_cache_that_cannot_be_written_disturb_nothing() {
    const CALLS: usize = 200;
    let sandbox = Sandbox::new();
    let logging = json!({"file": "/dev/full", "level": "debug"});
    let config = json!({"mcpServers": {"a": fake(json!({}))}, "logging": logging});
    let mut command = stdio_command(&sandbox, &config);
    command.env("XDG_CACHE_HOME", sandbox.write("no-folder", "in the way"));
    let mut client = Client::spawn(command);
    client.initialize("2025-11-25", json!({}));
    make_it_log(&mut client, 500);
    let right = right_calls(&mut client, CALLS);
    client.close_stdin();
    assert!(client.wait_exit(PATIENCE).success());
    let log = client.stderr();
    let told = log.lines().filter(|line| line.contains("/dev/full: the log cannot be written")).count();
    println!("F32: log on a full disk, no cache: {right}/{CALLS} calls right, said {told} time");
    assert_eq!((right, told), (CALLS, 1), "{log}");
}

// F32: the disk is a small one that fills up and is cleared; the config lies on one that cannot be written
#[test]
fn a_disk_that_fills_up_and_is_cleared() {
    const CALLS: usize = 200;
    let sandbox = Sandbox::new();
    let disk = sandbox.path("disk");
    fs::create_dir(&disk).unwrap();
    let config = json!({"mcpServers": {"a": fake(json!({}))},
        "logging": {"file": disk.join("m.log"), "level": "debug"}});
    let command = stdio_command(&sandbox, &config);
    let folder = sandbox.path(".config/manifold");
    let (disk_path, folder_path) = (disk.display(), folder.display());
    let mount = format!(
        "mount -t tmpfs -o size=64k none {disk_path} && mount --bind {folder_path} {folder_path} && \
         mount -o remount,ro,bind {folder_path} && head -c 60000 /dev/zero > {disk_path}/filler; exec"
    );
    let allowed =
        sandbox.command("unshare").args(["-rm", "true"]).status().is_ok_and(|status| status.success());
    if !allowed {
        return println!("F32: no small disk can be made here; see the test with /dev/full");
    }
    let mut wrapped = sandbox.command("unshare");
    wrapped.args(["-rm"]);
    let inner = after(&sandbox, &mount, &command);
    wrapped.arg(inner.get_program()).args(inner.get_args()).env("XDG_CACHE_HOME", disk.join("cache"));
    let mut client = Client::spawn(wrapped);
    client.initialize("2025-11-25", json!({}));
    make_it_log(&mut client, 1_000);
    let mut right = right_calls(&mut client, CALLS);
    until(PATIENCE, || client.stderr().contains("m.log: the log cannot be written"));

    // Seen from outside, the disk is below the process's own root.
    let inside =
        Path::new("/proc").join(client.pid().to_string()).join("root").join(disk.strip_prefix("/").unwrap());
    fs::remove_file(inside.join("filler")).unwrap();
    make_it_log(&mut client, 1);
    until(PATIENCE, || client.stderr().contains("lines of the log were lost"));
    right += right_calls(&mut client, CALLS);
    let stderr = client.stderr();
    let lost =
        stderr.lines().find(|line| line.contains("lines of the log were lost")).expect("it is counted");
    let log = fs::read_to_string(inside.join("m.log")).unwrap();
    assert!(log.lines().all(|line| line.starts_with("20")), "no line is half a line");
    println!("F32: {right}/{} calls right on a full and read-only disk; {lost}", 2 * CALLS);
    assert_eq!(right, 2 * CALLS);
}

/// Returns how long a process has used a processor so far.
fn processor_time(pid: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    let a_second = sysconf(SysconfVar::CLK_TCK).unwrap().unwrap() as u64;
    Duration::from_millis(ticks * 1000 / a_second)
}

fn call(connection: &mut Conn, tool: &str) -> Value {
    let call = json!({"name": tool, "arguments": {"text": "x"}});
    connection.send("POST", "/api/default/mcp", &[], &calling(1, "tools/call", call));
    connection.answer().json()
}

// F34
#[test]
fn a_process_without_descriptors_waits_for_some() {
    const FILES: usize = 64;
    let sandbox = Sandbox::new();
    let config = json!({"mcpServers": {"a": fake(json!({})), "late": fake(json!({}))}});
    let command = http_command(&sandbox, &config, &[]);
    let client = Client::spawn(after(&sandbox, &format!("ulimit -n {FILES}; exec"), &command));
    let port = port_of(&client);
    let mut served = Conn::open(port);
    assert_eq!(text_of(&call(&mut served, "a__echo")), "x");

    // More than there can be; the kernel keeps the rest waiting.
    let crowd: Vec<TcpStream> =
        (0..FILES + 16).map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap()).collect();
    until(PATIENCE, || client.stderr().contains("accepting a connection failed"));
    let (began, before) = (Instant::now(), processor_time(client.pid()));
    let error = call(&mut served, "late__echo")["error"].clone();
    assert_eq!(error["code"], -32001, "{error}");
    assert!(error["message"].as_str().unwrap().contains("late"), "{error}");
    let mut calls = 1;
    while began.elapsed() < Duration::from_secs(2) {
        assert_eq!(text_of(&call(&mut served, "a__echo")), "x");
        calls += 1;
        std::thread::sleep(Duration::from_millis(200));
    }
    let share = (processor_time(client.pid()) - before).as_secs_f64() / began.elapsed().as_secs_f64();

    drop(crowd);
    let freed = Instant::now();
    let mut fresh = Conn::open(port);
    assert_eq!(text_of(&call(&mut fresh, "a__echo")), "x");
    let healed = freed.elapsed();
    until(PATIENCE, || call(&mut fresh, "late__echo")["error"].is_null());
    println!(
        "F34: {calls} calls while starved of descriptors at {:.1} % of a processor; accepting {healed:?} after, \
         starting servers {:?} after; error: {}",
        share * 100.0,
        freed.elapsed(),
        error["message"]
    );
    figures::ratio("F34: share of a processor while starved", share, 0.05);
    figures::took("F34: accepting again", healed, Duration::from_secs(1));
}

/// A server whose calls wait, and a budget of 4 MiB for all messages.
fn short_of_memory() -> Value {
    let tools = json!([{"name": "echo"}, {"name": "sleep"}]);
    json!({"mcpServers": {"a": fake(json!({"tools": tools}))}, "limits": {"heldBytes": "4MB"}})
}

// F35
#[test]
fn past_the_budget_new_requests_are_refused() {
    const CLIENTS: usize = 128;
    let sandbox = Sandbox::new();
    let client = Client::spawn(http_command(&sandbox, &short_of_memory(), &[]));
    let port = port_of(&client);
    let mut probe = Conn::open(port);
    assert_eq!(text_of(&call(&mut probe, "a__echo")), "x");
    let usage = Usage::watch(client.pid());
    let heavy = json!({"name": "a__sleep", "arguments": {"ms": 3000, "text": "x".repeat(1 << 20)}});
    let heavy = calling(1, "tools/call", heavy);
    let mut crowd: Vec<Conn> = (0..CLIENTS)
        .map(|_| {
            let mut connection = Conn::open(port);
            // A refusal may come, and the connection close, before all is written.
            let head = format!(
                "POST /api/default/mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n\
                 Content-Length: {}\r\n\r\n",
                heavy.len()
            );
            let _ = connection.try_write(head.as_bytes());
            let _ = connection.try_write(heavy.as_bytes());
            connection
        })
        .collect();
    let mut served = 0;
    let mut told = 0;
    for connection in &mut crowd {
        // Where the rest of a body met a closed connection, the refusal itself may be lost.
        let Some(first) = connection.try_line() else { continue };
        match first.split(' ').nth(1) {
            Some("200") => served += 1,
            // Too much is under way, or waits for the server (M9): either may be tried again.
            Some("503" | "429") => {
                // Behind the head the connection may stay open.
                let lines = std::iter::from_fn(|| connection.try_line());
                let headers: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
                assert!(headers.iter().any(|line| line == "retry-after: 1"), "{headers:?}");
                told += 1;
            }
            other => panic!("{other:?}: {first}"),
        }
    }
    let grown = usage.most();
    assert_eq!(text_of(&call(&mut probe, "a__echo")), "x", "afterwards all is well");
    println!(
        "F35: {CLIENTS} requests of 1 MiB within 4 MiB: {served} served, {told} told 503; \
         {grown} KiB more at the most"
    );
    assert!(served > 0 && told > CLIENTS / 2, "{served} served, {told} refused");
    // The budget, what waits for the server in its own queue, and what the allocator keeps.
    assert!(grown < 48 << 10, "{grown} KiB");
}

// F35
#[test]
fn past_the_budget_a_pipe_is_not_read() {
    const CALLS: usize = 64;
    let sandbox = Sandbox::new();
    let mut client = sandbox.serve(&short_of_memory(), &[]);
    client.initialize("2025-11-25", json!({}));
    assert_eq!(text_of(&client.call("a__echo", json!({"text": "x"}))), "x");
    let usage = Usage::watch(client.pid());
    let heavy = json!({"name": "a__sleep", "arguments": {"ms": 50, "text": "x".repeat(1 << 20)}});
    let ids: Vec<u64> = (0..CALLS).map(|_| client.request("tools/call", heavy.clone())).collect();
    let right = ids.iter().filter(|id| client.wait_for(**id, PATIENCE)["result"].is_object()).count();
    let grown = usage.most();
    println!("F35: {right}/{CALLS} calls of 1 MiB on a pipe within 4 MiB; {grown} KiB more at the most");
    assert_eq!(right, CALLS);
    assert!(grown < 24 << 10, "{grown} KiB");
}
