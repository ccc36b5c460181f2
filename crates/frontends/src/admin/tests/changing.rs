//! Changes: who did what, and what came of it.

use manifold_admin::AuditOutcome;
use manifold_config::PermissionKind;
use serde_json::json;

use super::*;

#[tokio::test]
async fn every_change_is_a_line_also_one_that_is_refused() {
    let desk = desk();
    for route in ROUTES {
        let path = route.path.replace("{id}", "nothing");
        if matches!(path.as_str(), "/v1/events" | "/v1/traffic") {
            continue;
        }
        desk.ask(route.method.as_str(), &path, "{}").await;
        let lines = desk.lines();
        // Told before it is done, and again when it is refused.
        let told_twice = path == "/v1/daemon/upgrade";
        let expected = match route.effect {
            manifold_admin::Effect::Changes if told_twice => 2,
            manifold_admin::Effect::Changes => 1,
            _ => 0,
        };
        assert_eq!(lines.len(), expected, "{path}: {lines:?}");
        for line in lines {
            assert!(route.verbs.contains(&line.verb.as_str()), "{line:?}");
            assert_eq!(line.target.as_deref(), route.path.contains("{id}").then_some("nothing"), "{path}");
        }
    }
}

#[tokio::test]
async fn a_line_says_who_did_what_to_whom() {
    let desk = desk();
    let answer = desk.send(&request("POST", "/v1/servers/s/stop", "Manifold-Face: cli\r\n", None)).await;
    assert_eq!((answer.status, &answer.json()["id"]), (200, &json!("s")));
    let [line] = &desk.lines()[..] else { panic!("one line") };
    assert_eq!(
        (line.verb.as_str(), line.target.as_deref(), line.outcome),
        ("stop", Some("s"), AuditOutcome::Done)
    );
    assert_eq!(line.actor.face, "cli");
    assert_eq!(line.actor.pid, Some(std::process::id()));
    assert!(line.actor.uid.is_some() && line.actor.program.is_some(), "{line:?}");
    assert_eq!((line.digest.as_deref(), line.error.as_deref()), (None, None));
    assert!(line.time.ends_with('Z'), "{line:?}");
    desk.send(&request("POST", "/v1/servers/x/stop", "Manifold-Face: c\tli\r\n", None)).await;
    let [line] = &desk.lines()[..] else { panic!("one line") };
    assert_eq!((line.outcome, line.actor.face.as_str()), (AuditOutcome::Refused, "api"));
    assert!(line.error.as_ref().is_some_and(|error| error.contains("there is no server 'x'")), "{line:?}");
}

/// Several commands write the config as a whole: the audit has the word of the one that did.
#[tokio::test]
async fn a_line_has_the_word_of_the_command_that_asked() {
    let desk = desk();
    for (told, noted) in
        [("undo", "undo"), ("import", "import"), ("stop", "config edit"), ("", "config edit")]
    {
        let head = format!("Manifold-Verb: {told}\r\n");
        desk.send(&request("PUT", "/v1/config", &head, Some(r#"{"text":"x"}"#))).await;
        let [line] = &desk.lines()[..] else { panic!("one line") };
        assert_eq!(line.verb, noted);
    }
}

#[tokio::test]
async fn the_config_is_changed_for_the_revision_that_was_read() {
    let desk = desk();
    let read = desk.get("/v1/config").await;
    assert_eq!((read.header("etag"), &read.json()["text"]), (Some("\"r1\""), &json!("{}")));
    let put = request("PUT", "/v1/config", "If-Match: \"r1\"\r\n", Some(r#"{"text":"x"}"#));
    let changed = desk.send(&put).await;
    assert_eq!((changed.status, changed.header("etag")), (200, Some("\"r2\"")));
    let stale = desk.send(&put.replace("\"r1\"", "\"r0\"")).await;
    assert_eq!((stale.status, stale.code()), (412, "stale".to_owned()));
    let any = desk.send(&put.replace("\"r1\"", "*")).await;
    assert_eq!(any.status, 200);
    let edits = std::mem::take(&mut *lock(&desk.program.edits));
    let expected = ["r1", "r0"].map(|revision| Some(revision.to_owned()));
    assert_eq!(edits[..2].iter().map(|(_, expected)| expected.clone()).collect::<Vec<_>>(), expected);
    assert_eq!(edits[2], (Edit::Text("x".to_owned()), None));
    let lines = desk.lines();
    assert_eq!((lines[0].before.as_deref(), lines[0].after.as_deref()), (Some("r1"), Some("r2")));
    let digest = lines[0].digest.as_deref().unwrap();
    assert!(digest.len() == 64 && !lines.iter().any(|line| line.digest.as_deref() != Some(digest)));
    assert_eq!((lines[1].outcome, &lines[1].after), (AuditOutcome::Refused, &None));
    assert_eq!(
        desk.ask("POST", "/v1/config/check", r#"{"text":"bad"}"#).await.json()["refused"],
        "it is bad"
    );
}

#[tokio::test]
async fn entries_and_rules_are_edits() {
    let desk = desk();
    let entry = r#"{"command": "uvx",  "args": ["x"]}"#;
    assert_eq!(desk.ask("PUT", "/v1/config/servers/main%2Fgit", entry).await.status, 200);
    assert_eq!(desk.ask("PUT", "/v1/config/servers/git", "[]").await.status, 400);
    assert_eq!(desk.send(&request("DELETE", "/v1/config/servers/git", "", None)).await.status, 200);
    assert_eq!(desk.ask("POST", "/v1/config/servers/git/rename", r#"{"to":"vcs"}"#).await.status, 200);
    assert_eq!(desk.ask("POST", "/v1/config/servers/git/rename", "{}").await.status, 400);
    assert_eq!(desk.send(&request("POST", "/v1/servers/s/disable", "", None)).await.json()["id"], "s");
    let rule = r#"{"namespace":"n","server":"git","item":"prompt","name":"p","allow":false}"#;
    assert_eq!(desk.ask("PUT", "/v1/permissions", rule).await.status, 200);
    assert_eq!(desk.ask("PUT", "/v1/permissions", &rule.replace("prompt", "cake")).await.status, 400);
    assert_eq!(desk.ask("PUT", "/v1/permissions", &rule.replace("\"git\"", "\"\"")).await.status, 400);
    let edits: Vec<Edit> =
        std::mem::take(&mut *lock(&desk.program.edits)).into_iter().map(|(edit, _)| edit).collect();
    assert_eq!(
        edits,
        [
            Edit::PutServer { id: "main/git".to_owned(), entry: entry.to_owned() },
            Edit::RemoveServer { id: "git".to_owned() },
            Edit::RenameServer { id: "git".to_owned(), to: "vcs".to_owned() },
            Edit::SetEnabled { id: "s".to_owned(), enabled: false },
            Edit::SetPermission {
                namespace: "n".to_owned(),
                server: "git".to_owned(),
                kind: PermissionKind::Prompt,
                name: "p".to_owned(),
                allow: Some(false),
            },
        ]
    );
    let lines = desk.lines();
    let told: Vec<_> = lines.iter().map(|line| (line.verb.as_str(), line.target.as_deref())).collect();
    assert_eq!(
        told[..7],
        [
            ("add", Some("main/git")),
            ("add", Some("git")),
            ("remove", Some("git")),
            ("rename", Some("git to vcs")),
            ("rename", Some("git")),
            ("disable", Some("s")),
            ("ns deny", Some("n git.p")),
        ]
    );
}

#[tokio::test]
async fn orders_to_the_program_are_told_before_they_are_done() {
    let desk = desk();
    assert_eq!(desk.ask("POST", "/v1/daemon/stop", "").await.json()["pid"], 77);
    assert_eq!(desk.lines()[0].verb, "daemon stop");
    let refused = desk.ask("POST", "/v1/daemon/upgrade", "").await;
    assert_eq!(refused.json()["error"]["message"], "it is the same program");
    let outcomes: Vec<_> = desk.lines().iter().map(|line| line.outcome).collect();
    assert_eq!(outcomes, [AuditOutcome::Done, AuditOutcome::Refused]);
    assert_eq!(*lock(&desk.program.orders), [DaemonOrder::Stop, DaemonOrder::Upgrade]);
    let kept = desk.get("/v1/audit?lines=1").await.json();
    assert_eq!(kept, json!([]), "they were taken");
}

#[tokio::test]
async fn a_server_that_nobody_has_is_started_as_the_asker_would_have_it() {
    let desk = desk();
    let environment = "manifold-environment: {\"cwd\":\"/w\",\"values\":{}}\r\n";
    let opened = || std::mem::take(&mut *lock(&desk.program.opened));
    for (order, opens) in [("start", true), ("restart", true), ("stop", false), ("refresh", false)] {
        let path = format!("/v1/servers/s/{order}");
        desk.send(&request("POST", &path, environment, None)).await;
        let cwds: Vec<_> = opened().into_iter().map(|(_, client)| client.map(|client| client.cwd)).collect();
        assert_eq!(cwds, if opens { vec![Some("/w".to_owned())] } else { Vec::new() }, "{order}");
        desk.send(&request("POST", &path, "", None)).await;
        assert_eq!(opened(), [], "without the asker's environment it is the gateway's own");
    }
}

/// What is waited for is the link, and it comes at once.
#[tokio::test]
async fn a_login_is_answered_with_its_link_whether_it_is_waited_for_or_not() {
    let desk = desk();
    let waited_for = desk.ask("POST", "/v1/servers/s/login", "").await;
    let not = desk.ask("POST", "/v1/servers/s/login?wait=0", "").await;
    assert_eq!((not.status, not.json()), (waited_for.status, waited_for.json()));
    assert_ne!(not.status, 202);
}

#[tokio::test]
async fn an_order_that_nobody_waits_for_is_answered_at_once() {
    let desk = desk();
    desk.world.fake.has_slow_orders.store(true, Ordering::SeqCst);
    for wait in ["wait=0", "wait=false"] {
        let begun = desk.ask("POST", &format!("/v1/servers/s/restart?{wait}"), "").await;
        assert_eq!((begun.status, &begun.json()["id"]), (202, &json!("s")));
        assert_eq!(desk.lines(), [], "it is under way");
        assert_eq!(desk.held(), 1, "nothing ends meanwhile");
        desk.world.fake.let_order_end();
        becomes(|| !lock(&desk.program.lines).is_empty()).await;
        let [line] = &desk.lines()[..] else { panic!("one line") };
        assert_eq!((line.verb.as_str(), line.outcome), ("restart", AuditOutcome::Done));
        becomes(|| desk.held() == 0).await;
    }
    let unknown = desk.ask("POST", "/v1/servers/x/stop?wait=0", "").await;
    assert_eq!((unknown.status, unknown.code()), (404, "unknown-server".to_owned()));
    assert_eq!(desk.lines()[0].outcome, AuditOutcome::Refused);
    // One that is still under way when the program ends is told as given up.
    desk.ask("POST", "/v1/servers/s/stop?wait=0", "").await;
    desk.office.close(Duration::ZERO).await;
    becomes(|| !lock(&desk.program.lines).is_empty()).await;
    assert_eq!(desk.lines()[0].outcome, AuditOutcome::Refused);
    let late = desk.ask("POST", "/v1/servers/s/stop?wait=0", "").await;
    assert_eq!((late.status, late.code()), (503, "shutting-down".to_owned()));
}

#[test]
fn an_operator_is_told_the_command_that_starts_a_server() {
    let reason = "it was stopped; use the servers_start tool to start it".to_owned();
    let fault = manifold_protocol::Fault::NotRunning { server: "git".to_owned(), reason };
    let error = errors::of_call(&fault.into(), None);
    assert_eq!(error.message, "Server 'git' is not running: it was stopped");
    assert_eq!(error.hint.as_deref(), Some("`manifold start git` starts it"));
}
