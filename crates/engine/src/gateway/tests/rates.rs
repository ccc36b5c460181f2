use std::sync::{Arc, Mutex};
use std::time::Duration;

use expect_test::{Expect, expect};
use manifold_config::RateScope;
use tokio::time::advance;

use crate::fake::{Asked, World, call, config, servers, show};
use crate::principal::{Principal, Requester};
use crate::rate::{RateAsk, RateStore, RateVerdict};
use crate::upstream::BoxFuture;

fn world(rules: &str) -> World {
    let world = World::new(&servers(&["a", "b"], &format!(r#""limits":{{"rate":[{rules}]}}"#)));
    world.fake("a").publish(r#"{"tools":[{"name":"x"},{"name":"y"}],"prompts":[{"name":"p"}]}"#);
    world.fake("b").publish(r#"{"tools":[{"name":"z"}]}"#);
    world
}

async fn ask(world: &World, who: &str, method: &str, params: &str) -> String {
    let requester = Arc::new(Requester::new(Principal::Token(who.into()), None));
    let (exchange, asked) = Asked::open_by(Some(requester));
    world.gateway.dispatch(call(method, params), exchange);
    show(&asked.reply.await.unwrap())
}

async fn passes(world: &World, who: &str, tool: &str, times: usize) -> usize {
    let mut passed = 0;
    for _ in 0..times {
        let told = ask(world, who, "tools/call", &format!(r#"{{"name":"{tool}"}}"#)).await;
        passed += usize::from(told.starts_with(r#"{"by""#));
    }
    passed
}

async fn check_refusal(rule: &str, method: &str, params: &str, expected: Expect) {
    let world = world(rule);
    ask(&world, "ci", method, params).await;
    advance(Duration::from_millis(1500)).await;
    expected.assert_eq(&ask(&world, "ci", method, params).await);
}

#[tokio::test(start_paused = true)]
async fn who_is_over_the_limit_hears_which_and_when() {
    let tool = r#"{"name":"a__x"}"#;
    check_refusal(r#"{"per":"principal","limit":1,"window":10}"#, "tools/call", tool, expect![[r#"fault {"code":-32603,"message":"Too many calls: 1 in 10 s are allowed per principal (limits.rate); try again in 9 s","data":{"setting":"limits.rate","per":"principal","limit":1,"windowSeconds":10,"retryAfterSeconds":9,"retryable":true}}"#]]).await;
    check_refusal(r#"{"per":"tool","limit":1,"window":10}"#, "tools/call", tool, expect![[r#"{"content":[{"type":"text","text":"Too many calls: 1 in 10 s are allowed per tool (limits.rate); try again in 9 s"}],"isError":true}"#]]).await;
    check_refusal(r#"{"per":"server","limit":1,"window":10}"#, "prompts/get", r#"{"name":"a__p"}"#, expect![[r#"fault {"code":-32603,"message":"Too many calls: 1 in 10 s are allowed per server (limits.rate); try again in 9 s","data":{"setting":"limits.rate","per":"server","limit":1,"windowSeconds":10,"retryAfterSeconds":9,"retryable":true}}"#]]).await;
}

#[tokio::test(start_paused = true)]
async fn each_of_what_is_named_has_its_own_count() {
    let per_principal = world(r#"{"per":"principal","limit":3,"window":60}"#);
    assert_eq!(passes(&per_principal, "one", "a__x", 10).await, 3);
    assert_eq!(passes(&per_principal, "two", "a__x", 10).await, 3);
    let per_tool = world(r#"{"per":"tool","match":"a/*","limit":3,"window":60}"#);
    assert_eq!(passes(&per_tool, "one", "a__x", 10).await, 3);
    assert_eq!(passes(&per_tool, "two", "a__x", 10).await, 0, "whoever asks");
    assert_eq!(passes(&per_tool, "one", "a__y", 10).await, 3);
    assert_eq!(passes(&per_tool, "one", "b__z", 10).await, 10);
    let per_server = world(r#"{"per":"server","limit":4,"window":60}"#);
    assert_eq!(passes(&per_server, "one", "a__x", 3).await, 3);
    assert_eq!(passes(&per_server, "one", "a__y", 3).await, 1);
    assert_eq!(passes(&per_server, "one", "b__z", 10).await, 4);
    let counted: Vec<_> = per_server.fleet.rates().limited().filter(|(_, count)| *count > 0).collect();
    assert_eq!(counted, [(RateScope::Server, 8)]);
}

#[tokio::test(start_paused = true)]
async fn a_ping_and_our_own_calls_are_not_counted() {
    let world = world(r#"{"per":"principal","limit":1,"window":60}"#);
    for _ in 0..5 {
        assert_eq!(ask(&world, "ci", "ping", "{}").await, "{}");
        assert_eq!(
            world.call("prompts/get", r#"{"name":"a__p"}"#).await,
            r#"{"by":"a","sent":{"name":"p"}}"#
        );
    }
    assert_eq!(passes(&world, "ci", "a__x", 2).await, 1);
}

/// Returns how many of three calls reach the server under a limit of one.
async fn reach(world: &World, server: &str, method: &str, params: &str) -> usize {
    for _ in 0..3 {
        ask(world, "ci", method, params).await;
    }
    world.fake(server).calls().len()
}

#[tokio::test(start_paused = true)]
async fn all_that_goes_to_a_server_counts_for_it() {
    let rule = r#"{"per":"server","limit":1,"window":3600}"#;
    let offer = r#"{"tools":[{"name":"x"}],"prompts":[{"name":"p"}],"resources":[{"uri":"r://1"}]}"#;
    let fresh = || {
        let world = World::new(&servers(&["a", "b"], &format!(r#""limits":{{"rate":[{rule}]}}"#)));
        world.fake("a").publish(offer);
        world.fake("b").publish("{}");
        world
    };
    for (method, params) in [
        ("completion/complete", r#"{"ref":{"type":"ref/prompt","name":"a__p"},"argument":{}}"#),
        ("completion/complete", r#"{"ref":{"type":"ref/resource","uri":"r://1"},"argument":{}}"#),
        ("resources/read", r#"{"uri":"r://1"}"#),
        ("resources/read", r#"{"uri":"r://not-listed"}"#),
        ("resources/subscribe", r#"{"uri":"r://1"}"#),
        ("resources/unsubscribe", r#"{"uri":"r://1"}"#),
    ] {
        assert_eq!(reach(&fresh(), "a", method, params).await, 1, "{method} {params}");
    }
}

// A client that writes a name before anybody has listed gets no call more than one that has listed.
#[tokio::test(start_paused = true)]
async fn a_call_counts_for_its_server_also_before_its_lists_are_known() {
    let fresh = |rule: &str| {
        let world = World::new(&servers(&["a", "b"], &format!(r#""limits":{{"rate":[{rule}]}}"#)));
        world.fake("a").offers(r#"{"tools":[{"name":"x"}],"prompts":[{"name":"p"}]}"#);
        world.fake("b").offers("{}");
        world
    };
    let per_server = r#"{"per":"server","limit":1,"window":3600}"#;
    for (method, params) in [
        ("tools/call", r#"{"name":"x"}"#),
        ("tools/call", r#"{"name":"a__x"}"#),
        ("prompts/get", r#"{"name":"a__p"}"#),
        ("completion/complete", r#"{"ref":{"type":"ref/prompt","name":"a__p"},"argument":{}}"#),
    ] {
        assert_eq!(reach(&fresh(per_server), "a", method, params).await, 1, "{method} {params}");
    }
    let per_tool = r#"{"per":"tool","match":"a/x","limit":1,"window":3600}"#;
    assert_eq!(reach(&fresh(per_tool), "a", "tools/call", r#"{"name":"x"}"#).await, 1);
    let both = r#"{"per":"principal","limit":2,"window":3600},{"per":"server","limit":5,"window":3600}"#;
    assert_eq!(reach(&fresh(both), "a", "tools/call", r#"{"name":"x"}"#).await, 2, "who asks counts once");
}

#[tokio::test(start_paused = true)]
async fn a_new_config_changes_the_limits() {
    let world = world(r#"{"per":"tool","limit":1,"window":60}"#);
    assert_eq!(passes(&world, "ci", "a__x", 5).await, 1);
    let apply = async |rules: &str| {
        let text = servers(&["a", "b"], &format!(r#""limits":{{"rate":[{rules}]}}"#));
        world.fleet.apply(Arc::new(config(&text))).await;
    };
    apply(r#"{"per":"tool","limit":2,"window":60}"#).await;
    assert_eq!(passes(&world, "ci", "a__x", 5).await, 2);
    apply("").await;
    assert_eq!(passes(&world, "ci", "a__x", 5).await, 5);
    apply(r#"{"per":"tool","limit":2,"window":60}"#).await;
    assert_eq!(passes(&world, "ci", "a__x", 5).await, 0, "a rule that comes back finds its count");
}

/// Lets as many pass as it says, for all keys together; then it is gone.
struct Elsewhere(Mutex<(usize, Vec<RateAsk>)>);

impl RateStore for Elsewhere {
    fn take(&self, asks: Vec<RateAsk>) -> BoxFuture<Option<RateVerdict>> {
        let mut state = self.0.lock().unwrap();
        state.1.extend(asks);
        let left = state.0.checked_sub(1);
        state.0 = left.unwrap_or_default();
        Box::pin(std::future::ready(left.map(|_| RateVerdict::Allowed)))
    }
}

#[tokio::test(start_paused = true)]
async fn where_counts_are_shared_others_are_asked_and_their_absence_costs_no_call() {
    let world = world(r#"{"per":"tool","limit":2,"window":60}"#);
    let store = Arc::new(Elsewhere(Mutex::new((3, Vec::new()))));
    world.fleet.rates().share(Arc::clone(&store) as Arc<dyn RateStore>);
    assert_eq!(passes(&world, "ci", "a__x", 3).await, 3, "they allow it");
    assert_eq!(passes(&world, "ci", "a__x", 5).await, 2, "each counts for itself");
    let keys: Vec<String> = store.0.lock().unwrap().1.iter().map(|ask| ask.key.clone()).collect();
    assert_eq!((keys.len(), keys[0].as_str()), (8, "tool:*:2/60:a/x"));
}
