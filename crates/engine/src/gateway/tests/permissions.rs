//! What policy hides is unknown, of every kind and by every way to it (T7).

use std::sync::Arc;

use manifold_protocol::dialect::modern;
use manifold_protocol::{Call, Caller, Kind, Method};

use crate::audience::Audience;
use crate::fake::{Asked, Listener, World, raw, show};
use crate::principal::Principal;

const OFFER: &str = r#"{"tools":[{"name":"look","_meta":{"ui":{"resourceUri":"ui://page"}}},{"name":"drop","_meta":{"ui":{"resourceUri":"ui://other"}}}],
    "prompts":[{"name":"greet"},{"name":"insult"}],
    "resources":[{"uri":"x://open"},{"uri":"x://shut"},{"uri":"ui://page"}],
    "resourceTemplates":[{"uriTemplate":"y://open/{id}"},{"uriTemplate":"y://shut/{id}"}],
    "capabilities":{"extensions":{"io.modelcontextprotocol/skills":{},"io.modelcontextprotocol/tasks":{}}}}"#;

/// One server of which a namespace denies all that these rules do not allow, and `drop` for good.
fn world(rules: &[&str]) -> World {
    let rules: Vec<String> = rules
        .iter()
        .map(|rule| format!(r#"{{"namespaceId":"n","serverId":"a","enabled":true,{rule}}}"#))
        .collect();
    let config = format!(
        r#"{{"servers":{{"a":{{"builtin":"time","deniedTools":["drop"]}}}},
            "namespaces":[{{"id":"n","serverIds":["a"],"denyByDefault":true}},{{"id":"all","serverIds":["a"]}}],
            "toolPermissions":[{}]}}"#,
        rules.join(",")
    );
    World::open(&config, Some("n"), Audience::Shared)
}

/// Every way to ask for something of the server's, with the name put into it.
const WAYS: [(&str, &str); 8] = [
    ("tools/call", r#"{"name":"NAME"}"#),
    ("tools/call", r#"{"name":"a__NAME"}"#),
    ("prompts/get", r#"{"name":"NAME"}"#),
    ("prompts/get", r#"{"name":"a__NAME"}"#),
    ("completion/complete", r#"{"ref":{"type":"ref/prompt","name":"NAME"},"argument":{}}"#),
    ("resources/read", r#"{"uri":"NAME"}"#),
    ("resources/subscribe", r#"{"uri":"NAME"}"#),
    ("completion/complete", r#"{"ref":{"type":"ref/resource","uri":"NAME"},"argument":{}}"#),
];

/// Asks for each of these in every way and returns what the server got of it.
async fn reached(world: &World, names: &[&str]) -> Vec<String> {
    for name in names {
        for (method, params) in WAYS {
            let hidden = world.call(method, &params.replace("NAME", name)).await;
            let unknown = world.call(method, &params.replace("NAME", "never-heard-of")).await;
            if hidden.starts_with("fault") {
                assert_eq!(hidden.replace(name, "never-heard-of"), unknown, "{method} {name}");
            }
        }
    }
    world.fake("a").calls()
}

const ALL: [&str; 10] = [
    "look",
    "drop",
    "greet",
    "insult",
    "x://open",
    "x://shut",
    "x://unlisted",
    "y://open/1",
    "y://shut/1",
    "skill://s",
];

// T7: `denyByDefault` still served resources and prompts.
#[tokio::test(start_paused = true)]
async fn with_deny_by_default_nothing_of_any_kind_is_served() {
    let world = world(&[]);
    world.fake("a").offers(OFFER);
    assert_eq!(reached(&world, &ALL).await, [""; 0], "while the lists are not known");
    assert_eq!(world.fake("a").discovered(), 1);
    for kind in Kind::ALL {
        assert_eq!(world.names(kind).await, [""; 0], "{kind:?}");
    }
    let more = ["y://open/{id}", "ui://page", "ui://other", "LOOK", "Drop"];
    assert_eq!(reached(&world, &ALL).await, [""; 0]);
    assert_eq!(reached(&world, &more).await, [""; 0]);
    for name in ["a.look", "a-look", "a__look", "A__look", "a__LOOK"] {
        let answer = world.call("tools/call", &format!(r#"{{"name":"{name}"}}"#)).await;
        assert!(answer.starts_with("fault") && answer.contains("not found"), "{name}: {answer}");
    }
    assert_eq!(world.fake("a").calls(), [""; 0]);
    assert_eq!(
        world.gateway.look_up("look", &Principal::Local).await.err().map(|fault| fault.message()).unwrap(),
        "Tool 'look' not found"
    );
}

#[tokio::test(start_paused = true)]
async fn each_kind_is_allowed_by_rules_that_name_it() {
    let world = world(&[
        r#""toolName":"look""#,
        r#""toolName":"drop""#,
        r#""promptName":"greet""#,
        r#""resourceUri":"x://open""#,
        r#""resourceUri":"y://open/{id}""#,
    ]);
    world.fake("a").offers(OFFER);
    assert_eq!(world.names(Kind::Tools).await, ["a__look"]);
    assert_eq!(world.names(Kind::Prompts).await, ["a__greet"]);
    assert_eq!(world.names(Kind::Resources).await, ["x://open"]);
    assert_eq!(world.names(Kind::Templates).await, ["y://open/{id}"]);
    assert_eq!(
        reached(&world, &ALL).await,
        [
            r#"tools/call {"name":"look"}"#,
            r#"tools/call {"name":"look"}"#,
            r#"prompts/get {"name":"greet"}"#,
            r#"prompts/get {"name":"greet"}"#,
            r#"completion/complete {"ref":{"type":"ref/prompt","name":"greet"},"argument":{}}"#,
            r#"resources/read {"uri":"x://open"}"#,
            r#"resources/subscribe {"uri":"x://open"}"#,
            r#"completion/complete {"ref":{"type":"ref/resource","uri":"x://open"},"argument":{}}"#,
            r#"resources/read {"uri":"y://open/1"}"#,
            r#"resources/subscribe {"uri":"y://open/1"}"#,
            r#"completion/complete {"ref":{"type":"ref/resource","uri":"y://open/1"},"argument":{}}"#,
        ]
    );
    assert!(
        world.call("resources/read", r#"{"uri":"ui://page"}"#).await.contains("ui://page"),
        "a tool's own page"
    );
    assert!(world.call("resources/read", r#"{"uri":"ui://other"}"#).await.starts_with("fault"));
    assert_eq!(world.control.servers()[0].tool_count, 1, "the manager tools tell of no more");
}

// B1: parsers drop tabs and line breaks, and decode more than once; only what is listed is meant as it stands
#[tokio::test(start_paused = true)]
async fn a_uri_that_can_be_read_in_two_ways_is_unknown_where_there_are_rules() {
    let offer = r#"{"resources":[{"uri":"f:///pub/../odd"},{"uri":"f:///pub/./pub/tab"}],"resourceTemplates":[{"uriTemplate":"f:///{+path}"}],
        "capabilities":{"resources":{},"extensions":{"io.modelcontextprotocol/skills":{}}}}"#;
    let made_up = [
        r"f:///pub/.\t./etc/x",
        r"f:///pub/.\n./etc/x",
        r"f:///pub/.\r./etc/x",
        r"f:///pub/%2e%09%2e/x",
        "f:///pub/%252e%252e/x",
        r"f:///pub/..\\etc",
        "f:///pub/%5c",
        "f:///pub/a%",
        r"f:///pub/a\u0000",
        "f:///pub/..;/etc",
        "f:///pub/./a",
    ];
    let world = world(&[r#""resourceUri":"f:///pub/{+path}""#]);
    world.fake("a").publish(offer);
    for uri in made_up {
        for (method, params) in &WAYS[5..] {
            let answer = world.call(method, &params.replace("NAME", uri)).await;
            assert!(answer.starts_with("fault") && answer.contains("not found"), "{method} {uri}: {answer}");
        }
    }
    assert_eq!(world.fake("a").calls(), [""; 0]);
    world.call("resources/read", r#"{"uri":"f:///pub/./pub/tab"}"#).await;
    world.call("resources/read", r#"{"uri":"f:///pub/../odd"}"#).await;
    world.call("resources/read", r#"{"uri":"f:///pub/plain%20name"}"#).await;
    assert_eq!(
        world.fake("a").calls(),
        [
            r#"resources/read {"uri":"f:///pub/./pub/tab"}"#,
            r#"resources/read {"uri":"f:///pub/plain%20name"}"#
        ]
    );
    let open = world.also("all");
    for uri in made_up {
        let passed = open.call("resources/read", &format!(r#"{{"uri":"{uri}"}}"#)).await;
        assert!(!passed.starts_with("fault"), "{uri}: {passed}");
    }
}

// B1: a folder is read by its address, too
#[tokio::test(start_paused = true)]
async fn a_folder_that_can_be_read_in_two_ways_is_unknown_where_there_are_rules() {
    let config = r#"{"servers":{"a":{"builtin":"time"}},"namespaces":[{"id":"n","serverIds":["a"]}],
        "toolPermissions":[{"namespaceId":"n","serverId":"a","resourceUri":"x://shut/{+path}","enabled":false}]}"#;
    let world = World::open(config, Some("n"), Audience::Shared);
    world.fake("a").publish(OFFER);
    for uri in [r"x://sh\tut/", "x://open/%252e%252e/", "x://shut/a"] {
        let asked = extension(&world, "resources/directory/read", &format!(r#"{{"uri":"{uri}"}}"#));
        assert!(asked.reply.await.unwrap().is_err(), "{uri}");
    }
    assert_eq!(world.fake("a").calls(), [""; 0]);
    let asked = extension(&world, "resources/directory/read", r#"{"uri":"x://open/"}"#);
    assert!(asked.reply.await.unwrap().is_ok());
}

fn extension(world: &World, method: &str, params: &str) -> Asked {
    let (exchange, asked) = Asked::open(None);
    let mut call =
        Call::new(Method::from(manifold_protocol::envelope::MethodName::from(method)), Some(raw(params)));
    call.caller = Some(Arc::new(Caller { retries: true, ..caller() }));
    world.gateway.dispatch(call, exchange);
    asked
}

fn caller() -> Caller {
    let meta = raw(
        r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}"#,
    );
    modern::open(Some(meta)).unwrap().1
}

#[tokio::test(start_paused = true)]
async fn what_no_rule_can_name_is_served_where_all_is() {
    let asked = [
        ("skills/list", "{}"),
        ("skills/get", r#"{"uri":"skill://s"}"#),
        ("resources/directory/read", r#"{"uri":"x://shut"}"#),
    ];
    let world = world(&[r#""resourceUri":"*""#]);
    world.fake("a").publish(OFFER);
    for (method, params) in asked {
        let answer = show(&extension(&world, method, params).reply.await.unwrap());
        assert_eq!(answer, format!(r#"fault {{"code":-32601,"message":"Method '{method}' not found"}}"#));
    }
    assert_eq!(world.fake("a").calls(), [""; 0]);
    let declared = |world: &World| world.gateway.introduction().extensions.into_raw();
    assert_eq!(declared(&world).as_str(), r#"{"io.modelcontextprotocol/tasks":{}}"#);
    let open = world.also("all");
    for (method, params) in asked {
        assert!(extension(&open, method, params).reply.await.unwrap().is_ok(), "{method}");
    }
    assert!(declared(&open).as_str().contains("skills"));
}

// A client alone hears of every update, but not of what its namespace hides.
#[tokio::test]
async fn updates_of_what_is_hidden_are_not_told() {
    let world = world(&[r#""resourceUri":"x://open""#]);
    world.fake("a").publish(OFFER);
    let heard = Arc::new(Listener::default());
    world.gateway.attach(Arc::clone(&heard) as _);
    let fake = world.fake("a");
    let (key, host) = fake.host();
    for uri in ["x://open", "x://shut"] {
        host.notice(key, "notifications/resources/updated", Some(raw(&format!(r#"{{"uri":"{uri}"}}"#))));
    }
    assert_eq!(heard.take(), [r#"notifications/resources/updated {"uri":"x://open"}"#]);
}
