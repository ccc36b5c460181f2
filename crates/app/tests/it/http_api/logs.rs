//! S2-20: what is logged, and where.

use std::fs;

use super::*;

/// Returns the port from a log, wherever that is kept.
fn port_in(log: &str) -> Option<u16> {
    let (_, rest) = log.split_once("listening on http://127.0.0.1:")?;
    rest.split_once('\n')?.0.trim().parse().ok()
}

// S2-20: `logging.level`, and console output that is live
#[test]
fn s2_20_the_level_is_honoured() {
    for (level, lines) in [("error", 0), ("info", 1), ("debug", 2)] {
        let sandbox = Sandbox::new();
        let mut config = schema(json!({}));
        config["logging"] = json!({"level": level, "console": true});
        sandbox.write(CONFIG, &config.to_string());
        let port = free_port();
        let mut command = sandbox.command(named(&sandbox, "mcps-proxy"));
        command.args(["--port", &port.to_string()]);
        let client = Client::spawn(command);
        assert!(
            until(PATIENCE, || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()),
            "{}",
            client.stderr()
        );
        assert_eq!(http(port, "GET", "/health", "").0, 200);
        post(port, "default", "tools/list", json!({}));
        // An access line for each request, with the method of what was asked (decision 23), while the program runs.
        let access = |stderr: &str| {
            stderr.contains("/health") && stderr.contains("/api/default/mcp") && stderr.contains("tools/list")
        };
        let seen = match lines {
            0 => client.stderr().is_empty(),
            1 => until(PATIENCE, || port_in(&client.stderr()) == Some(port)) && !access(&client.stderr()),
            _ => until(PATIENCE, || access(&client.stderr())),
        };
        assert!(seen, "{level}: {}", client.stderr());
        if lines == 2 {
            let stderr = client.stderr();
            let line = stderr.lines().find(|line| line.contains("/health")).unwrap_or_default();
            assert!(line.contains("GET") && line.contains("200"), "{line}");
        }
        end_quietly(client);
    }
}

/// Returns a port that was free a moment ago.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}

// S2-20: the file, at the seed's place, and nothing on the console
#[test]
fn s2_20_the_log_file_is_where_the_seed_says() {
    let sandbox = Sandbox::new();
    let mut config = schema(json!({}));
    config["logging"] = json!({"console": false});
    sandbox.write(CONFIG, &config.to_string());
    let client = Client::spawn(sandbox.command(named(&sandbox, "mcps-proxy")));
    let file = sandbox.path(".mcps-proxy/logs/mcps-proxy.log");
    let read = || fs::read_to_string(&file).unwrap_or_default();
    assert!(until(PATIENCE, || port_in(&read()).is_some()), "{}", client.stderr());
    let port = port_in(&read()).unwrap();
    post(port, "default", "ping", json!({}));
    assert_eq!(client.stderr(), "", "the console is off");
    end_quietly(client);
}

// S2-20: a console that is on and a file get the same lines
#[test]
fn s2_20_console_and_file_go_together() {
    let sandbox = Sandbox::new();
    let mut config = schema(json!({}));
    config["logging"] = json!({"console": true, "level": "debug", "file": "~/own/folder/proxy.log"});
    let gateway = mcps_proxy(&sandbox, &config);
    let port = gateway.port;
    post(port, "default", "ping", json!({}));
    end_quietly(gateway.client);
    let text = fs::read_to_string(sandbox.path("own/folder/proxy.log")).unwrap();
    assert_eq!(port_in(&text), Some(port), "{text}");
    assert!(text.contains("/api/default/mcp"), "{text}");
    assert!(!text.contains('\u{1b}'), "no colours in a file");
}

// S2-20, trap (j): rotation by size and count
#[test]
fn s2_20_the_log_file_is_rotated() {
    let sandbox = Sandbox::new();
    let mut config = schema(json!({}));
    config["logging"] = json!({"console": false, "level": "debug", "file": "~/logs/proxy.log", "maxSize": "4KB", "maxFiles": 3});
    sandbox.write(CONFIG, &config.to_string());
    let client = Client::spawn(sandbox.command(named(&sandbox, "mcps-proxy")));
    let folder = sandbox.path("logs");
    let read = || fs::read_to_string(folder.join("proxy.log")).unwrap_or_default();
    assert!(until(PATIENCE, || port_in(&read()).is_some()), "{}", client.stderr());
    let port = port_in(&read()).unwrap();
    let mut most = 0;
    for n in 0..400 {
        http(port, "GET", &format!("/marked-{n}"), "");
        most = most.max(fs::read_dir(&folder).unwrap().count());
    }
    end_quietly(client);
    let mut files: Vec<(String, u64)> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), entry.metadata().unwrap().len()))
        .collect();
    files.sort();
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["proxy.log", "proxy.log.1", "proxy.log.2"], "{files:?}");
    assert_eq!(most, 3, "never more than maxFiles");
    for (name, size) in &files {
        // One line more than the limit at most.
        assert!(*size <= 4096 + 512, "{name}: {size}");
    }
    let all: String = names.iter().rev().map(|name| fs::read_to_string(folder.join(name)).unwrap()).collect();
    let numbers: Vec<u32> = all
        .lines()
        .filter_map(|line| {
            line.split_once("/marked-")?.1.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
        })
        .collect();
    assert_eq!(numbers.last(), Some(&399), "the newest line is there");
    let whole = numbers.windows(2).all(|pair| pair[1] == pair[0] || pair[1] == pair[0] + 1);
    assert!(whole, "no line is lost between two files: {numbers:?}");
}
