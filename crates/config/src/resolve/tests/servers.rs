//! Single entries: what they may say, and what is wrong with them.

use std::path::Path;
use std::time::Duration;

use expect_test::expect;

use crate::load::{LoadOptions, OwnPort, load_text};
use crate::model::*;
use crate::testing::{SECRET, environment, load, options, problems, programs, server, try_load};

fn entry(json: &str) -> Server {
    load(&format!(r#"{{"servers": {{"a": {json}}}}}"#)).servers.remove(0)
}

fn entry_problems(json: &str) -> String {
    problems(&format!(r#"{{"servers": {{"a": {json}}}}}"#))
}

#[test]
fn bad_entries_are_marked_and_the_others_run() {
    let text = r#"{"servers": {
  "both": {"command": "x", "url": "http://x"},
  "none": {"name": "nothing"},
  "text": "npx foo",
  "type": {"type": "http", "command": "x"},
  "stdio": {"type": "stdio", "url": "http://x"},
  "args": {"command": "x", "args": "-y foo"},
  "env": {"command": "x", "env": {"A": {}}},
  "url": {"url": "example.com/mcp"},
  "builtin": {"builtin": "tme"},
  "header": {"url": "http://x", "headers": {"X": "a\n"}},
  "token": {"url": "http://x", "bearer_token_env_var": "sk-hunter2-hunter2"},
  "fine": {"builtin": "time"}
}}"#;
    expect![[r#"
        config.json:2: servers.both: has both `command` and `url`; keep one
        config.json:3: servers.none: has neither `command` nor `url`; add one of them
        config.json:4: servers.text: expected an object, found text; write `{ … }`
        config.json:5: servers.type: has a `command` but is of type `http`; give a `url`, or remove the type
        config.json:6: servers.stdio: has a `url` but is of type `stdio`; give a `command`, or remove the type
        config.json:7: servers.args: `args`: expected a list of texts, found text; correct it
        config.json:8: servers.env: `env`: expected an object of texts and nothing else in it; correct it
        config.json:9: servers.url: `url` is not an address; write one such as `https://host/path`
        config.json:10: servers.builtin: there is no builtin `tme`; the builtins are: `time`
        config.json:11: servers.header: header `X` has characters that are not allowed; look for a line break at the end of its value
        config.json:12: servers.token: `bearer_token_env_var` does not name a variable; write the variable's name, not its value
    "#]]
    .assert_eq(&problems(text));
    let config = load(text);
    for server in &config.servers {
        let bad = matches!(server.fault, Some(ServerFault::BadEntry { .. }));
        assert_eq!(bad, server.key.id != "fine", "{}", server.key.id);
    }
}

// S1-31: a program that is not there is the fault of its server alone.
#[test]
fn a_missing_program_is_found_out() {
    expect![[r#"
        config.json:1: servers.a: cannot find the program `uvx`; install uv (https://docs.astral.sh/uv)
    "#]]
    .assert_eq(&entry_problems(r#"{"command": "uvx"}"#));
    expect![[r#"
        config.json:1: servers.a: cannot find the program `npx -y x`; put the arguments in `args`
    "#]]
    .assert_eq(&entry_problems(r#"{"command": "npx -y x"}"#));
    expect![[r#"
        config.json:1: servers.a: cannot find the program `~/bin/x`; correct the path
    "#]]
    .assert_eq(&entry_problems(r#"{"command": "~/bin/x"}"#));
    expect![[r#"
        config.json:1: servers.a: cannot find the program `/etc/passwd`; it is there but cannot be run: make it executable
    "#]]
    .assert_eq(&entry_problems(r#"{"command": "/etc/passwd"}"#));
    assert_eq!(entry_problems(r#"{"command": "uvx", "disabled": true}"#), "");
    let fault = entry(r#"{"command": "x"}"#).fault;
    let hint = "install it, or write its full path".to_owned();
    assert_eq!(fault, Some(ServerFault::NoSuchProgram { command: "x".into(), hint }));
}

#[test]
fn programs_are_looked_for_on_the_servers_own_path() {
    let directory = programs(&["mine"]);
    let path = directory.path().display().to_string();
    assert_eq!(entry(&format!(r#"{{"command": "mine", "env": {{"PATH": "{path}"}}}}"#)).fault, None);
    assert_eq!(entry(&format!(r#"{{"command": "{path}/mine"}}"#)).fault, None);
    assert_eq!(entry(&format!(r#"{{"command": "./mine", "cwd": "{path}"}}"#)).fault, None);

    let mut options = options();
    options.environment.vars.insert("PATH".into(), path);
    let load = |text: &str| load_text(text, None, &options).unwrap();
    assert_eq!(load(r#"{"mcpServers": {"a": {"command": "mine"}}}"#).servers[0].fault, None);
    let elsewhere = load(r#"{"mcpServers": {"a": {"command": "mine", "env": {"PATH": "/nowhere"}}}}"#);
    assert!(elsewhere.servers[0].fault.is_some());
}

#[test]
fn a_missing_directory_is_only_told() {
    expect![[r#"
        config.json:1: servers.a: its `cwd` is not a directory; create it, or correct `cwd`
    "#]]
    .assert_eq(&entry_problems(r#"{"command": "/bin/sh", "cwd": "/no/such/place"}"#));
}

// S3-10, S3-18: a missing variable disables that one service, and its name is kept.
#[test]
fn missing_variables_mark_their_server() {
    let text = r#"{"servers": {
  "a": {"command": "x", "args": ["${ONE}"], "env": {"B": "${TWO} ${NAME}"}},
  "b": {"url": "http://x/${THREE}", "http_headers": {"K": "${FOUR:-x}"}},
  "c": {"url": "http://x", "env_http_headers": {"X-Key": "FIVE"}, "oauth": {"client_secret": "${SIX}"}},
  "d": {"command": "x", "args": ["${ONE}"], "enabled": false}
}}"#;
    expect![[r#"
        config.json:2: servers.a.args[0]: variable `ONE` is not set; set it, or write `${ONE:-default}`
        config.json:2: servers.a.env.B: variable `TWO` is not set; set it, or write `${TWO:-default}`
        config.json:3: servers.b.url: variable `THREE` is not set; set it, or write `${THREE:-default}`
        config.json:4: servers.c.env_http_headers.X-Key: variable `FIVE` is not set; set it
    "#]]
    .assert_eq(&problems(text));
    let config = load(text);
    let fault = |id: &str| server(&config, id).fault.clone();
    let missing = |variable: &str, credential| {
        Some(ServerFault::MissingVariable { variable: variable.to_owned(), credential })
    };
    assert_eq!(fault("a"), missing("ONE", false));
    assert_eq!(fault("b"), missing("THREE", true));
    assert_eq!(fault("c"), missing("FIVE", true));
    assert_eq!(fault("d"), None);
}

// S1-25, S1-26 and the start policy of the profile.
#[test]
fn start_is_told_by_three_keys() {
    let start = |policy: &str, keys: &str| {
        let text = format!(r#"{{"start": "{policy}", "servers": {{"a": {{"builtin": "time"{keys}}}}}}}"#);
        load(&text).servers[0].start
    };
    for (keys, lazy, eager) in [
        ("", ServerStart::Lazy, ServerStart::Eager),
        (r#", "eager": true"#, ServerStart::Eager, ServerStart::Eager),
        (r#", "autostart": true"#, ServerStart::Eager, ServerStart::Eager),
        (r#", "eager": false"#, ServerStart::Lazy, ServerStart::Lazy),
        (r#", "lazy": true"#, ServerStart::Lazy, ServerStart::Lazy),
        (r#", "lazy": false"#, ServerStart::Eager, ServerStart::Eager),
        (r#", "eager": false, "lazy": false"#, ServerStart::Manual, ServerStart::Manual),
    ] {
        assert_eq!((start("lazy", keys), start("eager", keys)), (lazy, eager), "{keys}");
    }
}

#[test]
fn everything_a_server_may_say_is_read() {
    let plain = entry(r#"{"builtin": "time"}"#);
    assert_eq!((plain.start_timeout, plain.max_concurrency), (Duration::from_secs(60), 256));
    assert_eq!((plain.call_timeout, plain.idle_timeout), (None, None));
    assert_eq!(
        (plain.era, plain.shared, plain.display_name.as_str()),
        (EraSetting::Auto, Sharing::Default, "a")
    );

    let full = entry(
        r#"{"command": "/bin/sh", "type": "litemcp", "args": ["~/x", 5], "env": {"N": 1, "H": "~/h"}, "restart": false,
            "timeout": 2000, "startTimeout": 3000, "idleTimeout": 4000, "era": "modern", "shared": false, "maxConcurrency": 2,
            "inheritEnv": ["HOME"], "roots": ["~/a b", {"uri": "https://x", "name": "X"}], "name": "Sh"}"#,
    );
    assert_eq!(full.call_timeout, Some(Duration::from_secs(2)));
    assert_eq!(
        (full.start_timeout, full.idle_timeout),
        (Duration::from_secs(3), Some(Duration::from_secs(4)))
    );
    assert_eq!((full.era, full.shared, full.max_concurrency), (EraSetting::Modern, Sharing::PerClient, 2));
    assert_eq!(full.display_name, "Sh");
    assert_eq!(
        full.roots,
        [
            Root { uri: "file:///home/ann/a%20b".into(), name: None },
            Root { uri: "https://x".into(), name: Some("X".into()) }
        ]
    );
    let Transport::Process(spec) = &full.transport else { panic!() };
    assert_eq!((spec.dialect, spec.restart), (ProcessDialect::LiteMcp, false));
    assert_eq!(spec.args, ["/home/ann/x", "5"]);
    assert_eq!((spec.env["N"].expose(), spec.env["H"].expose()), ("1", "/home/ann/h"));
    assert_eq!(spec.inherit_env, InheritEnv::Only(vec!["HOME".into()]));
}

// Decision 30
#[test]
fn the_environment_may_be_kept_back() {
    let inherit = |json: &str| match entry(json).transport {
        Transport::Process(spec) => spec.inherit_env,
        _ => panic!(),
    };
    assert_eq!(inherit(r#"{"command": "x"}"#), InheritEnv::All);
    assert_eq!(inherit(r#"{"command": "x", "inheritEnv": true}"#), InheritEnv::All);
    assert_eq!(inherit(r#"{"command": "x", "inheritEnv": false}"#), InheritEnv::None);
}

#[test]
fn enabled_and_disabled_mean_one_thing() {
    assert!(entry(r#"{"builtin": "time", "disabled": false}"#).enabled);
    assert!(!entry(r#"{"builtin": "time", "enabled": false}"#).enabled);
    assert!(!entry(r#"{"builtin": "time", "disabled": true, "enabled": true}"#).enabled);
    expect![[r#"
        config.json:1: servers.a: `enabled` and `disabled` contradict each other; it counts as disabled
    "#]]
    .assert_eq(&entry_problems(r#"{"builtin": "time", "disabled": true, "enabled": true}"#));
}

// S1-54
#[test]
fn a_server_with_our_own_prefix_gets_another_one() {
    expect![[r#"
        config.json:1: servers.Manifold: `Manifold` is the prefix of our own tools; its tools are called `Manifold_e29793de…`
    "#]]
    .assert_eq(&problems(r#"{"servers": {"Manifold": {"builtin": "time"}}}"#));
}

// Secrets are a type that prints `***`; nothing else of ours prints them either.
#[test]
fn no_secret_is_ever_shown() {
    let text = r#"{
  "server": {"token": "${KEY}", "host": 1},
  "mcpServers": {
    "a": {"command": "x", "args": ["--key=${KEY}", "${NONE}"], "env": {"K": "${KEY}"}, "cwd": "/x", "type": "${KEY}"},
    "b": {"url": "https://u:${KEY}@x/${KEY}?k=${KEY}", "headers": {"Authorization": "Bearer ${KEY}"}, "timeout": "${KEY}"},
    "c": {"url": "${KEY}", "era": "${KEY}"},
    "e": {"builtin": "${KEY}"}
  },
  "logging": {"level": "${KEY}"}, "separator": "${KEY}!"
}"#;
    let config = load(text);
    assert!(config.problems.len() > 6, "{:#?}", config.problems);
    assert_eq!(server(&config, "b").fault, None);
    let shown = format!("{config:?} {config:#?} {:?}", options())
        + &config.problems.iter().map(ToString::to_string).collect::<String>()
        + &serde_json::to_string(&config.problems).unwrap();
    assert!(!shown.contains(SECRET), "{shown}");
    assert!(shown.contains("***"));
    let told = entry_problems(r#"{"command": "${KEY}", "cwd": "${KEY}"}"#);
    assert!(told.contains("${KEY}") && !told.contains(SECRET), "{told}");
    let error = try_load(r#"{"server": {"token": "${NONE}"}, "profile": "${KEY}"}"#).unwrap_err();
    assert!(!format!("{error} {error:?}").contains(SECRET));
}

// D7: Gemini's `includeTools` and its like are lists of all there is.
#[test]
fn tools_may_be_named_one_by_one() {
    let allowed = |text: &str| {
        let config = load(&format!(r#"{{"mcpServers": {{"t": {{"builtin": "time", {text}}}}}}}"#));
        assert_eq!(config.problems, [], "{text}");
        config.servers[0].allowed_tools.clone()
    };
    assert_eq!(allowed(r#""includeTools": ["a", "b"]"#), Some(vec!["a".to_owned(), "b".to_owned()]));
    assert_eq!(allowed(r#""allowedTools": []"#), Some(Vec::new()));
    assert_eq!(allowed(r#""tools": ["*"]"#), None);
    assert_eq!(allowed(r#""tools": {"a": {}}"#), None);
}

// D7: how a server speaks may be said under any of the names clients have for it.
#[test]
fn the_transport_has_four_names() {
    for (key, value, kind) in [
        ("type", "streamable-http", RemoteKind::StreamableHttp),
        ("type", "streamableHttp", RemoteKind::StreamableHttp),
        ("kind", "sse", RemoteKind::Sse),
        ("transport", "sse", RemoteKind::Sse),
        ("transport", "http", RemoteKind::StreamableHttp),
        ("transportType", "sse", RemoteKind::Sse),
    ] {
        let text =
            format!(r#"{{"mcpServers": {{"a": {{"url": "https://a.example", "{key}": "{value}"}}}}}}"#);
        let config = load(&text);
        assert_eq!(config.problems, [], "{text}");
        let Transport::Remote(spec) = &config.servers[0].transport else { panic!() };
        assert_eq!(spec.kind, kind, "{text}");
    }
}

// D8: VS Code and Cursor keep variables in a file; what the entry says itself comes first.
#[test]
fn variables_may_be_kept_in_a_file() {
    let place = programs(&["x"]);
    let file = place.path().join(".env");
    std::fs::write(&file, "# mine\nA=1\nexport B = \"two words\"\n\nC='3'\n").unwrap();
    let entry = |file: &Path| {
        let text = format!(
            r#"{{"mcpServers": {{"a": {{"command": "{}/x", "env": {{"A": "0"}}, "envFile": {file:?}}}}}}}"#,
            place.path().display()
        );
        load(&text)
    };
    let config = entry(&file);
    let Transport::Process(spec) = &config.servers[0].transport else { panic!() };
    let env: Vec<_> = spec.env.iter().map(|(name, value)| (name.as_str(), value.expose())).collect();
    assert_eq!(env, [("A", "0"), ("B", "two words"), ("C", "3")]);
    let config = entry(Path::new("/no/such/file"));
    assert!(config.problems[0].what.starts_with("its `envFile` cannot be read"), "{:?}", config.problems);
    std::fs::write(&file, format!("A=1\n{SECRET}\n")).unwrap();
    let config = entry(&file);
    assert_eq!(config.problems[0].what, "its `envFile` has no `NAME=value` in line 2");
}

// D1: the same program with the same config is the gateway itself, however it is spelled.
#[test]
fn the_gateway_in_its_own_config_is_marked() {
    let place = programs(&["manifold", "other"]);
    let folder = place.path();
    std::os::unix::fs::symlink("manifold", folder.join("link")).unwrap();
    for name in ["mine.json", "yours.json"] {
        std::fs::write(folder.join(name), "{}").unwrap();
    }
    std::fs::create_dir_all(folder.join(".config/manifold")).unwrap();
    std::fs::write(folder.join(".config/manifold/config.json"), "{}").unwrap();
    let mut environment = environment();
    environment.vars.insert("PATH".into(), folder.display().to_string());
    environment.home = Some(folder.into());
    environment.cwd = folder.into();
    environment.program = Some(folder.join("manifold").canonicalize().unwrap());
    let options = LoadOptions { environment, ..options() };
    let is_itself = |config: &str, entry: &str| {
        let text = format!(r#"{{"mcpServers": {{"a": {entry}, "t": {{"builtin": "time"}}}}}}"#);
        let config = load_text(&text, Some(&folder.join(config)), &options).unwrap();
        assert_eq!(server(&config, "t").fault, None);
        config.servers[0].fault == Some(ServerFault::Itself)
    };
    let default = ".config/manifold/config.json";
    for (config, entry) in [
        (default, r#"{"command": "manifold", "args": ["serve", "--stdio"]}"#.to_owned()),
        (default, r#"{"command": "./link", "args": ["stdio", "--namespace", "x"]}"#.to_owned()),
        (default, format!(r#"{{"command": "{}/manifold"}}"#, folder.display())),
        ("mine.json", r#"{"command": "manifold", "args": ["serve", "--config", "mine.json"]}"#.to_owned()),
        ("mine.json", r#"{"command": "manifold", "args": ["--mcp-config=~/mine.json", "stdio"]}"#.to_owned()),
        ("mine.json", r#"{"command": "manifold", "env": {"MANIFOLD_CONFIG": "./mine.json"}}"#.to_owned()),
    ] {
        assert!(is_itself(config, &entry), "{config}: {entry}");
    }
    for (config, entry) in [
        (default, r#"{"command": "other"}"#),
        (default, r#"{"command": "manifold", "args": ["serve", "-c", "yours.json"]}"#),
        (default, r#"{"command": "manifold", "args": ["--profile", "mcps-proxy", "--stdio"]}"#),
        ("mine.json", r#"{"command": "manifold", "args": ["serve", "--stdio"]}"#),
    ] {
        assert!(!is_itself(config, entry), "{config}: {entry}");
    }
}

// D1: over HTTP the way back to ourselves is an address.
#[test]
fn the_gateway_at_its_own_address_is_marked() {
    let is_itself = |own_port: Option<OwnPort>, url: &str| {
        let options = LoadOptions { own_port, ..options() };
        let text = format!(r#"{{"mcpServers": {{"a": {{"url": "{url}"}}}}, "server": {{"port": 4000}}}}"#);
        load_text(&text, Some(Path::new("c.json")), &options).unwrap().servers[0].fault.is_some()
    };
    let configured = Some(OwnPort::Configured);
    for url in ["http://127.0.0.1:4000/mcp", "http://LOCALHOST:4000", "http://u:p@[::1]:4000/mcp/x"] {
        assert!(is_itself(configured, url), "{url}");
        assert!(!is_itself(None, url), "a gateway on stdio may stand before one over HTTP: {url}");
        assert!(!is_itself(Some(OwnPort::Given(5000)), url), "{url}");
    }
    assert!(is_itself(Some(OwnPort::Given(80)), "http://localhost/mcp"));
    for url in ["http://127.0.0.1:4001/mcp", "http://localhost/mcp", "http://other.example:4000/mcp"] {
        assert!(!is_itself(configured, url), "{url}");
    }
}
