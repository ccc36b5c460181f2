//! The lists as an operator pages through them, and names as an operator writes them.

use std::time::Duration;

use manifold_admin::{ErrorCode, ItemPage};
use manifold_protocol::{Fault, Kind};

use crate::audience::Audience;
use crate::fake::{World, servers, tools};
use crate::gateway::{ItemQuery, NotFound};
use crate::upstream::{Order, Phase};

async fn page(world: &World, query: ItemQuery) -> ItemPage {
    world.gateway.items(Kind::Tools, &query).await.unwrap()
}

fn names(page: &ItemPage) -> Vec<&str> {
    page.items.iter().map(|item| item.name.as_str()).collect()
}

fn of(server: &str) -> ItemQuery {
    ItemQuery { server: Some(server.to_owned()), ..ItemQuery::default() }
}

/// All tools of a world without those of the manager.
fn all() -> ItemQuery {
    ItemQuery { q: Some("?__*".to_owned()), ..ItemQuery::default() }
}

#[tokio::test(start_paused = true)]
async fn servers_are_asked_as_a_client_would() {
    let world = World::new(&servers(&["a", "b", "slow", "bad"], ""));
    world
        .fake("a")
        .offers(r#"{"tools":[{"name":"x","description":"Says \"hi\"\nand more","inputSchema":{}}]}"#);
    world.fake("b").offers(&tools(&["y"]));
    world.fake("slow").takes(Duration::from_secs(3600));
    let fault = Fault::FailedToStart { server: "bad".to_owned(), reason: "no such program".to_owned() };
    world.fake("bad").vanish(Phase::Failed(fault));
    let shown = page(&world, all()).await;
    assert_eq!(names(&shown), ["a__x", "b__y"]);
    assert_eq!(shown.starting, ["slow"]);
    assert_eq!(shown.failed[0].server, "bad");
    assert_eq!(shown.failed[0].message, "Server 'bad' failed to start: no such program");
    let first = &shown.items[0];
    assert_eq!((first.server.as_str(), first.original.as_str()), ("a", "x"));
    assert!(first.description.as_deref().is_some_and(|text| text.ends_with("Says \"hi\"\nand more")));
    assert!(first.item.is_none() && shown.next_cursor.is_none());
    let full = page(&world, ItemQuery { full: true, ..of("a") }).await;
    let item = full.items[0].item.as_ref().unwrap().get();
    assert!(item.len() == full.items[0].bytes && item.contains(r#""name":"a__x""#), "{item}");
}

#[tokio::test(start_paused = true)]
async fn who_only_looks_is_told_what_is_known_and_starts_nothing() {
    let world = World::new(&servers(&["alpha"], ""));
    world.fake("alpha").offers(&tools(&["x"]));
    let look = |query: ItemQuery| ItemQuery { known_only: true, ..query };
    assert_eq!(names(&page(&world, look(all())).await), Vec::<&str>::new());
    assert_eq!(names(&page(&world, look(of("alpha"))).await), Vec::<&str>::new());
    world.gateway.items(Kind::Tools, &look(named("alpha.x"))).await.unwrap_err();
    assert_eq!(world.fake("alpha").discovered(), 0);
    page(&world, all()).await;
    assert_eq!(names(&page(&world, look(of("alpha"))).await), ["alpha__x"]);
    assert_eq!(names(&page(&world, look(named("alpha.x"))).await), ["alpha__x"]);
}

#[tokio::test(start_paused = true)]
async fn one_server_is_asked_where_one_is_named() {
    let world = World::new(&servers(&["alpha", "beta"], ""));
    world.fake("alpha").offers(&tools(&["x"]));
    assert_eq!(names(&page(&world, of("alpha")).await), ["alpha__x"]);
    assert_eq!(world.fake("beta").discovered(), 0);
    let error = world.gateway.items(Kind::Tools, &of("alpa")).await.unwrap_err();
    assert_eq!(
        (error.code, error.hint.as_deref()),
        (ErrorCode::UnknownServer, Some("did you mean `alpha`?"))
    );
}

fn named(name: &str) -> ItemQuery {
    ItemQuery { name: Some(name.to_owned()), ..ItemQuery::default() }
}

/// A first start may install the server: who names it waits for it, and for no other.
#[tokio::test(start_paused = true)]
async fn a_name_waits_for_its_own_server_alone() {
    let world = World::new(&servers(&["slow", "other", "stuck"], ""));
    world.fake("slow").offers(&tools(&["x", "a b"]));
    world.fake("slow").takes(Duration::from_secs(14));
    world.fake("other").offers(&tools(&["y"]));
    world.fake("stuck").takes(Duration::from_secs(3600));
    assert_eq!(names(&page(&world, named("slow.x")).await), ["slow__x"]);
    assert_eq!(page(&world, named("slow__a b")).await.items[0].original, "a b");
    assert_eq!(world.fake("other").discovered() + world.fake("stuck").discovered(), 0);
    let patience = Some(Duration::from_secs(2));
    let error =
        world.gateway.items(Kind::Tools, &ItemQuery { patience, ..named("stuck.x") }).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::TimedOut);
    let bare = page(&world, named("z")).await;
    assert_eq!((bare.items.len(), bare.starting), (0, vec!["stuck".to_owned()]), "it may come yet");
    assert_eq!(names(&page(&world, ItemQuery { patience, ..of("stuck") }).await), Vec::<&str>::new());
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_a_slow_start() {
    let world = World::new(&servers(&["slow"], ""));
    world.fake("slow").offers(&tools(&["x"]));
    world.fake("slow").takes(Duration::from_secs(14));
    assert_eq!(world.gateway.find_tool_for_operator("slow.x").await.unwrap().name, "slow__x");
}

#[tokio::test(start_paused = true)]
async fn pages_go_on_after_the_last_item_whatever_comes_or_goes() {
    let world = World::new(&servers(&["a"], ""));
    let fake = world.fake("a");
    fake.publish(&tools(&["1", "2", "3", "4", "5"]));
    let limited = |cursor| ItemQuery { limit: Some(2), cursor, ..all() };
    let first = page(&world, limited(None)).await;
    assert_eq!(names(&first), ["a__1", "a__2"]);
    let second = page(&world, limited(first.next_cursor.clone())).await;
    assert_eq!(names(&second), ["a__3", "a__4"]);
    fake.publish(&tools(&["0", "1", "2", "3", "4", "5"]));
    assert_eq!(
        names(&page(&world, limited(first.next_cursor.clone())).await),
        ["a__3", "a__4"],
        "one came before"
    );
    fake.publish(&tools(&["1", "3", "4", "5"]));
    let gone = page(&world, limited(first.next_cursor)).await;
    assert_eq!(names(&gone), ["a__4", "a__5"], "the item it named is gone: by its place");
    assert_eq!(gone.next_cursor, None);
    for nonsense in ["nonsense", "2", ":a__1"] {
        let refused =
            world.gateway.items(Kind::Tools, &limited(Some(nonsense.to_owned()))).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::BadRequest, "{nonsense}");
    }
    assert_eq!(page(&world, ItemQuery { limit: Some(0), ..all() }).await.items.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn texts_and_shapes_are_looked_for() {
    let world = World::new(&servers(&["git", "web"], ""));
    world
        .fake("git")
        .publish(r#"{"tools":[{"name":"push"},{"name":"log","description":"Shows what was PUSHED"}]}"#);
    world.fake("web").publish(&tools(&["fetch"]));
    let found = async |q: &str| {
        let page = page(&world, ItemQuery { q: Some(q.to_owned()), ..ItemQuery::default() }).await;
        page.items.into_iter().map(|item| item.name).collect::<Vec<_>>()
    };
    assert_eq!(found("push").await, ["git__push", "git__log"]);
    assert_eq!(found("*push").await, ["git__push"]);
    assert_eq!(found("WEB__?etch").await, ["web__fetch"]);
    assert_eq!(found("fetch").await, ["web__fetch"]);
    assert!(found("nothing of the kind").await.is_empty());
}

const RULED: &str = r#"{"servers":{"a":{"builtin":"time","deniedTools":["x"]},"b":{"builtin":"time"},
        "off":{"builtin":"time","enabled":false},"elsewhere":{"builtin":"time"}},
    "namespaces":[{"id":"n","serverIds":["a","b","off"]}],
    "toolPermissions":[{"namespaceId":"n","serverId":"b","promptName":"p","enabled":false}]}"#;

#[tokio::test(start_paused = true)]
async fn an_operator_is_told_the_rule() {
    let world = World::open(RULED, Some("n"), Audience::Shared);
    world.fake("a").offers(&tools(&["x", "y"]));
    world.fake("b").offers(r#"{"prompts":[{"name":"p"}],"tools":[{"name":"y"}]}"#);
    assert!(page(&world, of("a")).await.items.iter().all(|item| item.original != "x"), "it is left out");
    let error = world.gateway.items(Kind::Tools, &named("a.x")).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Denied);
    let rule = "`deniedTools` of server 'a' names 'x'";
    for name in ["a__x", "a.x", "a/x", "x"] {
        let error = world.gateway.find_tool_for_operator(name).await.unwrap_err();
        assert_eq!(error, NotFound::Denied { rule: rule.to_owned() }, "{name}");
        assert_eq!(world.gateway.why_denied(Kind::Tools, name).as_deref(), Some(rule), "{name}");
    }
    let denied = async |name| match world.gateway.find_tool_for_operator(name).await {
        Err(NotFound::Denied { rule }) => rule,
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(denied("off__x").await, "server 'off' is disabled in the config (`enabled`)");
    assert_eq!(denied("elsewhere__x").await, "namespace 'n' does not show server 'elsewhere' (`serverIds`)");
    let prompt = world.gateway.find_prompt_for_operator("p").await.unwrap_err();
    let error = prompt.into_error(Kind::Prompts, "p");
    assert_eq!(error.code, ErrorCode::Denied);
    assert_eq!(
        error.message,
        "prompt 'p' may not be used: a rule of `toolPermissions` denies 'p' of server 'b' in namespace 'n'"
    );
    assert_eq!(world.gateway.why_denied(Kind::Tools, "a__y"), None);
}

#[tokio::test(start_paused = true)]
async fn an_operator_may_write_a_name_in_many_ways() {
    let world = World::new(&servers(&["git", "web"], ""));
    world.fake("git").offers(&tools(&["push", "log"]));
    world.fake("web").offers(&tools(&["push", "fetch"]));
    for name in ["git__push", "git.push", "git/push", "git-push"] {
        let found = world.gateway.find_tool_for_operator(name).await.unwrap();
        assert_eq!((found.name.as_str(), found.server.as_str()), ("git__push", "git"), "{name}");
        assert_eq!(found.original, "push");
    }
    assert_eq!(world.fake("web").discovered(), 0, "the name said whose it is");
    let bare = world.gateway.find_tool_for_operator("fetch").await.unwrap();
    assert_eq!(bare.name, "web__fetch");
    let several = world.gateway.find_tool_for_operator("push").await.unwrap_err();
    assert_eq!(
        several,
        NotFound::Ambiguous { candidates: vec!["git__push".to_owned(), "web__push".to_owned()] }
    );
    let error = several.into_error(Kind::Tools, "push");
    assert_eq!(error.to_string(), "several servers have a tool 'push'; say which: `git__push`, `web__push`");
}

#[tokio::test(start_paused = true)]
async fn what_is_misspelt_is_suggested_and_never_run() {
    let world = World::new(&servers(&["git"], ""));
    world.fake("git").offers(&tools(&["push", "status"]));
    let error = world.gateway.find_tool_for_operator("git__psuh").await.unwrap_err();
    let error = error.into_error(Kind::Tools, "git__psuh");
    assert_eq!(error.to_string(), "there is no tool 'git__psuh'; did you mean `git__push`?");
    assert_eq!(error.code, ErrorCode::UnknownItem);
    let error = world.gateway.find_tool_for_operator("statsu").await.unwrap_err();
    assert_eq!(error, NotFound::Unknown { did_you_mean: vec!["git__status".to_owned()] });
    let error = world.gateway.find_tool_for_operator("nothing like it").await.unwrap_err();
    assert_eq!(error, NotFound::Unknown { did_you_mean: Vec::new() });
    assert!(world.fake("git").calls().is_empty());
}

// What is not there is not denied: else every slip of the pen would be blamed on the rules.
#[tokio::test(start_paused = true)]
async fn what_nobody_has_is_unknown_whatever_the_rules() {
    let config = r#"{"servers":{"a":{"builtin":"time"}},
        "namespaces":[{"id":"n","serverIds":["a"],"denyByDefault":true}],
        "toolPermissions":[{"namespaceId":"n","serverId":"a","toolName":"push","enabled":true}]}"#;
    let world = World::open(config, Some("n"), Audience::Shared);
    world.fake("a").offers(&tools(&["push", "pull"]));
    let error = world.gateway.find_tool_for_operator("a__psuh").await.unwrap_err();
    assert_eq!(error, NotFound::Unknown { did_you_mean: vec!["a__push".to_owned()] });
    let error = world.gateway.find_tool_for_operator("a__pull").await.unwrap_err();
    assert!(matches!(error, NotFound::Denied { rule } if rule.contains("`denyByDefault`")));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_has_failed_is_tried_once_more() {
    let world = World::new(&servers(&["git"], ""));
    let fault = Fault::FailedToStart { server: "git".to_owned(), reason: "no".to_owned() };
    world.fake("git").vanish(Phase::Failed(fault.clone()));
    let error = world.gateway.find_tool_for_operator("git__push").await.unwrap_err();
    assert_eq!(error, NotFound::Unavailable(fault));
    assert_eq!(world.fake("git").orders(), [Order::Start]);
    assert_eq!(error.into_error(Kind::Tools, "git__push").code, ErrorCode::FailedToStart);
}
