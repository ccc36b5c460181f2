use super::*;
use crate::fake::{World, config as read, raw};

fn user(audience: Audience, capabilities: &str, name: &str) -> Arc<Downstream> {
    let user = Downstream::new(Weak::new(), audience);
    let info = raw(&format!(r#"{{"name":"{name}"}}"#));
    user.set_facts(ClientFacts { capabilities: raw(capabilities), info, revision: Revision::LATEST });
    user
}

#[test]
fn one_gateway_of_one_client_makes_an_audience_of_one() {
    let users = Users::default();
    assert_eq!(users.audience(), Audience::Shared, "nobody is in doubt anybody");
    let (first, second) = (user(Audience::One, "{}", "a"), user(Audience::One, "{}", "b"));
    first.set_outbox(&Arc::new(Outbox::new(1 << 20)));
    assert!(users.join(&first) && !users.join(&first));
    assert_eq!(users.audience(), Audience::One);
    assert!(users.only_outbox().is_some());
    assert!(users.join(&second));
    assert_eq!(users.audience(), Audience::Shared);
    assert!(users.only_outbox().is_none(), "nobody waits for another's client");
    users.leave(&first);
    assert_eq!((users.audience(), users.has(&first), users.has(&second)), (Audience::One, false, true));
    let shared = Users::default();
    shared.join(&user(Audience::Shared, "{}", "a"));
    assert_eq!(shared.audience(), Audience::Shared);
}

// Decision 29
#[test]
fn those_who_share_an_instance_are_told_of_together() {
    let users = Users::default();
    assert_eq!(users.facts().capabilities, raw("{}"));
    let first = user(
        Audience::One,
        r#"{"sampling":{ },"elicitation":{"form":{}},"roots":{"listChanged":false}}"#,
        "a",
    );
    users.join(&first);
    let told = |users: &Users| (users.facts().capabilities.to_string(), users.facts().info.to_string());
    let alone = told(&users);
    assert_eq!(alone.0, r#"{"sampling":{ },"elicitation":{"form":{}},"roots":{"listChanged":false}}"#);
    assert_eq!(alone.1, r#"{"name":"a"}"#);
    let second = user(Audience::One, r#"{"elicitation":{"url":{}},"roots":{"listChanged":true},"x":1}"#, "b");
    users.join(&second);
    let (capabilities, info) = told(&users);
    let union = r#"{"sampling":{ },"elicitation":{"form":{},"url":{}},"roots":{"listChanged":true},"x":1}"#;
    assert_eq!((capabilities.as_str(), info.as_str()), (union, r#"{"name":"manifold","version":"0"}"#));
    users.leave(&second);
    assert_eq!(told(&users), alone);
}

#[test]
fn who_can_do_the_same_is_told_of_in_the_same_bytes() {
    let users = Users::default();
    let capabilities = r#"{ "sampling" : {} }"#;
    for _ in 0..3 {
        users.join(&user(Audience::Shared, capabilities, "a"));
    }
    assert_eq!(users.facts().capabilities.as_str(), capabilities);
    assert_eq!(users.facts().info.as_str(), r#"{"name":"a"}"#);
}

#[test]
fn capabilities_are_joined_so_far_down() {
    let deep = |leaf: &str| raw(&format!(r#"{{"a":{{"b":{{"c":{{"d":{{"{leaf}":1}}}}}}}}}}"#));
    assert_eq!(union_of(&deep("x"), &deep("y"), MAX_DEPTH), deep("x"));
    assert_eq!(union_of(&raw("null"), &raw("{}"), 1), raw("{}"));
    assert_eq!(union_of(&raw("1"), &raw("{}"), 1), raw("1"));
}

#[test]
fn no_more_of_many_capabilities_are_joined_than_can_be_meant() {
    let many = |prefix: &str| {
        let members: Vec<String> = (0..10_000).map(|at| format!(r#""{prefix}{at}":{{}}"#)).collect();
        raw(&format!("{{{}}}", members.join(",")))
    };
    let few = raw(r#"{"sampling":{}}"#);
    assert_eq!(union_of(&few, &many("x"), MAX_DEPTH).object().unwrap().len(), MAX_MEMBERS);
    assert_eq!(union_of(&many("x"), &few, MAX_DEPTH), many("x"), "its own it has said itself");
    assert_eq!(union_of(&many("x"), &many("y"), MAX_DEPTH), many("x"));
}

// FACES 1.5: several gateways of one client each in one process
#[tokio::test(start_paused = true)]
async fn a_server_is_one_clients_until_a_second_gateway_uses_it() {
    let config = r#"{"servers":{"a":{"builtin":"time"},"b":{"builtin":"time"}},
        "namespaces":[{"id":"p","serverIds":["a","b"]},{"id":"q","serverIds":["b"]}]}"#;
    let world = World::open(config, Some("p"), Audience::One);
    let audience = |world: &World, id: &str| world.fake(id).host().1.audience();
    assert_eq!((audience(&world, "a"), audience(&world, "b")), (Audience::One, Audience::One));
    let facts = |capabilities: &str| ClientFacts {
        capabilities: raw(capabilities),
        info: raw("{}"),
        revision: Revision::LATEST,
    };
    world.gateway.introduce(facts(r#"{"sampling":{}}"#));
    let also = world.also_for("q", Audience::One);
    also.gateway.introduce(facts(r#"{"roots":{}}"#));
    assert_eq!((audience(&world, "a"), audience(&world, "b")), (Audience::One, Audience::Shared));
    let told = |id: &str| world.fake(id).host().1.client_facts().capabilities.to_string();
    assert_eq!(told("a"), r#"{"sampling":{}}"#, "of a client that does not use it nothing is told");
    assert_eq!(told("b"), r#"{"sampling":{},"roots":{}}"#);
    drop(also);
    assert_eq!((audience(&world, "b"), told("b").as_str()), (Audience::One, r#"{"sampling":{}}"#));
}

#[tokio::test(start_paused = true)]
async fn a_reload_changes_who_uses_a_server() {
    let config = |p: &str| {
        format!(
            r#"{{"servers":{{"a":{{"builtin":"time"}},"b":{{"builtin":"time"}}}},
                "namespaces":[{{"id":"p","serverIds":[{p}]}}]}}"#
        )
    };
    let world = World::open(&config(r#""a""#), Some("p"), Audience::One);
    let capabilities = raw(r#"{"sampling":{}}"#);
    let revision = Revision::LATEST;
    world.gateway.introduce(ClientFacts { capabilities: capabilities.clone(), info: raw("{}"), revision });
    let b = world.fake("b");
    assert_eq!(b.host().1.audience(), Audience::Shared, "nobody uses it");
    world.fleet.apply(Arc::new(read(&config(r#""a","b""#)))).await;
    assert_eq!(b.host().1.audience(), Audience::One);
    assert_eq!(b.host().1.client_facts().capabilities, capabilities);
    world.fleet.apply(Arc::new(read(&config(r#""a""#)))).await;
    assert_eq!(b.host().1.audience(), Audience::Shared);
}
