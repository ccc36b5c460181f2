use manifold_config::ServerKey;
use manifold_protocol::{Kind, Revision};

use super::*;
use crate::audience::Audience;
use crate::fake::{Listener, World, config, raw, servers, tools};
use crate::upstream::{ClientFacts, Phase};

fn id(key: &ServerKey) -> &str {
    &key.id
}

fn ids(keys: &[ServerKey]) -> Vec<&str> {
    keys.iter().map(id).collect()
}

// S1-52
#[tokio::test]
async fn a_reload_leaves_untouched_servers_alone() {
    let world = World::new(&servers(&["a", "b", "gone"], ""));
    for id in ["a", "b", "gone"] {
        world.fake(id).publish(&tools(&["x"]));
    }
    let before = world.fleet.slots();
    let (old_b, gone) = (world.fake("b"), world.fake("gone"));
    let new = r#"{"mcpServers":{"new":{"builtin":"time"},"a":{"builtin":"time"},"b":{"builtin":"time","timeout":5000}}}"#;
    let difference = world.fleet.apply(Arc::new(config(new))).await;
    assert_eq!(ids(&difference.added), ["new"]);
    assert_eq!(ids(&difference.removed), ["gone"]);
    assert_eq!(ids(&difference.changed), ["b"]);

    let after = world.fleet.slots();
    assert!(Arc::ptr_eq(&before[0].upstream, &after[1].upstream), "`a` is the same upstream");
    assert!(!world.fake("a").is_closed());
    assert!(old_b.is_closed() && gone.is_closed(), "what had to go is gone when the reload returns");
    assert_eq!(world.names(Kind::Tools).await, ["a__x", "manifold__servers_list"]);
}

#[tokio::test]
async fn a_new_label_needs_no_restart() {
    let world = World::new(&servers(&["a"], ""));
    world.fake("a").publish(&tools(&["x", "y"]));
    let new = r#"{"mcpServers":{"a":{"builtin":"time","name":"Alpha","deniedTools":["y"]}},"separator":"-"}"#;
    let difference = world.fleet.apply(Arc::new(config(new))).await;
    assert_eq!(ids(&difference.relabelled), ["a"]);
    assert_eq!(world.made(), 1);
    assert!(!world.fake("a").is_closed());
    let list = world.call("tools/list", "{}").await;
    assert!(
        list.starts_with(
            r#"{"tools":[{"name":"a-x","description":"[Alpha]"},{"name":"manifold-servers_list""#
        ),
        "{list}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_reload_is_announced_where_the_lists_changed() {
    let world = World::new(&servers(&["a"], ""));
    world.fake("a").publish(&tools(&["x"]));
    let listener = Arc::new(Listener::default());
    let client = world.gateway.attach(Arc::clone(&listener) as _);
    world.call_as(client, "tools/list", "{}").await;
    world.call_as(client, "prompts/list", "{}").await;
    world.fleet.apply(Arc::new(config(&servers(&["a"], r#""callTimeout":1000"#)))).await;
    tokio::time::sleep(crate::changes::SETTLE * 2).await;
    assert_eq!(listener.take(), [""; 0]);
    world.fleet.apply(Arc::new(config(&servers(&[], "")))).await;
    tokio::time::sleep(crate::changes::SETTLE * 2).await;
    assert_eq!(listener.take(), ["notifications/tools/list_changed"]);
}

// What a server was told to begin with holds for its successor too.
#[tokio::test]
async fn a_changed_server_keeps_its_standing_orders() {
    let world = World::new(&servers(&["a"], ""));
    world.call("logging/setLevel", r#"{"level":"debug"}"#).await;
    let new = r#"{"mcpServers":{"a":{"builtin":"time","timeout":5000}}}"#;
    world.fleet.apply(Arc::new(config(new))).await;
    let fake = world.fake("a");
    let (key, host) = fake.host();
    assert_eq!(host.standing(key).log_level, Some(raw(r#"{"level":"debug"}"#)));
}

// S0-10, decision 3
#[tokio::test]
async fn schemas_own_their_servers_and_namespaces_share_them() {
    let schemas = r#"{"schemas":{"p":{"mcpServers":{"a":{"builtin":"time"}}},"q":{"mcpServers":{"a":{"builtin":"time"}}}}}"#;
    assert_eq!(World::open(schemas, Some("p"), Audience::Shared).made(), 2);
    let shared = r#"{"servers":{"a":{"builtin":"time"}},"namespaces":[{"id":"p","serverIds":["a"]},{"id":"q","serverIds":["a"]}]}"#;
    assert_eq!(World::open(shared, Some("p"), Audience::Shared).made(), 1);
}

// Decision 29
#[tokio::test]
async fn servers_are_told_what_the_last_client_can_do() {
    let world = World::new(&servers(&["a"], ""));
    let fake = world.fake("a");
    assert_eq!(fake.host().1.client_facts().capabilities, raw("{}"));
    let facts = ClientFacts {
        capabilities: raw(r#"{"sampling":{}}"#),
        info: raw(r#"{"name":"c"}"#),
        revision: Revision::LATEST,
    };
    world.gateway.introduce(facts);
    assert_eq!(fake.host().1.client_facts().capabilities, raw(r#"{"sampling":{}}"#));
    assert_eq!(fake.host().1.client_facts().info, raw(r#"{"name":"c"}"#));
}

#[tokio::test]
async fn introducing_adds_roots_where_the_config_has_some() {
    let world = World::new(&servers(&["a"], r#""roots":["file:///r"]"#));
    let introduce = |capabilities: &str| {
        world.gateway.introduce(ClientFacts {
            capabilities: raw(capabilities),
            info: raw("{}"),
            revision: Revision::LATEST,
        });
        world.fake("a").host().1.client_facts().capabilities.as_str().to_owned()
    };
    assert_eq!(introduce(r#"{"sampling":{}}"#), r#"{"sampling":{},"roots":{}}"#);
    assert_eq!(introduce(r#"{"roots":{"listChanged":true}}"#), r#"{"roots":{"listChanged":true}}"#);
}

#[tokio::test]
async fn closing_ends_every_server() {
    let world = World::new(&servers(&["a", "b"], ""));
    world.fleet.close().await;
    assert!(world.fake("a").is_closed() && world.fake("b").is_closed());
}

#[tokio::test]
async fn upstreams_outlive_their_fleet_without_harm() {
    let world = World::new(&servers(&["a"], ""));
    let fake = world.fake("a");
    drop(world);
    fake.vanish(Phase::Idle);
    let (key, host) = fake.host();
    assert_eq!(host.client_facts().capabilities, raw("{}"));
    assert_eq!(host.standing(key).log_level, None);
    host.notice(key, "notifications/message", None);
    assert!(fake.question("roots/list").await.starts_with(r#"fault {"code":-32601"#));
}

// Decision 29: nothing starts before a client has introduced itself, and then nothing eager is forgotten.
#[tokio::test(start_paused = true)]
async fn an_eager_server_that_a_reload_brings_is_started() {
    let world = World::new(&servers(&["a"], ""));
    let with_eager = |id: &str| {
        format!(r#"{{"mcpServers":{{"a":{{"builtin":"time"}},"{id}":{{"builtin":"time","eager":true}}}}}}"#)
    };
    world.fleet.apply(Arc::new(config(&with_eager("early")))).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(world.fake("early").discovered(), 0);
    world.gateway.introduce(ClientFacts {
        capabilities: raw("{}"),
        info: raw("{}"),
        revision: Revision::LATEST,
    });
    world.fleet.apply(Arc::new(config(&with_eager("late")))).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!((world.fake("late").discovered(), world.fake("a").discovered()), (1, 0));
}
