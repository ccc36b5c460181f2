use std::sync::Arc;

use expect_test::expect;
use manifold_protocol::{Caller, Failure, Fault, Raw};

use crate::audience::Audience;
use crate::fake::{Asked, Listener, World, call, raw, servers, tools};
use crate::principal::Principal;
use crate::upstream::Phase;

fn world(settings: &str) -> World {
    let world = World::new(&servers(&["a", "b"], settings));
    world.fake("a").publish(
        r#"{"tools":[{"name":"search","inputSchema":{"type":"object","required":["query"],"properties":{"query":{"type":"string"}}}}],
            "prompts":[{"name":"greet"}],"resources":[{"uri":"a://1"}],"resourceTemplates":[{"uriTemplate":"a://{id}"}],
            "capabilities":{"logging":{}}}"#,
    );
    world.fake("b").publish(r#"{"tools":[{"name":"x"}],"prompts":[{"name":"greet"}]}"#);
    world
}

#[tokio::test(start_paused = true)]
async fn every_method_finds_its_way() {
    let world = world("");
    let calls = [
        ("ping", "{}"),
        ("tools/call", r#"{"name":"a__search","arguments":{ "q" : 1.0 },"_meta":{"k":1}}"#),
        ("prompts/get", r#"{"name":"b__greet"}"#),
        ("resources/read", r#"{"uri":"a://1"}"#),
        ("resources/subscribe", r#"{"uri":"a://1"}"#),
        ("resources/unsubscribe", r#"{"uri":"a://1"}"#),
        (
            "completion/complete",
            r#"{"ref":{"type":"ref/prompt","name":"a__greet"},"argument":{"name":"n","value":"v"}}"#,
        ),
        ("logging/setLevel", r#"{"level":"info"}"#),
        ("initialize", "{}"),
        ("shutdown", "{}"),
        ("sampling/createMessage", "{}"),
        ("elicitation/create", "{}"),
        ("roots/list", "{}"),
        ("server/discover", "{}"),
        ("invalid/method", "{}"),
    ];
    let mut text = String::new();
    for (method, params) in calls {
        text += &format!("{method}: {}\n", world.call(method, params).await);
    }
    expect![[r#"
        ping: {}
        tools/call: {"by":"a","sent":{"name":"search","arguments":{ "q" : 1.0 },"_meta":{"k":1}}}
        prompts/get: {"by":"b","sent":{"name":"greet"}}
        resources/read: {"by":"a","sent":{"uri":"a://1"}}
        resources/subscribe: {"by":"a","sent":{"uri":"a://1"}}
        resources/unsubscribe: {"by":"a","sent":{"uri":"a://1"}}
        completion/complete: {"by":"a","sent":{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"n","value":"v"}}}
        logging/setLevel: {}
        initialize: fault {"code":-32601,"message":"Method 'initialize' not found"}
        shutdown: fault {"code":-32601,"message":"Method 'shutdown' not found"}
        sampling/createMessage: fault {"code":-32601,"message":"Method 'sampling/createMessage' not found"}
        elicitation/create: fault {"code":-32601,"message":"Method 'elicitation/create' not found"}
        roots/list: fault {"code":-32601,"message":"Method 'roots/list' not found"}
        server/discover: fault {"code":-32601,"message":"Method 'server/discover' not found"}
        invalid/method: fault {"code":-32601,"message":"Method 'invalid/method' not found"}
    "#]].assert_eq(&text);
}

// The payload is never opened: what a server answers, result or error, passes as it is (decision 15).
#[tokio::test]
async fn a_server_s_own_error_passes_untouched() {
    let world = world("");
    world.fake("a").answers(|_| {
        Some(Err(Failure::Peer(Raw::from_static(r#"{ "code": -32042.0, "message":"x", "data":[ 1 ] }"#))))
    });
    let answer = world.call("tools/call", r#"{"name":"a__search"}"#).await;
    assert_eq!(answer, r#"peer { "code": -32042.0, "message":"x", "data":[ 1 ] }"#);
}

#[tokio::test]
async fn names_that_are_no_text_are_refused() {
    let world = world("");
    let mut text = String::new();
    for (method, params) in [
        ("tools/call", "{}"),
        ("tools/call", r#"{"name":7}"#),
        ("prompts/get", r#"{"name":null}"#),
        ("resources/read", r#"{"uri":[]}"#),
        ("completion/complete", "{}"),
        ("completion/complete", r#"{"ref":{"type":"ref/other"}}"#),
        ("completion/complete", r#"{"ref":{"type":"ref/prompt"}}"#),
        ("completion/complete", r#"{"ref":{"type":"ref/resource","uri":"z://none"}}"#),
        ("logging/setLevel", r#"{"level":"loud"}"#),
        ("logging/setLevel", "{}"),
    ] {
        text += &format!("{method} {params}: {}\n", world.call(method, params).await);
    }
    expect![[r#"
        tools/call {}: fault {"code":-32602,"message":"Invalid params: `name` must be the name of a tool"}
        tools/call {"name":7}: fault {"code":-32602,"message":"Invalid params: `name` must be the name of a tool"}
        prompts/get {"name":null}: fault {"code":-32602,"message":"Invalid params: `name` must be the name of a prompt"}
        resources/read {"uri":[]}: fault {"code":-32602,"message":"Invalid params: `uri` must be the address of a resource"}
        completion/complete {}: fault {"code":-32602,"message":"Invalid params: `ref` must name a prompt or a resource"}
        completion/complete {"ref":{"type":"ref/other"}}: fault {"code":-32602,"message":"Invalid params: `ref.type` must be `ref/prompt` or `ref/resource`"}
        completion/complete {"ref":{"type":"ref/prompt"}}: fault {"code":-32602,"message":"Prompt '' not found"}
        completion/complete {"ref":{"type":"ref/resource","uri":"z://none"}}: fault {"code":-32002,"message":"Resource 'z://none' not found","data":{"uri":"z://none"}}
        logging/setLevel {"level":"loud"}: fault {"code":-32602,"message":"Invalid params: `level` must be one of debug, info, notice, warning, error, critical, alert, emergency"}
        logging/setLevel {}: fault {"code":-32602,"message":"Invalid params: `level` must be one of debug, info, notice, warning, error, critical, alert, emergency"}
    "#]].assert_eq(&text);
}

#[tokio::test]
async fn calls_carry_their_target_and_time_limit() {
    let check = |front, settings: &str, server: &str| {
        let config =
            format!(r#"{{"mcpServers":{{"a":{{"builtin":"time"{server}}}}},"callTimeout":7000{settings}}}"#);
        let world = World::open(&config, None, front);
        let fake = world.fake("a");
        fake.publish(&tools(&["x"]));
        fake.holds();
        let _asked = world.ask(None, "tools/call", r#"{"name":"a__x"}"#);
        let _other = world.ask(None, "resources/read", r#"{"uri":"x://y"}"#);
        let held = fake.held();
        let target = held[0].1.target().unwrap();
        assert_eq!((target.server.as_str(), target.tool.as_deref()), ("a", Some("x")));
        target.timeout.as_secs()
    };
    // Decision 25
    let stdio = r#","cli":{"stdio":{"timeout":9000}}"#;
    assert_eq!(check(Audience::Shared, "", ""), 7);
    assert_eq!(check(Audience::Shared, stdio, ""), 7);
    assert_eq!(check(Audience::One, stdio, ""), 9);
    assert_eq!(check(Audience::One, stdio, r#","timeout":2000"#), 2);
}

// Decision 13
#[tokio::test(start_paused = true)]
async fn arguments_are_checked_before_anything_is_sent() {
    let world = world(r#""validateArguments":"required""#);
    let answer = world.call("tools/call", r#"{"name":"a__search","arguments":{}}"#).await;
    expect![[r#"fault {"code":-32602,"message":"Invalid params: Missing required parameter 'query'","data":{"parameter":"query","field":"query","issue":"Required field missing"}}"#]].assert_eq(&answer);
    assert_eq!(world.fake("a").calls(), [""; 0]);
    world.call("tools/call", r#"{"name":"a__search","arguments":{"query":7}}"#).await;
    assert_eq!(world.fake("a").calls(), [r#"tools/call {"name":"search","arguments":{"query":7}}"#]);
}

#[tokio::test(start_paused = true)]
async fn full_checking_reads_the_schema() {
    let world = world(r#""validateArguments":"full""#);
    let answer = world.call("tools/call", r#"{"name":"a__search","arguments":{"query":7}}"#).await;
    expect![[r#"fault {"code":-32602,"message":"Invalid params: 'query' of 'a__search': 7 is not of type \"string\"","data":{"parameter":"query","field":"query","issue":"7 is not of type \"string\"","toolName":"a__search"}}"#]].assert_eq(&answer);
    assert_eq!(world.fake("a").calls(), [""; 0]);
}

// Decision 13, decision 18: the list of the one server is read first, that of others is not waited for.
#[tokio::test(start_paused = true)]
async fn an_unknown_list_is_read_before_arguments_are_checked() {
    let world = World::new(&servers(&["a", "slow"], r#""validateArguments":"required""#));
    world.fake("a").offers(r#"{"tools":[{"name":"search","inputSchema":{"required":["query"]}}]}"#);
    world.fake("slow").takes(std::time::Duration::from_secs(60));
    let answer = world.call("tools/call", r#"{"name":"a__search"}"#).await;
    assert!(answer.contains("Missing required parameter 'query'"), "{answer}");
    world.call("tools/call", r#"{"name":"a__search","arguments":{"query":1}}"#).await;
    assert_eq!(world.fake("a").discovered(), 1, "the list is read once");
    assert_eq!(world.fake("slow").discovered(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_hashed_name_is_read_back_before_the_list_was_asked_for() {
    let world = World::new(&servers(&["a"], ""));
    world.fake("a").publish(&tools(&["sp ace"]));
    let name = world.names(manifold_protocol::Kind::Tools).await[0].clone();
    world.fake("a").vanish(Phase::Idle);
    world.fake("a").offers(&tools(&["sp ace"]));
    let answer = world.call("tools/call", &format!(r#"{{"name":"{name}"}}"#)).await;
    assert_eq!(answer, r#"{"by":"a","sent":{"name":"sp ace"}}"#);
}

// S1-24, decision 15
#[tokio::test(start_paused = true)]
async fn a_call_goes_straight_to_a_server_that_sleeps() {
    let world = World::new(&servers(&["a", "b"], ""));
    let answer = world.call("tools/call", r#"{"name":"a__any"}"#).await;
    assert_eq!(answer, r#"{"by":"a","sent":{"name":"any"}}"#);
    assert_eq!(world.fake("a").discovered() + world.fake("b").discovered(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_failed_server_says_itself_why() {
    let world = World::new(&servers(&["a"], r#""validateArguments":"required""#));
    world.fake("a").offers_nothing();
    world.fake("a").refuses();
    let answer = world.call("tools/call", r#"{"name":"a__any"}"#).await;
    assert_eq!(answer, r#"peer {"code":-32002,"message":"mine"}"#);
}

const GUARDED: &str = r#"{"servers":{"a":{"builtin":"time","deniedTools":["drop"]},"b":{"builtin":"time"},"other":{"builtin":"time"}},
    "namespaces":[{"id":"n","serverIds":["a","b"],"denyByDefault":false,"serverDefaults":{"b":true}}],
    "toolPermissions":[{"namespaceId":"n","serverId":"a","toolName":"write","enabled":false},
        {"namespaceId":"n","serverId":"b","toolName":"look","enabled":true}]}"#;

// B5: a server may trim names or fold their case, so where some are denied only listed ones reach it
#[tokio::test(start_paused = true)]
async fn where_tools_are_denied_only_listed_names_are_called() {
    let names = [
        r"drop\u0000",
        "drop ",
        " drop",
        r"\tdrop",
        "DROP",
        r"dro\u200bp",
        r"wri\u0074e ",
        r"\u017fecret",
        "none",
    ];
    let world = World::open(GUARDED, Some("n"), Audience::Shared);
    world.fake("a").offers(&tools(&["read", "drop", "write", "secret"]));
    for name in names {
        let answer = world.call("tools/call", &format!(r#"{{"name":"a__{name}"}}"#)).await;
        assert!(answer.starts_with("fault") && answer.contains("not found"), "{name}: {answer}");
    }
    assert_eq!((world.fake("a").calls(), world.fake("a").discovered()), (vec![], 1));
    world.call("tools/call", r#"{"name":"a__read"}"#).await;
    assert_eq!(world.fake("a").calls(), [r#"tools/call {"name":"read"}"#]);
}

// B5: a list that cannot be had lets nothing through, and the caller hears why
#[tokio::test(start_paused = true)]
async fn where_tools_are_denied_and_no_list_is_had_nothing_is_called() {
    let world = World::open(GUARDED, Some("n"), Audience::Shared);
    world.fake("a").offers_nothing();
    let answer = world.call("tools/call", r#"{"name":"a__read"}"#).await;
    assert!(answer.contains("its tools are not known yet"), "{answer}");
    assert_eq!(world.fake("a").calls(), [""; 0]);
    // A call has one that failed tried again, as any other.
    world.fake("a").vanish(Phase::Failed(Fault::NotRunning { server: "a".into(), reason: "dead".into() }));
    world.fake("a").offers(&tools(&["read"]));
    world.call("tools/call", r#"{"name":"a__read"}"#).await;
    assert_eq!(world.fake("a").calls(), ["ping ", r#"tools/call {"name":"read"}"#]);
}

// S1-16: hidden and unknown answer alike, listed or not.
#[tokio::test(start_paused = true)]
async fn what_policy_hides_is_unknown() {
    let world = World::open(GUARDED, Some("n"), Audience::Shared);
    let hidden = ["a__drop", "a__write", "b__touch", "a.drop", "touch", "other__x"];
    let mut early = Vec::new();
    for name in hidden {
        early.push(world.call("tools/call", &format!(r#"{{"name":"{name}"}}"#)).await);
    }
    world.fake("a").publish(&tools(&["read", "write", "drop"]));
    world.fake("b").publish(&tools(&["look", "touch"]));
    world.fake("other").publish(&tools(&["x"]));
    assert_eq!(world.names(manifold_protocol::Kind::Tools).await, ["a__read", "b__look"]);
    let mut text = String::new();
    for (name, early) in hidden.into_iter().zip(early) {
        let answer = world.call("tools/call", &format!(r#"{{"name":"{name}"}}"#)).await;
        assert_eq!(answer, early, "the same before and after the list is known");
        text += &format!("{name}: {answer}\n");
    }
    text += &format!("a__none: {}\n", world.call("tools/call", r#"{"name":"a__none"}"#).await);
    expect![[r#"
        a__drop: fault {"code":-32601,"message":"Tool 'drop' not found on server 'a'","data":{"serverId":"a","service":"a","toolName":"drop"}}
        a__write: fault {"code":-32601,"message":"Tool 'write' not found on server 'a'","data":{"serverId":"a","service":"a","toolName":"write"}}
        b__touch: fault {"code":-32601,"message":"Tool 'touch' not found on server 'b'","data":{"serverId":"b","service":"b","toolName":"touch"}}
        a.drop: fault {"code":-32601,"message":"Tool 'drop' not found on server 'a'","data":{"serverId":"a","service":"a","toolName":"drop"}}
        touch: fault {"code":-32601,"message":"Tool 'touch' not found"}
        other__x: fault {"code":-32000,"message":"Server 'other' not found: no configured server offers 'x'","data":{"serverId":"other","toolName":"x"}}
        a__none: fault {"code":-32601,"message":"Tool 'none' not found on server 'a'","data":{"serverId":"a","service":"a","toolName":"none"}}
    "#]].assert_eq(&text);
    assert_eq!(
        [world.fake("a"), world.fake("b"), world.fake("other")].map(|fake| fake.calls().len()),
        [0, 0, 0]
    );
}

#[tokio::test]
async fn manager_tools_are_never_hidden() {
    let config = GUARDED.replace(r#""denyByDefault":false"#, r#""denyByDefault":true"#);
    let world = World::open(&config, Some("n"), Audience::One);
    assert!(
        world.call("tools/call", r#"{"name":"manifold__servers_list"}"#).await.contains(r#""by":"manager""#)
    );
}

#[tokio::test(start_paused = true)]
async fn prompts_are_fetched_under_their_own_names() {
    let world = world("");
    assert_eq!(
        world.call("prompts/get", r#"{"name":"b__greet","arguments":{"x":"y"}}"#).await,
        r#"{"by":"b","sent":{"name":"greet","arguments":{"x":"y"}}}"#
    );
    assert_eq!(
        world.call("prompts/get", r#"{"name":"greet"}"#).await,
        r#"fault {"code":-32602,"message":"Prompt 'greet' not found"}"#
    );
}

#[tokio::test(start_paused = true)]
async fn an_unknown_prompt_is_looked_for_in_servers_not_listed_yet() {
    let world = World::new(&servers(&["a"], ""));
    world.fake("a").offers(r#"{"prompts":[{"name":"late"}]}"#);
    assert_eq!(
        world.call("prompts/get", r#"{"name":"a__late"}"#).await,
        r#"{"by":"a","sent":{"name":"late"}}"#
    );
}

#[tokio::test(start_paused = true)]
async fn completion_goes_to_the_owner_under_its_own_name() {
    let world = world("");
    let ask = async |reference: &str| {
        world
            .call(
                "completion/complete",
                &format!(r#"{{"ref":{reference},"argument":{{"name":"n","value":"v"}}}}"#),
            )
            .await
    };
    let mut text = String::new();
    for reference in [
        r#"{"type":"ref/prompt","name":"b__greet","title":"kept"}"#,
        r#"{"type":"ref/resource","uri":"a://{id}"}"#,
        r#"{"type":"ref/resource","uri":"a://1"}"#,
        r#"{"type":"ref/prompt","name":"nobody__greet"}"#,
    ] {
        text += &format!("{}\n", ask(reference).await);
    }
    expect![[r#"
        {"by":"b","sent":{"ref":{"type":"ref/prompt","name":"greet","title":"kept"},"argument":{"name":"n","value":"v"}}}
        {"by":"a","sent":{"ref":{"type":"ref/resource","uri":"a://{id}"},"argument":{"name":"n","value":"v"}}}
        {"by":"a","sent":{"ref":{"type":"ref/resource","uri":"a://1"},"argument":{"name":"n","value":"v"}}}
        fault {"code":-32602,"message":"Prompt 'nobody__greet' not found"}
    "#]].assert_eq(&text);
}

#[tokio::test]
async fn a_log_level_goes_to_every_server_that_logs_and_stands_for_all() {
    let world = World::new(&servers(&["logs", "mute", "asleep"], ""));
    world.fake("logs").publish(r#"{"tools":[],"capabilities":{"logging":{}}}"#);
    world.fake("mute").publish(r#"{"tools":[]}"#);
    world.fake("logs").refuses();
    assert_eq!(
        world.call("logging/setLevel", r#"{"level":"warning"}"#).await,
        "{}",
        "one refusal changes nothing"
    );
    assert_eq!(world.fake("logs").calls(), [r#"logging/setLevel {"level":"warning"}"#]);
    assert_eq!(world.fake("mute").calls(), [""; 0]);
    assert_eq!(world.fake("asleep").calls(), [""; 0]);
    for id in ["logs", "mute", "asleep"] {
        let fake = world.fake(id);
        let (key, host) = fake.host();
        assert_eq!(host.standing(key).log_level, Some(raw(r#"{"level":"warning"}"#)), "{id}");
    }
}

#[tokio::test]
async fn each_client_hears_the_level_it_asked_for() {
    let world = World::new(&servers(&["logs"], ""));
    world.fake("logs").publish(r#"{"tools":[],"capabilities":{"logging":{}}}"#);
    let (curious, calm) = (Arc::new(Listener::default()), Arc::new(Listener::default()));
    let first = world.gateway.attach(Arc::clone(&curious) as _);
    let second = world.gateway.attach(Arc::clone(&calm) as _);
    world.call_as(first, "logging/setLevel", r#"{"level":"debug"}"#).await;
    world.call_as(second, "logging/setLevel", r#"{"level":"error"}"#).await;
    let told = [r#"logging/setLevel {"level":"debug"}"#; 2];
    assert_eq!(world.fake("logs").calls(), told, "the server says as much as the most curious one wants");
    let fake = world.fake("logs");
    let (key, host) = fake.host();
    for level in ["debug", "error", "odd"] {
        host.notice(key, "notifications/message", Some(raw(&format!(r#"{{"level":"{level}","data":1}}"#))));
    }
    let heard = |listener: &Listener| listener.take().len();
    assert_eq!((heard(&curious), heard(&calm)), (3, 2));
}

#[tokio::test]
async fn what_one_call_wants_to_hear_floods_nobody_else() {
    let world = World::new(&servers(&["logs"], ""));
    world.fake("logs").publish(r#"{"tools":[],"capabilities":{"logging":{}}}"#);
    let listener = Arc::new(Listener::default());
    let other = world.gateway.attach(listener.clone());
    let fake = world.fake("logs");
    let (key, host) = fake.host();
    let heard = || {
        for level in ["debug", "info", "warning"] {
            host.notice(key, "notifications/message", Some(raw(&format!(r#"{{"level":"{level}"}}"#))));
        }
        listener.take().len()
    };
    assert_eq!(heard(), 3, "what a server says of itself");
    let caller = Caller {
        capabilities: raw("{}"),
        info: None,
        log_level: Some(raw(r#""debug""#)),
        retries: true,
        is_retry: false,
        words: Default::default(),
    };
    let (exchange, asked) = Asked::open(None);
    world.gateway.dispatch(call("tools/list", "{}").by(Arc::new(caller)), exchange);
    asked.reply.await.unwrap().unwrap();
    assert_eq!(fake.calls(), [r#"logging/setLevel {"level":"debug"}"#]);
    assert_eq!(heard(), 2, "as if the call had not been");
    let curious = world.gateway.attach(Arc::new(Listener::default()));
    world.call_as(curious, "logging/setLevel", r#"{"level":"warning"}"#).await;
    assert_eq!(heard(), 1, "as much as sessions asked for");
    world.call_as(other, "logging/setLevel", r#"{"level":"debug"}"#).await;
    assert_eq!(heard(), 3);
}

#[tokio::test]
async fn notices_of_servers_reach_every_client() {
    let world = world("");
    let listeners = [Arc::new(Listener::default()), Arc::new(Listener::default())];
    for listener in &listeners {
        world.gateway.attach(Arc::clone(listener) as _);
    }
    let fake = world.fake("a");
    let (key, host) = fake.host();
    host.notice(key, "notifications/message", Some(raw(r#"{"level":"info","data":1}"#)));
    for listener in &listeners {
        assert_eq!(listener.take(), [r#"notifications/message {"level":"info","data":1}"#]);
    }
}

#[tokio::test]
async fn what_a_client_tells_servers_reaches_all_of_them() {
    let world = world("");
    world.gateway.tell_servers("notifications/roots/list_changed", None);
    for id in ["a", "b"] {
        assert_eq!(world.fake(id).notified(), ["notifications/roots/list_changed"]);
    }
}

// Decision 27: only servers that may have the tool are asked for their lists.
#[tokio::test(start_paused = true)]
async fn a_tool_is_looked_up_under_any_of_its_names() {
    let world = World::new(&servers(&["a", "slow"], ""));
    world.fake("a").offers(r#"{"tools":[{"name":"search","inputSchema":{"required":["query"]}}]}"#);
    world.fake("slow").takes(std::time::Duration::from_secs(60));
    let found = world.gateway.look_up("a__search", &Principal::Local).await.ok().unwrap();
    assert_eq!(world.fake("slow").discovered(), 0);
    assert_eq!(
        (found.exposed_name.as_str(), found.input_schema.as_str()),
        ("a__search", r#"{"required":["query"]}"#)
    );
    assert_eq!(found.definition().unwrap().get("name"), Some(raw(r#""a__search""#)));
    assert_eq!(
        world.gateway.look_up("search", &Principal::Local).await.ok().unwrap().exposed_name,
        "a__search"
    );
    let missing = world.gateway.look_up("a__other", &Principal::Local).await.err().unwrap();
    assert_eq!(missing.message(), "Tool 'other' not found on server 'a'");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_lists_nothing_says_why() {
    let world = World::new(&servers(&["a"], ""));
    world.fake("a").offers_nothing();
    let why = world.gateway.look_up("a__any", &Principal::Local).await.err().unwrap();
    assert!(why.message().contains("Server 'a'"), "{}", why.message());
    assert_eq!(world.fake("a").calls(), [""; 0], "it is not called to find out");
}
