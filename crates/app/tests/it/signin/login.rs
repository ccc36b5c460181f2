//! `login` and `logout`, as those who run them see them.
#![expect(clippy::disallowed_types, reason = "how long a command takes to count is measured in real time")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use manifold_testkit::http::Gateway;
use manifold_testkit::{Misbehaviour, figures, until, visit};
use serde_json::{Value, json};

use super::{Login, PATIENCE, gateway, run, serve, sign_in, text_of, world};

// The way with a browser.
#[test]
fn who_signs_in_has_the_tools() {
    let (sandbox, server) = world();
    let ended = sign_in(&sandbox, &["--json"]);
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(
        (&report["server"], &report["account"], &report["tools"]),
        (&json!("far"), &json!("default"), &json!(2))
    );
    assert_eq!(report["issuer"], server.issuer().trim_start_matches("http://"));
    assert_eq!((server.count("register"), server.count("authorize"), server.count("code")), (1, 1, 1));
    assert_eq!(server.scopes_asked()[0].split(' ').next(), Some("mcp:basic"), "as the 401 says");
    let mut client = serve(&sandbox, &server, json!({}));
    assert_eq!(text_of(&client.call("far__whoami", json!({}))), "somebody");
    // The same client is used again.
    sign_in(&sandbox, &[]);
    assert_eq!(server.count("register"), 1);
}

// T15: the browser gets the address as its one argument, and no shell has a part in it.
#[test]
fn the_browser_gets_the_address_as_it_is() {
    let (sandbox, _server) = world();
    let said = sandbox.path("argv");
    let script =
        format!("#!/bin/sh\nprintf '%s\\n' \"$#\" \"$1\" > {0}.new && mv {0}.new {0}\n", said.display());
    let browser = sandbox.write("bin dir/browser", &script);
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o700)).unwrap();
    let mut command = sandbox.manifold();
    command.env("BROWSER", &browser);
    let mut login = Login::start_as(command, &[]);
    let url = login.url();
    assert!(
        login.seen.iter().any(|line| line.contains("sign in to 'far' at 127.0.0.1:")),
        "{:?}",
        login.seen
    );
    assert!(until(PATIENCE, || said.exists()));
    assert_eq!(fs::read_to_string(&said).unwrap(), format!("1\n{url}\n"));
    assert_eq!(visit(&visit(&url).unwrap().location.unwrap()).unwrap().status, 200);
    assert_eq!(login.end().code, Some(0));
}

// Who has no browser here pastes the address it ends at; what is another's is refused.
#[test]
fn an_address_can_be_pasted() {
    let (sandbox, server) = world();
    let mut login = Login::start(&sandbox, &["--no-browser"]);
    let back = login.sign_in();
    login.line(|line| line.contains("ssh -L "));
    let (address, query) = back.split_once('?').unwrap();
    let code = query.split('&').find(|pair| pair.starts_with("code=")).unwrap();
    login.paste(code.trim_start_matches("code="));
    login.line(|line| line.contains("paste the whole address"));
    login.paste(&format!("{}x?{query}", address));
    login.line(|line| line.contains("this is another address"));
    login.paste(&format!("{address}?{code}&state=forged"));
    login.line(|line| line.contains("belongs to another login"));
    login.paste(&back.replace("iss=", "iss=x"));
    login.line(|line| line.contains("another issuer"));
    let issuer = query.split('&').find(|pair| pair.starts_with("iss=")).unwrap();
    login.paste(&back.replace(issuer, "iss=https://evil.example/as"));
    login.line(|line| line.contains("another issuer"));
    assert_eq!(server.count("code"), 0, "nobody was asked for a token");
    login.paste(&back);
    let ended = login.end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(
        ended.stdout.contains("signed in to 'far'") && ended.stdout.contains("2 tools"),
        "{}",
        ended.stdout
    );
}

// The page says that it was refused; the one who waits is told why, once, and at the end.
#[test]
fn why_a_callback_was_refused_is_told_where_the_login_waits() {
    let (sandbox, server) = world();
    let mut login = Login::start(&sandbox, &["--no-browser", "--timeout", "8s"]);
    let back = login.sign_in();
    for _ in 0..3 {
        assert_eq!(visit(&back.replace("iss=", "iss=x")).unwrap().status, 400);
    }
    login.line(|line| line.contains("the callback is from another issuer"));
    let issuer = back.split(['?', '&']).find(|pair| pair.starts_with("iss=")).unwrap();
    assert_eq!(visit(&back.replace(issuer, "x=y")).unwrap().status, 400);
    login.line(|line| line.contains("does not say which issuer it is from"));
    let ended = login.end();
    assert_eq!((ended.code, server.count("code")), (Some(124), 0), "{}", ended.stderr);
    let last = ended.stderr.lines().find(|line| line.contains("in time")).unwrap();
    assert!(last.contains("does not say which issuer it is from"), "{last}");
    assert_eq!(ended.stderr.matches("another issuer").count(), 1, "{}", ended.stderr);
}

// Whoever is second need not wait for a browser that has been there already.
#[test]
fn of_two_logins_at_once_both_are_over_with_the_first() {
    let (sandbox, server) = world();
    let mut first = Login::start(&sandbox, &["--no-browser"]);
    first.url();
    sign_in(&sandbox, &[]);
    let ended = first.end();
    assert_eq!((ended.code, server.count("code")), (Some(0), 1), "{}", ended.stderr);
    assert!(ended.stdout.contains("signed in to 'far'"), "{}", ended.stdout);
}

// With a code on another device.
#[test]
fn a_device_can_sign_in() {
    let (sandbox, server) = world();
    let mut login = Login::start(&sandbox, &["--device"]);
    login.line(|line| line == "WDJB-MJHT");
    server.approve_devices();
    let ended = login.end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!((server.count("authorize"), server.count("device")), (0, 1));
}

// T16: whatever comes to the listener that is not the one answer is refused, and nothing is reflected.
#[test]
fn a_listener_takes_the_one_answer_and_nothing_else() {
    let (sandbox, server) = world();
    let mut login = Login::start(&sandbox, &["--no-browser"]);
    let back = login.sign_in();
    let (address, query) = back.split_once('?').unwrap();
    let (origin, _) = address.split_once("/callback").unwrap();
    for (url, status) in [
        (format!("{origin}/"), 404),
        (format!("{address}/more?{query}"), 404),
        (format!("{address}?code=marker&state=marker"), 400),
        (format!("{address}?error=marker&state=marker&iss=marker"), 400),
        (back.replace("iss=", "iss=marker"), 400),
        (format!("{address}?{query}&code=marker"), 400),
    ] {
        let visited = visit(&url).unwrap();
        assert_eq!(visited.status, status, "{url}");
        assert!(!visited.text.contains("marker"), "{}", visited.text);
    }
    assert!(
        visit(&format!("{address}?code={}", "a".repeat(1 << 20)))
            .map_or(true, |visited| visited.status >= 400)
    );
    assert_eq!(server.count("code"), 0);
    assert_eq!(visit(&back).unwrap().status, 200, "the login was still open");
    assert_eq!(login.end().code, Some(0));
    assert!(visit(&back).is_err(), "nobody listens any more");
    assert_eq!(server.count("code"), 1);
}

#[test]
fn a_refusal_is_told_with_its_reason_and_an_exit_code() {
    let (sandbox, server) = world();
    server.misbehave(Some(Misbehaviour::Denies));
    let mut login = Login::start(&sandbox, &["--no-browser"]);
    let back = login.sign_in();
    visit(&back).unwrap();
    let ended = login.end();
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("access_denied"), "{}", ended.stderr);
    server.misbehave(Some(Misbehaviour::NoPkce));
    let ended = run(&sandbox, &["login", "far", "--no-browser"]);
    assert_eq!((ended.code, server.count("authorize")), (Some(1), 1), "{}", ended.stderr);
    server.misbehave(None);
    assert_eq!(run(&sandbox, &["login", "nobody"]).code, Some(7));
    let ended = run(&sandbox, &["login", "far", "--no-browser", "--timeout", "1s"]);
    assert_eq!(ended.code, Some(124), "{}", ended.stderr);
    // A header of the file is sent instead, and then nobody signs in.
    let headers = json!({"Authorization": "Bearer fixed"});
    sandbox.write_config(&json!({"mcpServers": {"far": {"url": server.url(), "headers": headers}}}));
    assert_eq!(run(&sandbox, &["login", "far"]).code, Some(2));
}

#[test]
fn who_signs_out_is_out_here_and_there() {
    let (sandbox, server) = world();
    sign_in(&sandbox, &[]);
    let mut client = serve(&sandbox, &server, json!({}));
    assert_eq!(text_of(&client.call("far__whoami", json!({}))), "somebody");
    let ended = run(&sandbox, &["logout", "far", "--json"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((&report["wasSignedIn"], &report["revoked"]), (&json!(true), &json!(true)));
    assert!(server.count("revoke") >= 1);
    assert!(until(PATIENCE, || {
        client.call("far__whoami", json!({}))["error"]["data"]["command"] == "manifold login far"
    }));
    // Where the issuer cannot be asked, what is here is gone all the same.
    sign_in(&sandbox, &[]);
    server.misbehave(Some(Misbehaviour::NoRevocation));
    let ended = run(&sandbox, &["logout", "far"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("not revoked"), "{}", ended.stderr);
    let again = run(&sandbox, &["logout", "far"]);
    assert!(again.stdout.contains("nobody was signed in"), "{}", again.stdout);
}

// What the commands did is written down: for which server, and whether it was done.
#[test]
fn logins_are_written_down() {
    let (sandbox, server) = world();
    sign_in(&sandbox, &[]);
    sign_in(&sandbox, &["--account", "work"]);
    server.misbehave(Some(Misbehaviour::NoPkce));
    assert_eq!(run(&sandbox, &["login", "far", "--no-browser"]).code, Some(1));
    server.misbehave(None);
    assert_eq!(run(&sandbox, &["login", "nobody"]).code, Some(7));
    run(&sandbox, &["logout", "far", "--account", "work"]);
    let audit = fs::read_to_string(sandbox.path(".local/state/manifold/audit/audit.jsonl")).unwrap();
    let lines: Vec<Value> = audit.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<String> = lines
        .iter()
        .map(|line| {
            let word = |member: &str| line[member].as_str().unwrap_or_else(|| panic!("{line}"));
            format!("{} {}: {}", word("verb"), word("target"), word("outcome"))
        })
        .collect();
    let expected = [
        "login far: done",
        "login far as work: done",
        "login far: refused",
        "login nobody: refused",
        "logout far as work: done",
    ];
    assert_eq!(told, expected);
    assert!(lines[2]["error"].as_str().unwrap().contains("S256"), "{audit}");
    for secret in server.secrets().iter().filter(|secret| !secret.is_empty()) {
        assert!(!audit.contains(secret.as_str()), "{secret} in {audit}");
    }
}

// A backup says whose logins are in it, in words.
#[test]
fn a_backup_names_logins_by_server_and_issuer() {
    let (sandbox, server) = world();
    sign_in(&sandbox, &["--account", "work"]);
    let key = sandbox.write_private("backup.key", "Y2FuYXJ5LW9mLXRoZS1rZXktdGhhdC1zZWFscy1pdCE=");
    let issuer = server.issuer().trim_start_matches("http://").to_owned();
    let mut expected = json!({"kind": "login", "name": "far", "account": "work", "issuer": issuer});
    let named = |verb: &str| {
        let ran = run(&sandbox, &["secret", verb, "backup", "--with-key-file", &key, "--json"]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        serde_json::from_str::<Value>(&ran.stdout).unwrap()["credentials"].clone()
    };
    assert_eq!(named("export"), json!([expected]));
    run(&sandbox, &["logout", "far", "--account", "work", "--forget-client"]);
    expected["became"] = json!("added");
    assert_eq!(named("import"), json!([expected]));
}

// None of what was given out is seen in logs, arguments, variables or anything that is shown.
#[test]
fn no_secret_is_seen() {
    let (sandbox, server) = world();
    let mut shown = String::new();
    let mut command = sandbox.manifold();
    command.env("MANIFOLD_LOG_LEVEL", "debug").stdin(Stdio::null());
    let mut login = Login::start_as(command, &["--no-browser", "--verbose"]);
    let url = login.url();
    let back = visit(&url).unwrap().location.unwrap();
    visit(&back).unwrap();
    let ended = login.end();
    shown.push_str(&ended.stdout);
    // The address itself must be shown, with the state in it.
    shown.push_str(&ended.stderr.replace(&url, ""));
    let mut client = gateway(&sandbox, &["--log-level", "debug"]);
    server.refuse_tokens();
    shown.push_str(&client.call("far__whoami", json!({})).to_string());
    server.forget_sign_ins();
    shown.push_str(&client.call("far__whoami", json!({})).to_string());
    for args in [&["status", "--json"][..], &["status"], &["get", "far", "--json"], &["list", "--json"]] {
        let ran = run(&sandbox, args);
        shown.push_str(&ran.stdout);
        shown.push_str(&ran.stderr);
    }
    for pid in sandbox.processes() {
        for file in ["cmdline", "environ"] {
            let bytes = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            shown.push_str(&String::from_utf8_lossy(&bytes));
        }
    }
    client.close_stdin();
    client.wait_exit(PATIENCE);
    shown.push_str(&client.stderr());
    let secrets = server.secrets();
    assert!(secrets.len() > 8, "{}", secrets.len());
    for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
        assert!(!shown.contains(secret.as_str()), "{secret} is seen in {shown}");
    }
}

// The button of the dashboard: nothing opens by itself, and the page hears when somebody has signed in.
#[test]
fn a_page_is_given_a_link_to_sign_in() {
    let (sandbox, server) = world();
    let token = "sixteen letters!";
    let config = json!({
        "mcpServers": {"far": {"url": server.url()}},
        "dashboard": {"enabled": true},
        "server": {"token": token},
    });
    let gateway = Gateway::start(&sandbox, &config, &[]);
    let bearer = format!("Bearer {token}");
    let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
    let ask = |method: &str, path: &str| {
        gateway.ask(method, path, &headers, if method == "GET" { "" } else { "{}" })
    };
    let refused = ask("POST", "/v1/servers/far/start");
    assert_eq!(refused.json()["error"]["code"], "sign-in", "{}", refused.text());
    let shown = ask("GET", "/v1/servers/far").json();
    assert_eq!((&shown["state"], &shown["signIn"]["state"]), (&json!("needs-login"), &json!("needs login")));
    let link = ask("POST", "/v1/servers/far/login").json();
    assert_eq!(link["host"], server.issuer().trim_start_matches("http://"), "{link}");
    let again = ask("POST", "/v1/servers/far/login").json();
    assert_eq!(again["url"], link["url"], "it is one login, however often it is asked for");
    assert_eq!(ask("GET", "/v1/servers/far").json()["signIn"]["state"], "login open");
    let back = visit(link["url"].as_str().unwrap()).unwrap().location.unwrap();
    assert_eq!(visit(&back).unwrap().status, 200);
    assert!(until(PATIENCE, || ask("GET", "/v1/servers/far").json()["state"] == "ready"));
    assert_eq!(ask("GET", "/v1/servers/far").json()["signIn"]["state"], "ready");
}

// Where our address is known, a browser on any machine comes back to the door itself, without a token of ours.
#[test]
fn a_browser_may_come_back_to_our_own_door() {
    let (sandbox, server) = world();
    let (token, base) = ("sixteen letters!", "https://tools.example");
    let config = json!({
        "mcpServers": {"far": {"url": server.url()}},
        "dashboard": {"enabled": true},
        "server": {"token": token, "publicUrl": base},
    });
    let gateway = Gateway::start(&sandbox, &config, &["--log-level", "trace"]);
    let bearer = format!("Bearer {token}");
    let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
    let ask = |method: &str, path: &str| {
        gateway.ask(method, path, &headers, if method == "GET" { "" } else { "{}" })
    };
    assert_eq!(ask("POST", "/v1/servers/far/start").json()["error"]["code"], "sign-in");
    let link = ask("POST", "/v1/servers/far/login").json();
    let back = visit(link["url"].as_str().unwrap()).unwrap().location.unwrap();
    let (address, query) = back.split_once('?').unwrap();
    let path = address.strip_prefix(base).unwrap_or_else(|| panic!("{back}"));
    assert!(path.starts_with("/oauth/callback/"), "{path}");
    let come = |path: &str, query: &str| gateway.ask("GET", &format!("{path}?{query}"), &[], "");
    for (path, query, status) in [
        ("/oauth/callback", query, 404),
        ("/oauth/callback/other", query, 404),
        (path, "code=marker&state=marker", 400),
        (path, "error=marker&state=marker&iss=marker", 400),
        (path, query.replace("iss=", "iss=marker").as_str(), 400),
    ] {
        let refused = come(path, query);
        assert_eq!(refused.status, status, "{path}?{query}: {}", refused.text());
        assert!(!refused.text().contains("marker"), "{}", refused.text());
    }
    assert_eq!(
        gateway.ask("POST", &format!("{path}?{query}"), &[("Content-Type", "application/json")], "{}").status,
        401
    );
    assert_eq!(server.count("code"), 0, "nobody was asked for a token");
    let page = come(path, query);
    assert_eq!(page.status, 200, "{}", page.text());
    assert_eq!(page.header("content-security-policy"), Some("default-src 'none'"));
    assert_eq!(
        (page.header("cache-control"), page.header("referrer-policy")),
        (Some("no-store"), Some("no-referrer"))
    );
    assert!(until(PATIENCE, || ask("GET", "/v1/servers/far").json()["state"] == "ready"));
    assert_eq!((come(path, query).status, server.count("code")), (404, 1), "nobody waits any more");
    for secret in server.secrets().iter().filter(|secret| !secret.is_empty()) {
        assert!(!gateway.client.stderr().contains(secret.as_str()), "{secret}");
    }
    // Who signs in by the command comes back to this machine, as before, and is registered for that.
    sign_in(&sandbox, &[]);
    assert_eq!(server.count("register"), 2);
}

// Row 21: the issuer answers nothing, and a refresh of another process waits for it.
#[test]
fn a_logout_ends_though_a_refresh_hangs() {
    let (sandbox, server) = world();
    server.set_life(0);
    sign_in(&sandbox, &[]);
    server.misbehave(Some(Misbehaviour::Hangs));
    let mut client = gateway(&sandbox, &[]);
    client.request("tools/call", json!({"name": "far__whoami", "arguments": {}}));
    assert!(until(PATIENCE, || server.heard("grant_type=refresh_token")));
    let began = Instant::now();
    let ended = run(&sandbox, &["logout", "far"]);
    figures::took("a logout while a refresh hangs", began.elapsed(), Duration::from_secs(5));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains("signed out of 'far' on this machine"), "{}", ended.stdout);
    assert!(ended.stderr.contains("did not answer in time"), "{}", ended.stderr);
    // Nobody is signed in, for good.
    server.misbehave(None);
    let refreshed = server.count("refresh");
    let mut other = gateway(&sandbox, &[]);
    let answer = other.call("far__whoami", json!({}));
    assert_eq!(answer["error"]["data"]["command"], "manifold login far", "{answer}");
    assert_eq!(server.count("refresh"), refreshed);
}
