use std::sync::Arc;

use expect_test::expect;
use manifold_protocol::{Answer, Call, Caller, Kind, Mark, Raw, Scope, notification};

use crate::fake::{Asked, Listener, World, call, raw, servers, show, tools};
use crate::{AnswerStep, ClientId, Principal, Requester};

/// What the exchange would have done is done by its description, too.
#[tokio::test(start_paused = true)]
async fn an_answer_of_another_process_is_finished_alike() {
    let world = World::new(&servers(&["a"], ""));
    let step = AnswerStep::NameTask { server: "a".to_owned(), is_shared: true };
    let rename = AnswerStep::RenameContents { original: "x:".to_owned(), exposed: "y:".to_owned() };
    let finish = |step: &AnswerStep, answer: Answer| {
        show(&world.gateway.finish_answer(std::slice::from_ref(step), &Principal::Local, Ok(answer)))
    };
    let task = Answer::marked(raw(r#"{"resultType":"task","taskId":"t.1"}"#), Mark::Extension);
    assert_eq!(finish(&step, task), r#"{"taskId":"a.t.1"}"#);
    let other = Principal::Token("other".into());
    assert!(!world.gateway.task_owners.permits("a.t.1", &other), "it has an owner");
    let read = raw(r#"{"contents":[{"uri":"x:"}]}"#);
    assert_eq!(finish(&rename, read.into()), r#"{"contents":[{"uri":"y:"}]}"#);
    let expose = AnswerStep::ExposeTask { server: "a".to_owned() };
    assert_eq!(finish(&expose, raw(r#"{"taskId":"t"}"#).into()), r#"{"taskId":"a.t"}"#);
}

/// A caller that comes back, with these capabilities.
fn caller(capabilities: &str) -> Arc<Caller> {
    Arc::new(Caller {
        capabilities: raw(capabilities),
        info: None,
        log_level: None,
        retries: true,
        is_retry: false,
        words: Default::default(),
    })
}

fn ask(world: &World, call: Call) -> Asked {
    let (exchange, asked) = Asked::open(None);
    world.gateway.dispatch(call, exchange);
    asked
}

async fn answer(world: &World, call: Call) -> String {
    show(&ask(world, call).reply.await.unwrap())
}

const WITH_TASKS: &str = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;

#[tokio::test(start_paused = true)]
async fn a_task_is_found_again_by_the_id_its_client_knows() {
    let world = World::new(&servers(&["a", "b"], ""));
    world.fake("a").publish(&tools(&["work"]));
    world.fake("b").publish(&tools(&["work"]));
    world.fake("b").holds();
    let asked = ask(&world, call("tools/call", r#"{"name":"b__work"}"#).by(caller(WITH_TASKS)));
    let (_, exchange) = world.fake("b").held().remove(0);
    let task = raw(r#"{"resultType":"task","taskId":"t.1","status":"working"}"#);
    exchange.finish(Ok(Answer::marked(task, Mark::Extension)));
    let Ok(Answer::Result { body, mark, .. }) = asked.reply.await.unwrap() else { panic!("no result") };
    assert_eq!(mark, Mark::Extension);
    expect![[r#"{"resultType":"task","taskId":"b.t.1","status":"working"}"#]].assert_eq(body.as_str());

    world.fake("b").answers(|call| {
        Some(Ok(raw(&format!(r#"{{"taskId":"t.1","sent":{}}}"#, call.params.clone().unwrap()))))
    });
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let text = answer(&world, call(method, r#"{"taskId":"b.t.1","x":1}"#).by(caller(WITH_TASKS))).await;
        assert_eq!(text, r#"{"taskId":"b.t.1","sent":{"taskId":"t.1","x":1}}"#);
    }
    expect![[r#"
        fault {"code":-32602,"message":"Invalid params: there is no task 'c.t.1'"}
        fault {"code":-32602,"message":"Invalid params: there is no task 't'"}
        fault {"code":-32602,"message":"Invalid params: `taskId` must be the id of a task"}
        fault {"code":-32600,"message":"Missing required client capability: {\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}","data":{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}"#]]
    .assert_eq(
        &[
            answer(&world, call("tasks/get", r#"{"taskId":"c.t.1"}"#).by(caller(WITH_TASKS))).await,
            answer(&world, call("tasks/get", r#"{"taskId":"t"}"#).by(caller(WITH_TASKS))).await,
            answer(&world, call("tasks/get", "{}").by(caller(WITH_TASKS))).await,
            answer(&world, call("tasks/get", r#"{"taskId":"b.t.1"}"#).by(caller("{}"))).await,
        ]
        .join("\n"),
    );
    assert!(world.fake("a").calls().is_empty());
}

#[tokio::test(start_paused = true)]
async fn whoever_follows_a_task_hears_of_it_under_its_own_name() {
    let world = World::new(&servers(&["a"], ""));
    world.fake("a").publish(&tools(&["work"]));
    let (curious, other) = (Arc::new(Listener::default()), Arc::new(Listener::default()));
    let id = world.gateway.attach(curious.clone());
    world.gateway.attach(other.clone());
    let followed =
        world.gateway.watch_tasks(id, &Principal::Local, vec!["a.t".to_owned(), "z.t".to_owned()]).await;
    assert_eq!(followed, ["a.t"]);
    assert_eq!(world.fake("a").calls(), [r#"subscriptions/listen {"taskId":"t"}"#]);
    let fake = world.fake("a");
    let (key, host) = fake.host();
    assert!(host.standing(key).tasks.contains("t"));
    host.notice(key, notification::TASKS, Some(raw(r#"{"taskId":"t","status":"completed"}"#)));
    host.notice(key, notification::TASKS, Some(raw(r#"{"taskId":"u","status":"completed"}"#)));
    assert_eq!(curious.take(), [r#"notifications/tasks {"taskId":"a.t","status":"completed"}"#]);
    assert!(other.take().is_empty());
}

#[tokio::test(start_paused = true)]
async fn pages_of_apps_are_found_by_the_tools_that_show_them() {
    let world = World::new(&servers(&["a", "b"], ""));
    let page = r#"{"tools":[{"name":"t","_meta":{"ui":{"resourceUri":"ui://page","visibility":["app"]},"ui/resourceUri":"ui://page"}}],"capabilities":{"resources":{}}}"#;
    world.fake("a").publish(page);
    world.fake("b").publish(page);
    assert_eq!(
        world.call("resources/read", r#"{"uri":"ui://page"}"#).await,
        r#"{"by":"a","sent":{"uri":"ui://page"}}"#
    );
    let list = world.gateway.catalog().shown(Kind::Tools);
    let second = list.get("tools").unwrap().elements().unwrap().remove(1);
    expect![[r#"{"ui":{"resourceUri":"ui://b+page","visibility":["app"]},"ui/resourceUri":"ui://b+page"}"#]]
        .assert_eq(second.get("_meta").unwrap().as_str());
    assert_eq!(
        world.call("resources/read", r#"{"uri":"ui://b+page"}"#).await,
        r#"{"by":"b","sent":{"uri":"ui://page"}}"#
    );
}

#[tokio::test(start_paused = true)]
async fn a_method_nobody_knows_goes_to_the_one_that_extends_the_protocol() {
    let world = World::new(&servers(&["a", "b"], ""));
    world.fake("a").publish(
        r#"{"capabilities":{"extensions":{"com.example/x":{},"io.modelcontextprotocol/tasks":{}}}}"#,
    );
    world.fake("b").publish(r#"{"capabilities":{"extensions":{"io.modelcontextprotocol/skills":{"k":1}}}}"#);
    assert_eq!(world.call("x/do", r#"{"k":1}"#).await, r#"{"by":"a","sent":{"k":1}}"#);
    assert_eq!(world.call("skills/list", "{}").await, r#"{"by":"b","sent":{}}"#);
    expect![[
        r#"{"com.example/x":{},"io.modelcontextprotocol/tasks":{},"io.modelcontextprotocol/skills":{"k":1}}"#
    ]]
    .assert_eq(world.gateway.introduction().extensions.into_raw().as_str());
    world.fake("b").publish(r#"{"capabilities":{"extensions":{"com.example/y":{}}}}"#);
    expect![[r#"fault {"code":-32601,"message":"Method 'x/do' not found"}"#]]
        .assert_eq(&world.call("x/do", "{}").await);
}

#[tokio::test(start_paused = true)]
async fn one_odd_tool_hides_no_other_and_its_answer_can_be_read() {
    let world = World::new(&servers(&["a"], r#""managerTools":false"#));
    world.fake("a").publish(
        r#"{"tools":[{"name":"odd","outputSchema":{"type":"array"},"execution":{"taskSupport":"optional"}},{"name":"plain"}]}"#,
    );
    world.fake("a").answers(|_| Some(Ok(raw(r#"{"content":[],"structuredContent":[1]}"#))));
    let catalog = world.gateway.catalog();
    let list = catalog.list(Kind::Tools);
    expect![[r#"[{"name":"a__odd","outputSchema":{"type":"array"}},{"name":"a__plain"}]"#]]
        .assert_eq(&list.items.as_str().replace(r#","description":"[a]""#, ""));
    expect![[r#"[{"name":"a__odd","outputSchema":{"type":"object","properties":{"result":{"type":"array"}},"required":["result"]},"execution":{"taskSupport":"optional"}},{"name":"a__plain"}]"#]]
        .assert_eq(&list.strict_items.as_str().replace(r#","description":"[a]""#, ""));
    assert_eq!(
        world.call("tools/call", r#"{"name":"a__odd"}"#).await,
        r#"{"content":[],"structuredContent":{"result":[1]}}"#
    );
    assert_eq!(
        world.call("tools/call", r#"{"name":"a__plain"}"#).await,
        r#"{"content":[],"structuredContent":[1]}"#
    );
}

#[tokio::test(start_paused = true)]
async fn a_list_is_as_fresh_as_its_oldest_part() {
    let world = World::new(&servers(&["a", "b"], ""));
    let fresh = |ttl_ms| manifold_protocol::Freshness { ttl_ms, scope: Scope::Public };
    world.fake("a").publish_with(&tools(&["x"]), |listing| listing.freshness = [fresh(500); 4]);
    assert_eq!(world.gateway.catalog().list(Kind::Tools).freshness, Default::default());
    world.fake("b").publish_with(&tools(&["y"]), |listing| listing.freshness = [fresh(70); 4]);
    assert_eq!(world.gateway.catalog().list(Kind::Tools).freshness, fresh(70));
    world.fake("b").publish(&tools(&["y"]));
    assert_eq!(world.gateway.catalog().list(Kind::Tools).freshness, Default::default());
}

#[tokio::test(start_paused = true)]
async fn servers_say_as_much_as_a_single_call_wants_to_hear() {
    let world = World::new(&servers(&["a"], ""));
    world.fake("a").publish(r#"{"tools":[{"name":"x"}],"capabilities":{"logging":{}}}"#);
    let say = |level: &str| {
        let caller = Caller { log_level: Some(Raw::string(level)), ..(*caller("{}")).clone() };
        call("tools/call", r#"{"name":"a__x"}"#).by(Arc::new(caller))
    };
    answer(&world, say("warning")).await;
    answer(&world, say("error")).await;
    answer(&world, say("debug")).await;
    answer(&world, call("tools/call", r#"{"name":"a__x"}"#).by(caller("{}"))).await;
    let levels: Vec<String> =
        world.fake("a").calls().into_iter().filter(|call| call.starts_with("logging")).collect();
    assert_eq!(levels, [r#"logging/setLevel {"level":"warning"}"#, r#"logging/setLevel {"level":"debug"}"#]);
}

#[tokio::test(start_paused = true)]
async fn a_watcher_hears_of_changes_it_never_looked_at() {
    let world = World::new(&servers(&["a"], ""));
    let (watcher, other) = (Arc::new(Listener::default()), Arc::new(Listener::default()));
    let id = world.gateway.attach(watcher.clone());
    world.gateway.attach(other.clone());
    world.gateway.watch(id, &[Kind::Tools]);
    world.fake("a").publish(r#"{"tools":[{"name":"x"}],"prompts":[{"name":"p"}]}"#);
    tokio::time::sleep(crate::changes::SETTLE * 2).await;
    assert_eq!(watcher.take(), ["notifications/tools/list_changed"]);
    assert!(other.take().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_page_that_two_servers_list_keeps_its_scheme() {
    let world = World::new(&servers(&["a", "b"], ""));
    world.fake("a").publish(r#"{"resources":[{"uri":"ui://page"}]}"#);
    let tool = r#"{"name":"t","_meta":{"ui":{"resourceUri":"ui://page"}}}"#;
    // Whether or not the second lists it as well: the first one's address is not its tool's.
    for (resources, listed) in
        [("", vec!["ui://page"]), (r#","resources":[{"uri":"ui://page"}]"#, vec!["ui://page", "ui://b+page"])]
    {
        world
            .fake("b")
            .publish(&format!(r#"{{"tools":[{tool}]{resources},"capabilities":{{"resources":{{}}}}}}"#));
        assert_eq!(world.names(Kind::Resources).await, listed);
        let tools = world.call("tools/list", "{}").await;
        assert!(tools.contains(r#""resourceUri":"ui://b+page""#), "{tools}");
        let page = world.call("resources/read", r#"{"uri":"ui://b+page"}"#).await;
        assert_eq!(page, r#"{"by":"b","sent":{"uri":"ui://page"}}"#);
        let page = world.call("resources/read", r#"{"uri":"ui://page"}"#).await;
        assert_eq!(page, r#"{"by":"a","sent":{"uri":"ui://page"}}"#);
    }
}

fn followed(world: &World) -> Vec<String> {
    let fake = world.fake("a");
    let (key, host) = fake.host();
    host.standing(key).tasks.into_iter().collect()
}

#[tokio::test(start_paused = true)]
async fn a_task_stands_for_as_long_as_some_client_follows_it() {
    let world = World::new(&servers(&["a"], ""));
    world.fake("a").publish(&tools(&["work"]));
    let [first, second] = [(); 2].map(|()| world.gateway.attach(Arc::new(Listener::default())));
    for client in [first, second] {
        assert_eq!(
            world.gateway.watch_tasks(client, &Principal::Local, vec!["a.t".to_owned()]).await,
            ["a.t"]
        );
    }
    world.fake("a").calls();
    world.gateway.detach(first);
    assert_eq!((followed(&world), world.fake("a").calls()), (vec!["t".to_owned()], vec![]));
    world.gateway.detach(second);
    assert_eq!(followed(&world), [""; 0]);
    assert_eq!(world.fake("a").calls(), ["subscriptions/listen "], "it listens for what stands now");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_is_refused_does_not_stand() {
    let world = World::new(&servers(&["a"], ""));
    world.fake("a").publish(&tools(&["work"]));
    world.fake("a").refuses();
    let client = world.gateway.attach(Arc::new(Listener::default()));
    assert_eq!(world.gateway.watch_tasks(client, &Principal::Local, vec!["a.t".to_owned()]).await, [""; 0]);
    assert_eq!(followed(&world), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_task_of_one_principal_is_not_there_for_another() {
    let world = World::new(&servers(&["a"], ""));
    world.fake("a").publish(r#"{"tools":[{"name":"slow"}]}"#);
    let who = |name: &str| Arc::new(Requester::new(Principal::Token(name.into()), None));
    let ask = |name: &str, method: &str, params: &str| {
        let (exchange, asked) = Asked::open_by(Some(who(name)));
        world.gateway.dispatch(call(method, params).by(caller(WITH_TASKS)), exchange);
        asked
    };
    world.fake("a").holds();
    let begun = ask("one", "tools/call", r#"{"name":"a__slow"}"#);
    let (_, exchange) = world.fake("a").held().pop().unwrap();
    let task = raw(r#"{"resultType":"task","taskId":"t","status":"working"}"#);
    exchange.finish(Ok(Answer::marked(task, Mark::Extension)));
    begun.reply.await.unwrap().unwrap();
    let told = ask("two", "tasks/get", r#"{"taskId":"a.t"}"#).reply.await.unwrap();
    assert!(show(&told).contains("there is no task 'a.t'"), "{}", show(&told));
    let client = ClientId::fresh();
    let two = Principal::Token("two".into());
    assert_eq!(world.gateway.watch_tasks(client, &two, vec!["a.t".to_owned()]).await, [""; 0]);
    let mine = ask("one", "tasks/get", r#"{"taskId":"a.t"}"#);
    let (_, exchange) = world.fake("a").held().pop().unwrap();
    exchange.finish(Ok(raw("{}")));
    mine.reply.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn tasks_count_for_the_server_they_run_on() {
    let rule = r#""limits":{"rate":[{"per":"server","limit":2,"window":3600}]}"#;
    let world = World::new(&servers(&["a"], rule));
    world.fake("a").publish(&tools(&["work"]));
    for _ in 0..5 {
        let requester = Arc::new(Requester::new(Principal::Local, None));
        let (exchange, asked) = Asked::open_by(Some(requester));
        world.gateway.dispatch(call("tasks/get", r#"{"taskId":"a.t"}"#).by(caller(WITH_TASKS)), exchange);
        let _ = asked.reply.await;
    }
    assert_eq!(world.fake("a").calls().len(), 2);
}
