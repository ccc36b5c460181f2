//! What a newcomer meets first: a config that leads back to us, another program's file, a file with a mistake in it.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod itself;
mod unreadable;

use std::time::Duration;

use manifold_testkit::{Client, HttpFake, Sandbox, Style, Trouble, fake, until};
use serde_json::{Value, json};

use crate::cli::{Ran, run};
use crate::http_lifecycle::Gateway;
use manifold_testkit::http::end_quietly;

const SOON: Duration = Duration::from_secs(60);

fn text(response: &Value) -> &str {
    response["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{response}"))
}

fn row(client: &mut Client, id: &str) -> Value {
    let listed = client.call("manifold__servers_list", json!({}));
    let rows: Vec<Value> = serde_json::from_str(text(&listed)).unwrap();
    rows.into_iter().find(|row| row["id"] == id).unwrap_or_else(|| panic!("no {id} in {listed}"))
}

fn serve_file(sandbox: &Sandbox, name: &str, content: &str, more: &[&str]) -> Client {
    let path = sandbox.write(name, content);
    let mut command = sandbox.manifold();
    command.args(["serve", "--stdio", "--config"]).arg(path).args(more);
    Client::spawn(command)
}

fn command(sandbox: &Sandbox, args: &[&str]) -> Ran {
    let mut command = sandbox.manifold();
    command.args(args);
    run(command)
}

fn as_toml(value: &Value) -> String {
    // Strings and lists of strings are written alike.
    value.to_string()
}

// D8: another program's file is served as it is, and one line says whose it is.
#[test]
fn files_of_other_programs_are_served() {
    let entry = fake(json!({}));
    let (program, knobs) = (&entry["command"], &entry["args"][0]);
    let opencode = json!({"theme": "system", "mcp": {
        "git": {"type": "local", "command": [program, knobs], "environment": {"A": "{env:HOME}"}},
        "off": {"type": "local", "command": ["none"], "enabled": false}}});
    let codex = format!(
        "model = \"m\"\n\n[mcp_servers.git]\ncommand = {}\nargs = {}\n",
        as_toml(program),
        as_toml(&entry["args"])
    );
    // Every JSON string is a YAML string.
    let goose = format!(
        "extensions:\n  git:\n    type: stdio\n    enabled: true\n    cmd: {program}\n    args: [{knobs}]\n"
    );
    let bare = json!({"git": entry});
    let zed = json!({"vim_mode": true, "context_servers": {"git": entry}});
    for (name, content, told) in [
        ("opencode.json", opencode.to_string(), "opencode config, 2 servers"),
        ("config.toml", codex, "Codex config, 1 server"),
        ("config.yaml", goose, "goose config, 1 server"),
        ("settings.json", zed.to_string(), "Zed config, 1 server"),
        ("any.json", bare.to_string(), "1 server by name, without a key around them"),
    ] {
        let sandbox = Sandbox::new();
        let mut client = serve_file(&sandbox, name, &content, &[]);
        client.initialize("2025-11-25", json!({}));
        let tools = client.tool_names();
        assert!(tools.contains(&"git__echo".to_owned()), "{name}: {tools:?} {}", client.stderr());
        let line = format!("{}: {told}", sandbox.path(name).display());
        assert!(until(SOON, || client.stderr().contains(&line)), "{}", client.stderr());
        let checked = command(&sandbox, &["config", "check", name]);
        assert_eq!((checked.code, checked.stdout), (Some(0), format!("{name}: {told}\n")));
        let status = command(&sandbox, &["status", "--config", name]);
        assert!(status.stdout.contains(told), "{}", status.stdout);
    }
}

// D8: a file in which nothing was found is never fine, and is served all the same.
#[test]
fn a_file_without_servers_is_told_of() {
    let sandbox = Sandbox::new();
    let looked = "has no servers: looked for `mcpServers`";
    let mut client = serve_file(&sandbox, "mine.json", r#"{"tools": {"git": {}}}"#, &[]);
    client.initialize("2025-11-25", json!({}));
    assert!(until(SOON, || client.stderr().contains(looked)), "{}", client.stderr());
    let checked = command(&sandbox, &["config", "check", "mine.json"]);
    assert_eq!(checked.code, Some(2), "{checked:?}");
    assert!(checked.stdout.contains(looked), "{checked:?}");
}

// D6: what is wrong with a file that was changed is said as at the start, and beside the server it is about.
#[test]
fn problems_of_a_changed_file_are_told() {
    let sandbox = Sandbox::new();
    let mut config = json!({"mcpServers": {"a": fake(json!({}))}});
    let mut client = sandbox.serve(&config, &[]);
    client.initialize("2025-11-25", json!({}));
    assert!(row(&mut client, "a").get("problems").is_none());
    config["mcpServers"]["a"]["commandd"] = json!("x");
    config["mcpServers"]["b"] = json!({"command": "no-such-program-anywhere"});
    sandbox.write_config(&config);
    let said = ["unknown key `commandd`", "cannot find the program `no-such-program-anywhere`"];
    let all_said = |log: &str| said.iter().all(|one| log.contains(one));
    assert!(until(SOON, || all_said(&client.stderr())), "{}", client.stderr());
    for (id, said) in [("a", said[0]), ("b", said[1])] {
        let row = row(&mut client, id);
        assert!(row["problems"][0].as_str().is_some_and(|problem| problem.contains(said)), "{row}");
    }
    let status = command(&sandbox, &["status"]);
    assert!(all_said(&status.stdout), "{}", status.stdout);
}

// B7: a file that is not taken over is told of for as long as it is not, beside what is wrong with one that is.
#[test]
fn a_config_that_is_not_taken_over_is_told_of() {
    let sandbox = Sandbox::new();
    let good = |more: Value| {
        let mut config = json!({"mcpServers": {"a": fake(json!({}))}});
        config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        config
    };
    let listed = |client: &mut Client| client.call("manifold__servers_list", json!({}))["result"].to_string();
    let mut client = sandbox.serve(&good(json!({})), &[]);
    client.initialize("2025-11-25", json!({}));
    assert!(!listed(&mut client).contains("config"), "{}", listed(&mut client));
    sandbox.write_config(&json!({"mcpServers": 5}));
    let said = "mcpServers: expected an object, found a number";
    assert!(until(SOON, || listed(&mut client).contains(said)), "{}", client.stderr());
    assert!(listed(&mut client).contains("the config before it is in force"));
    client.speak_modern(json!({}));
    let met = client.ask("server/discover", json!({}));
    assert!(met["result"]["instructions"].to_string().contains(said), "{met}");

    sandbox.write_config(&good(json!({"seperator": "."})));
    let warned = "unknown key `seperator`";
    assert!(until(SOON, || listed(&mut client).contains(warned)), "{}", client.stderr());
    assert!(!listed(&mut client).contains("in force"), "it is over");
}

// B7: the same over HTTP, with what is wrong with single servers.
#[test]
fn status_over_http_tells_what_is_wrong_with_the_config() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &json!({"mcpServers": {"a": fake(json!({}))}}), &[]);
    let status = || -> Value {
        let answer = gateway.ask("GET", "/api/status", &[], "");
        serde_json::from_str(&answer.text()).unwrap_or_else(|_| panic!("{}", answer.text()))
    };
    assert_eq!(status().get("config"), None);
    sandbox.write_config(&json!({"mcpServers": 5}));
    assert!(until(SOON, || status()["config"]["problem"].is_string()), "{}", status());
    let first = status()["config"].clone();
    assert!(first["problem"].to_string().contains("expected an object"), "{first}");
    assert_eq!(first["since"].as_str().map(str::len), Some("2026-01-01T00:00:00Z".len()), "{first}");
    let mut entry = fake(json!({}));
    entry["commandd"] = json!("x");
    sandbox.write_config(&json!({"mcpServers": {"a": entry}, "seperator": "."}));
    let mended = || status()["config"].get("problem").is_none();
    assert!(until(SOON, mended), "{}", status());
    let status = status();
    assert!(status["config"]["problems"][0].to_string().contains("unknown key `seperator`"), "{status}");
    let row = &status["schemas"]["default"]["mcpServers"][0];
    assert!(row["problems"][0].to_string().contains("unknown key `commandd`"), "{status}");
    end_quietly(gateway.client);
}

// D7: who looks on by exit code learns of servers that cannot work.
#[test]
fn status_fails_where_a_server_cannot_work() {
    let sandbox = Sandbox::new();
    let good = json!({"builtin": "time"});
    let bad = json!({"command": "no-such-program-anywhere"});
    let off = json!({"command": "no-such-program-anywhere", "enabled": false});
    for (servers, code) in
        [(json!({"a": good}), 0), (json!({"a": good, "b": off}), 0), (json!({"a": good, "b": bad}), 1)]
    {
        sandbox.write_config(&json!({"mcpServers": servers}));
        for args in [&["status"][..], &["status", "--json"]] {
            assert_eq!(command(&sandbox, args).code, Some(code), "{args:?} {servers}");
        }
    }
}

// D7: a namespace that does not exist is not an empty one.
#[test]
fn an_unknown_namespace_is_told_with_those_there_are() {
    let sandbox = Sandbox::new();
    let servers = json!({"a": {"builtin": "time"}, "b": {"builtin": "time"}});
    sandbox.write_config(&json!({"mcpServers": servers, "namespaces": {
        "work": {"serverIds": ["a"]}, "home": {"serverIds": ["b"]}, "off": {"enabled": false}}}));
    for args in [&["status"][..], &["config", "check"], &["http", "--port", "0"]] {
        let ran = command(&sandbox, &[args, &["--namespace", "nope"]].concat());
        assert_ne!(ran.code, Some(0), "{args:?}");
        assert!(
            ran.stderr.contains("'nope'") && ran.stderr.contains("home, work"),
            "{args:?} {}",
            ran.stderr
        );
    }
    let ran = command(&sandbox, &["status", "--namespace", "off"]);
    assert!(ran.stderr.contains("is disabled"), "{}", ran.stderr);
    let report = command(&sandbox, &["status", "--json", "--namespace", "home"]);
    let report: Value = serde_json::from_str(&report.stdout).unwrap();
    let ids: Vec<&Value> = report["servers"].as_array().unwrap().iter().map(|row| &row["id"]).collect();
    assert_eq!(ids, ["b"]);
}

// D7: a server that wants a sign-in says so where nothing was configured to sign in with.
#[test]
fn a_server_that_wants_a_sign_in_says_so() {
    for status in [401, 403] {
        let sandbox = Sandbox::new();
        let server = HttpFake::start(Style::Json, &["echo"]);
        let headers = vec![("WWW-Authenticate", "Bearer".to_owned())];
        server.trouble_for_good("*", Trouble::Status { status, headers, body: String::new() });
        let mut client = sandbox
            .serve(&json!({"mcpServers": {"far": {"url": server.url(), "headers": {"X-Team": "red"}}}}), &[]);
        client.initialize("2025-11-25", json!({}));
        let answer = client.call("far__echo", json!({}));
        let message = answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{answer}"));
        assert!(message.starts_with("Server 'far' wants you to sign in"), "{message}");
        assert!(message.ends_with("; run `manifold login far`"), "{message}");
        let data = json!({"service": "far", "state": "needs login", "command": "manifold login far"});
        assert_eq!((&answer["error"]["code"], &answer["error"]["data"]), (&json!(-32603), &data));
    }
}

// B8: a plain 403 is no request to sign in; what the server says of it is shown.
#[test]
fn a_plain_403_shows_what_the_server_says() {
    let sandbox = Sandbox::new();
    let server = HttpFake::start(Style::Json, &["echo"]);
    let body = "your address is not allowed here".to_owned();
    server.trouble_for_good("*", Trouble::Status { status: 403, headers: Vec::new(), body });
    let mut client = sandbox.serve(&json!({"mcpServers": {"far": {"url": server.url()}}}), &[]);
    client.initialize("2025-11-25", json!({}));
    let answer = client.call("far__echo", json!({})).to_string();
    assert!(answer.contains("403: your address is not allowed here"), "{answer}");
    assert!(!answer.contains("sign in"), "{answer}");
}

// B8: `http` and `config check` say what the others do.
#[test]
fn commands_say_the_same_of_namespaces_tokens_and_whose_file_it_is() {
    let sandbox = Sandbox::new();
    sandbox.write_config(&json!({"mcpServers": {"a": {"builtin": "time"}}, "server": {"token": "short"}}));
    let ran = command(&sandbox, &["http", "--port", "0", "--namespace", "nope"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("namespace 'nope' does not exist; there are: none"), "{ran:?}");
    let ran = command(&sandbox, &["config", "check"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("server.token: the token has 5 characters"), "{ran:?}");
    sandbox.write("c.toml", "[mcp_servers.a]\ncommand = \"no-such-program-anywhere\"\n");
    let ran = command(&sandbox, &["config", "check", "c.toml"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stdout.contains("Codex config, 1 server"), "{ran:?}");
    let mut blank = sandbox.manifold();
    blank.args(["http", "--port", "0"]).env("MANIFOLD_TOKEN", "  ");
    assert_eq!(run(blank).code, Some(2));
}

// D7: of what a program said before it ended, the line with the name is shown.
#[test]
fn the_line_that_tells_is_shown() {
    let sandbox = Sandbox::new();
    let log = "npm error code E404\nnpm error 404 Not Found - GET https://r.example/server-gti - Not found\n\
               npm error 404\nnpm error 404  'server-gti@*' is not in this registry.\nnpm error 404 Note that\n\
               npm error 404 tarball, folder, http url, or git folder.\nnpm error A complete log\n";
    let log = sandbox.write("npm.log", log);
    let script = format!("cat {} >&2; exit 1", log.display());
    let mut client =
        sandbox.serve(&json!({"mcpServers": {"gti": {"command": "sh", "args": ["-c", script]}}}), &[]);
    client.initialize("2025-11-25", json!({}));
    let answer = client.call("gti__echo", json!({}));
    let message = answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{answer}"));
    assert!(message.contains("'server-gti@*' is not in this registry."), "{message}");
}

// D10: the help of a command lists the options that act there, and no others.
#[test]
fn help_lists_what_acts() {
    let sandbox = Sandbox::new();
    let serving =
        ["--port", "--host", "--token", "--cors", "--tls-cert", "--allowed-host", "--framing", "--eager"];
    for (args, there, not_there) in [
        (&["status"][..], &["--config", "--namespace", "--profile", "--json"][..], &serving[..]),
        (&["config", "check"], &["--config", "--namespace", "--profile", "--json"], &serving),
        (&["config", "schema"], &["--help"], &["--config", "--port", "--eager", "--namespace", "--framing"]),
        (&["stdio"], &["--config", "--framing", "--eager", "--log-level"], &["--port", "--token", "--http"]),
        (&["http"], &["--config", "--port", "--token", "--eager"], &["--framing", "--stdio"]),
        (&["litemcp"], &["--config", "--tool"], &["--port", "--framing"]),
        (&["serve"], &["--config", "--port", "--framing", "--stdio", "--http"], &[]),
        // One screen: what serving takes stands with `serve`.
        (&[], &["--config", "--namespace", "--stdio", "--http"], &["--tls-cert"]),
    ] {
        let mut command = sandbox.manifold();
        command.args(args).arg("--help");
        let ran = run(command);
        let help = format!("{}{}", ran.stdout, ran.stderr);
        assert_eq!(ran.code, Some(0), "{help}");
        let lists = |option: &str| {
            help.lines().any(|line| line.trim_start().split([' ', ',', '=']).any(|word| word == option))
        };
        for option in there {
            assert!(lists(option), "{args:?} should list {option}:\n{help}");
        }
        for option in not_there {
            assert!(!lists(option), "{args:?} should not list {option}:\n{help}");
        }
    }
    // They may stand where they stood.
    for args in [
        &["--config", "x.json", "status", "--json"][..],
        &["status", "-l", "debug", "--silent"],
        &["--profile", "mcps-proxy", "config", "schema"],
    ] {
        sandbox.write("x.json", r#"{"mcpServers": {"t": {"builtin": "time"}}}"#);
        assert_eq!(command(&sandbox, args).code, Some(0), "{args:?}");
    }
    let ran = command(&sandbox, &["status", "--port", "1"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("--port is for serving over HTTP"), "{ran:?}");
}
