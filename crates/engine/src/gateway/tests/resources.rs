use std::sync::Arc;

use expect_test::expect;
use manifold_protocol::Raw;

use crate::audience::Audience;
use crate::changes::ClientId;
use crate::fake::{Listener, World, raw, servers};
use crate::upstream::Phase;

/// Two servers that both have `x://1`, and one that has nothing known.
fn world() -> World {
    let world = World::new(&servers(&["a", "b"], ""));
    for id in ["a", "b"] {
        world
            .fake(id)
            .publish(r#"{"resources":[{"uri":"x://1"}],"resourceTemplates":[{"uriTemplate":"y://{id}"}]}"#);
        let by = raw(&format!(r#"{{"contents":[{{"uri":"x://1","text":"{id}"}}]}}"#));
        world.fake(id).answers(move |_| Some(Ok(by.clone())));
    }
    world
}

fn join(world: &World) -> (ClientId, Arc<Listener>) {
    let listener = Arc::new(Listener::default());
    (world.gateway.attach(Arc::clone(&listener) as _), listener)
}

fn subscriptions(world: &World, id: &str) -> Vec<String> {
    let fake = world.fake(id);
    let (key, host) = fake.host();
    host.standing(key).subscriptions.into_iter().collect()
}

fn updated(world: &World, id: &str, uri: &str) {
    let fake = world.fake(id);
    let (key, host) = fake.host();
    host.notice(key, "notifications/resources/updated", Some(raw(&format!(r#"{{"uri":"{uri}","t":1}}"#))));
}

// Decision 22
#[tokio::test]
async fn a_clash_is_rewritten_on_the_way_there_and_back() {
    let world = world();
    assert_eq!(
        world.call("resources/read", r#"{"uri":"x://1"}"#).await,
        r#"{"contents":[{"uri":"x://1","text":"a"}]}"#
    );
    assert_eq!(
        world.call("resources/read", r#"{"uri":"b+x://1"}"#).await,
        r#"{"contents":[{"uri":"b+x://1","text":"b"}]}"#
    );
    assert_eq!(world.fake("b").calls(), [r#"resources/read {"uri":"x://1"}"#]);
}

#[tokio::test]
async fn a_clash_of_templates_is_rewritten_likewise() {
    let world = world();
    world.fake("b").answers(|_| Some(Ok(Raw::from_static(r#"{"contents":[{"uri":"y://7"}]}"#))));
    assert_eq!(
        world.call("resources/read", r#"{"uri":"b+y://7"}"#).await,
        r#"{"contents":[{"uri":"b+y://7"}]}"#
    );
    assert_eq!(world.fake("b").calls(), [r#"resources/read {"uri":"y://7"}"#]);
    let completed =
        r#"{"ref":{"type":"ref/resource","uri":"b+y://{id}"},"argument":{"name":"id","value":""}}"#;
    world.call("completion/complete", completed).await;
    assert_eq!(
        world.fake("b").calls(),
        [completed.replace("b+y", "y").replace(r#"{"ref"#, r#"completion/complete {"ref"#)]
    );
}

#[tokio::test]
async fn an_unlisted_resource_is_tried_in_turn() {
    let world = World::new(&servers(&["a", "b", "c"], ""));
    for id in ["a", "b", "c"] {
        world.fake(id).publish(&format!(r#"{{"resources":[{{"uri":"z://of-{id}"}}]}}"#));
    }
    world.fake("a").refuses();
    assert_eq!(
        world.call("resources/read", r#"{"uri":"z://1"}"#).await,
        r#"{"by":"b","sent":{"uri":"z://1"}}"#
    );
    assert_eq!((world.fake("a").calls().len(), world.fake("c").calls().len()), (1, 0));
    world.fake("b").refuses();
    assert_eq!(
        world.call("resources/read", r#"{"uri":"z://1"}"#).await,
        r#"{"by":"c","sent":{"uri":"z://1"}}"#
    );
    world.fake("c").refuses();
    expect![[r#"fault {"code":-32002,"message":"Resource 'z://1' not found","data":{"uri":"z://1"}}"#]]
        .assert_eq(&world.call("resources/read", r#"{"uri":"z://1"}"#).await);
}

// L16: whatever nobody lists went to the first server in the config.
#[tokio::test(start_paused = true)]
async fn a_resource_that_nobody_claims_goes_to_nobody() {
    let world = World::new(&servers(&["first", "files", "late", "failed"], ""));
    world.fake("first").publish(r#"{"resources":[{"uri":"x://1"}]}"#);
    world.fake("files").publish(r#"{"resourceTemplates":[{"uriTemplate":"FILE:///home/{+path}"}]}"#);
    world.fake("late").offers(r#"{"resources":[{"uri":"late://1"}]}"#);
    world.fake("failed").offers_nothing();
    let (client, _) = join(&world);
    for uri in ["mail://inbox/1", "nothing", "", "failed://1", "ui://page"] {
        let unknown = format!(
            r#"fault {{"code":-32002,"message":"Resource '{uri}' not found","data":{{"uri":"{uri}"}}}}"#
        );
        for method in ["resources/read", "resources/subscribe", "resources/unsubscribe"] {
            let answer = world.call_as(client, method, &format!(r#"{{"uri":"{uri}"}}"#)).await;
            assert_eq!(answer, unknown, "{method}");
        }
        let reference = format!(r#"{{"ref":{{"type":"ref/resource","uri":"{uri}"}},"argument":{{}}}}"#);
        assert_eq!(world.call("completion/complete", &reference).await, unknown);
    }
    for id in ["first", "files", "late", "failed"] {
        assert_eq!(world.fake(id).calls(), [""; 0], "{id}");
    }
    assert_eq!(world.fake("late").discovered(), 1, "it was asked for its lists first");
    for (uri, by) in [("late://2", "late"), ("file:///etc/motd", "files"), ("X://2", "first")] {
        let answer = world.call("resources/read", &format!(r#"{{"uri":"{uri}"}}"#)).await;
        assert_eq!(answer, format!(r#"{{"by":"{by}","sent":{{"uri":"{uri}"}}}}"#), "its scheme claims it");
    }
}

#[tokio::test]
async fn a_single_server_speaks_for_itself() {
    let world = World::new(&servers(&["a"], ""));
    world.fake("a").publish(r#"{"resources":[{"uri":"z://listed"}]}"#);
    world.fake("a").refuses();
    assert_eq!(
        world.call("resources/read", r#"{"uri":"z://1"}"#).await,
        r#"peer {"code":-32002,"message":"mine"}"#
    );
}

#[tokio::test(start_paused = true)]
async fn without_resources_anywhere_there_is_none() {
    let world = World::new(&servers(&["a"], ""));
    expect![[r#"fault {"code":-32002,"message":"Resource 'z://1' not found","data":{"uri":"z://1"}}"#]]
        .assert_eq(&world.call("resources/read", r#"{"uri":"z://1"}"#).await);
    assert_eq!(world.fake("a").discovered(), 1, "it was asked for its lists first");
}

// Cancelling reaches whoever is being tried, and the turn ends there.
#[tokio::test]
async fn a_cancelled_search_goes_no_further() {
    let world = World::new(&servers(&["a", "b"], ""));
    for id in ["a", "b"] {
        world.fake(id).publish(&format!(r#"{{"resources":[{{"uri":"z://of-{id}"}}]}}"#));
        world.fake(id).holds();
    }
    let asked = world.ask(None, "resources/read", r#"{"uri":"z://1"}"#);
    let (_, exchange) = world.fake("a").held().remove(0);
    asked.flight.cancel(None);
    assert!(exchange.is_cancelled());
    drop(exchange);
    assert_eq!(world.fake("b").held().len(), 0);
}

#[tokio::test]
async fn updates_go_to_subscribers_under_the_uri_they_know() {
    let world = world();
    let (first, heard) = join(&world);
    let (_, other) = join(&world);
    world.call_as(first, "resources/subscribe", r#"{"uri":"b+x://1"}"#).await;
    world.call_as(first, "resources/subscribe", r#"{"uri":"b+y://7"}"#).await;
    assert_eq!(
        world.fake("b").calls(),
        [r#"resources/subscribe {"uri":"x://1"}"#, r#"resources/subscribe {"uri":"y://7"}"#]
    );
    assert_eq!(subscriptions(&world, "b"), ["x://1", "y://7"]);
    updated(&world, "a", "x://1");
    assert_eq!(heard.take(), [""; 0]);
    updated(&world, "b", "x://1");
    updated(&world, "b", "y://7");
    assert_eq!(
        heard.take(),
        [
            r#"notifications/resources/updated {"uri":"b+x://1","t":1}"#,
            r#"notifications/resources/updated {"uri":"b+y://7","t":1}"#,
        ]
    );
    assert_eq!(other.take(), [""; 0]);
}

#[tokio::test]
async fn a_client_alone_hears_every_update() {
    let world = world();
    let (_, heard) = join(&world);
    updated(&world, "a", "never://listed");
    assert_eq!(heard.take(), [r#"notifications/resources/updated {"uri":"never://listed","t":1}"#]);
}

#[tokio::test]
async fn a_server_is_unsubscribed_when_the_last_subscriber_is() {
    let world = world();
    let ((first, _), (second, _)) = (join(&world), join(&world));
    for client in [first, second] {
        world.call_as(client, "resources/subscribe", r#"{"uri":"x://1"}"#).await;
    }
    world.fake("a").calls();
    assert_eq!(world.call_as(first, "resources/unsubscribe", r#"{"uri":"x://1"}"#).await, "{}");
    assert_eq!(world.fake("a").calls(), [""; 0]);
    assert_eq!(subscriptions(&world, "a"), ["x://1"]);
    world.call_as(second, "resources/unsubscribe", r#"{"uri":"x://1"}"#).await;
    assert_eq!(world.fake("a").calls(), [r#"resources/unsubscribe {"uri":"x://1"}"#]);
    assert_eq!(subscriptions(&world, "a"), [""; 0]);
}

#[tokio::test]
async fn detaching_ends_the_subscriptions_that_were_the_client_s_alone() {
    let world = world();
    let ((first, _), (second, _)) = (join(&world), join(&world));
    for (client, uri) in [(first, "x://1"), (first, "b+x://1"), (second, "x://1"), (first, "x://unlisted")] {
        world.call_as(client, "resources/subscribe", &format!(r#"{{"uri":"{uri}"}}"#)).await;
    }
    assert_eq!(subscriptions(&world, "a"), ["x://1", "x://unlisted"]);
    world.fake("b").calls();
    world.gateway.detach(first);
    assert_eq!(subscriptions(&world, "a"), ["x://1"]);
    assert_eq!(subscriptions(&world, "b"), [""; 0]);
    assert_eq!(world.fake("b").calls(), [r#"resources/unsubscribe {"uri":"x://1"}"#], "the server is told");
    world.gateway.detach(second);
    assert_eq!(subscriptions(&world, "a"), [""; 0]);
}

#[tokio::test]
async fn a_refused_subscription_does_not_stand() {
    let world = world();
    let (client, _) = join(&world);
    world.fake("a").refuses();
    world.call_as(client, "resources/subscribe", r#"{"uri":"x://1"}"#).await;
    assert_eq!(subscriptions(&world, "a"), [""; 0]);
    // Unlisted: tried with each in turn, and kept by the one that took it.
    world.call_as(client, "resources/subscribe", r#"{"uri":"x://2"}"#).await;
    assert_eq!((subscriptions(&world, "a"), subscriptions(&world, "b")), (vec![], vec!["x://2".to_owned()]));
    world.fake("a").answers(|_| Some(Ok(Raw::from_static("{}"))));
    world.fake("a").calls();
    world.fake("b").calls();
    world.call_as(client, "resources/unsubscribe", r#"{"uri":"x://2"}"#).await;
    assert_eq!(
        world.fake("b").calls(),
        [r#"resources/unsubscribe {"uri":"x://2"}"#],
        "who took it gives it back"
    );
    assert_eq!(subscriptions(&world, "b"), [""; 0]);
}

#[tokio::test]
async fn a_client_that_left_is_subscribed_to_nothing() {
    let world = world();
    let (client, _) = join(&world);
    // Its subscription was still on the way to the servers' lists.
    world.gateway.detach(client);
    let asked = world.ask(Some(client), "resources/subscribe", r#"{"uri":"x://1"}"#);
    assert!(asked.reply.await.unwrap().is_err());
    assert_eq!(subscriptions(&world, "a"), [""; 0]);
    assert_eq!(world.fake("a").calls(), [""; 0]);
}

#[tokio::test]
async fn a_subscription_ends_while_the_lists_are_gone() {
    let world = world();
    let (client, _) = join(&world);
    world.call_as(client, "resources/subscribe", r#"{"uri":"x://1"}"#).await;
    world.fake("a").vanish(Phase::Idle);
    world.gateway.detach(client);
    assert_eq!(subscriptions(&world, "a"), [""; 0]);
}

#[tokio::test]
async fn a_cancelled_subscription_does_not_stand() {
    let world = world();
    let (client, _) = join(&world);
    world.fake("a").holds();
    let asked = world.ask(Some(client), "resources/subscribe", r#"{"uri":"x://1"}"#);
    assert_eq!(subscriptions(&world, "a"), ["x://1"]);
    asked.flight.cancel(None);
    assert_eq!(subscriptions(&world, "a"), [""; 0]);
    let told = [r#"resources/subscribe {"uri":"x://1"}"#, r#"resources/unsubscribe {"uri":"x://1"}"#];
    assert_eq!(world.fake("a").calls(), told, "the server may have taken it already");
}

// H4: 10,000 sessions, one that listens to 8,000 resources and hangs up; it was 160 million looks at clients.
#[tokio::test]
async fn hanging_up_costs_what_was_subscribed_to_however_many_others_there_are() {
    let world = World::new(&servers(&["a"], ""));
    world.fake("a").publish(r#"{"resourceTemplates":[{"uriTemplate":"x://{id}"}]}"#);
    for _ in 0..10_000 {
        join(&world);
    }
    let (client, heard) = join(&world);
    for number in 0..8_000 {
        world.call_as(client, "resources/subscribe", &format!(r#"{{"uri":"x://{number}"}}"#)).await;
    }
    assert_eq!(subscriptions(&world, "a").len(), 8_000);
    for number in 0..8_000 {
        updated(&world, "a", &format!("x://{number}"));
    }
    assert_eq!(heard.take().len(), 8_000);
    world.fake("a").calls();
    world.fake("a").holds();
    world.gateway.detach(client);
    // The server is told of all, and never of more at once than it has room for.
    let mut told = 0;
    while told < 8_000 {
        tokio::task::yield_now().await;
        let held = world.fake("a").held();
        assert!(held.len() <= 1024, "{}", held.len());
        told += held.len();
        held.into_iter().for_each(|(_, exchange)| exchange.finish(Ok(Raw::from_static("{}"))));
    }
    assert_eq!((told, subscriptions(&world, "a")), (8_000, vec![]));
    let looked_at = world.gateway.clients.looked_at.load(std::sync::atomic::Ordering::Relaxed);
    assert!(looked_at <= 3 * 8_000, "{looked_at} clients were looked at");
}

// H4
#[tokio::test]
async fn a_client_that_has_too_many_subscriptions_is_told_so() {
    let world = world();
    let (client, _) = join(&world);
    let long = "z".repeat(crate::MAX_SUBSCRIPTION_BYTES);
    let answer = world.call_as(client, "resources/subscribe", &format!(r#"{{"uri":"y://{long}"}}"#)).await;
    expect![[r#"fault {"code":-32600,"message":"Invalid request: this client has as many subscriptions as one may (10000, and 1048576 bytes of their URIs); unsubscribe from some first"}"#]].assert_eq(&answer);
    assert_eq!((subscriptions(&world, "a"), world.fake("a").calls()), (vec![], vec![]));
}

// Decision 3: a server that two namespaces share is one process.
#[tokio::test]
async fn a_subscription_of_another_namespace_stands() {
    let config = r#"{"servers":{"a":{"builtin":"time"}},"namespaces":[{"id":"p","serverIds":["a"]},{"id":"q","serverIds":["a"]}]}"#;
    let world = World::open(config, Some("p"), Audience::Shared);
    let other = world.also("q");
    world.fake("a").publish(r#"{"resources":[{"uri":"x://1"}]}"#);
    let (here, _) = join(&world);
    let (there, _) = join(&other);
    world.call_as(here, "resources/subscribe", r#"{"uri":"x://1"}"#).await;
    other.call_as(there, "resources/subscribe", r#"{"uri":"x://1"}"#).await;
    world.fake("a").calls();
    world.gateway.detach(here);
    assert_eq!(subscriptions(&world, "a"), ["x://1"]);
    other.gateway.detach(there);
    assert_eq!(subscriptions(&world, "a"), [""; 0]);
    assert_eq!(world.fake("a").calls(), [r#"resources/unsubscribe {"uri":"x://1"}"#]);
}
