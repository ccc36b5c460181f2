//! `shared: false` (H3): each client has an instance of its own.

use manifold_protocol::Revision;

use super::*;
use crate::audience::Audience;
use crate::fake::{Asked, Fake, Listener, World, call, caller, config, raw, tools};
use crate::outbox::Outbox;

const OWN: &str = r#"{"mcpServers":{"a":{"command":"/bin/true","shared":false}}}"#;

fn world(text: &str) -> World {
    World::open(text, None, Audience::Shared)
}

fn join(world: &World) -> (ClientId, Arc<Listener>) {
    let listener = Arc::new(Listener::default());
    (world.gateway.attach(Arc::clone(&listener) as _), listener)
}

/// Calls the tool `x` and leaves the answer to the server.
fn begin(world: &World, client: ClientId) -> Asked {
    world.ask(Some(client), "tools/call", r#"{"name":"a__x"}"#)
}

/// Makes what there is known, as the first list does.
async fn listed(world: &World) {
    world.fake("a").offers(&tools(&["x"]));
    world.call("tools/list", "{}").await;
}

/// Lets what was begun beside us go on.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

/// Lets two clients come, each of which has called its own instance.
async fn two_instances(world: &World) -> ((ClientId, Arc<Fake>), (ClientId, Arc<Fake>)) {
    listed(world).await;
    let ((first, _), (second, _)) = (join(world), join(world));
    begin(world, first).reply.await.unwrap().unwrap();
    let of_first = world.fake("a");
    begin(world, second).reply.await.unwrap().unwrap();
    ((first, of_first), (second, world.fake("a")))
}

#[tokio::test(start_paused = true)]
async fn each_client_has_an_instance_of_its_own_from_its_first_call() {
    let world = world(OWN);
    listed(&world).await;
    let lister = world.fake("a");
    assert_eq!(lister.orders(), [Order::Sleep], "whoever lists needs no process any longer");
    let clients: Vec<ClientId> = (0..3).map(|_| join(&world).0).collect();
    for client in &clients {
        assert!(world.call_as(*client, "tools/list", "{}").await.contains("a__x"));
    }
    assert_eq!((world.made(), lister.discovered()), (1, 1), "lists start nothing");
    let mut instances = Vec::new();
    for client in &clients {
        world.call_as(*client, "tools/call", r#"{"name":"a__x"}"#).await;
        world.call_as(*client, "tools/call", r#"{"name":"a__x"}"#).await;
        instances.push(world.fake("a"));
    }
    assert_eq!(world.made(), 4);
    assert!(instances.iter().all(|one| one.calls().len() == 2));
    assert_eq!(lister.calls(), [""; 0]);
    assert_eq!(world.control.servers()[0].instances.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn an_instance_ends_with_its_client_and_not_before_its_calls() {
    let world = world(OWN);
    let ((first, of_first), (second, of_second)) = two_instances(&world).await;
    of_second.holds();
    let kept = begin(&world, second);
    world.gateway.detach(first);
    world.gateway.detach(second);
    settle().await;
    assert_eq!((of_first.is_closed(), of_second.is_closed()), (true, false));
    let (_, exchange) = of_second.held().remove(0);
    exchange.finish(Ok(raw("{}")));
    assert!(kept.reply.await.unwrap().is_ok());
    settle().await;
    assert!(of_second.is_closed());
    assert_eq!(world.control.servers()[0].instances, []);

    // Nor does one that has left already get an instance.
    let made = world.made();
    let (exchange, asked) = Asked::open(Some(first));
    asked.flight.cancel(None);
    world.gateway.dispatch(call("tools/call", r#"{"name":"a__x"}"#), exchange);
    assert_eq!(world.made(), made);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_is_over_for_its_instance() {
    let world = world(OWN);
    listed(&world).await;
    let (client, _) = join(&world);
    begin(&world, client).reply.await.unwrap().unwrap();
    let instance = world.fake("a");
    instance.holds();
    let asked = begin(&world, client);
    asked.flight.cancel(None);
    world.gateway.detach(client);
    settle().await;
    assert!(instance.is_closed());
}

#[tokio::test(start_paused = true)]
async fn whoever_is_not_known_has_an_instance_for_one_call() {
    let world = world(OWN);
    listed(&world).await;
    for _ in 0..2 {
        world.call("tools/call", r#"{"name":"a__x"}"#).await;
        settle().await;
        assert!(world.fake("a").is_closed());
    }
    assert_eq!(world.made(), 3);
    let passer_by = world.gateway.passer_by();
    begin(&world, passer_by).reply.await.unwrap().unwrap();
    let instance = world.fake("a");
    settle().await;
    assert!(!instance.is_closed());
    world.gateway.passed_by(passer_by);
    settle().await;
    assert!(instance.is_closed());
}

#[tokio::test(start_paused = true)]
async fn what_an_instance_says_is_for_its_client_alone() {
    let world = world(OWN);
    listed(&world).await;
    let ((first, here), (_second, there)) = (join(&world), join(&world));
    begin(&world, first).reply.await.unwrap().unwrap();
    let instance = world.fake("a");
    let (key, host) = instance.host();
    assert_eq!(host.audience(), Audience::One);
    host.notice(key, "notifications/message", Some(raw(r#"{"level":"info"}"#)));
    host.notice(key, "notifications/odd", None);
    assert_eq!(instance.question("elicitation/create").await, r#"{"answered":"by the client"}"#);
    let heard = here.take();
    assert_eq!(
        heard,
        [r#"notifications/message {"level":"info"}"#, "notifications/odd", "? elicitation/create"]
    );
    assert_eq!(there.take(), [""; 0]);
    world.gateway.detach(first);
    assert!(instance.question("elicitation/create").await.starts_with("fault"));
    assert_eq!(there.take(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn an_instance_is_told_of_its_own_client_what_it_can_do_and_wants_to_hear() {
    let text = r#"{"mcpServers":{"a":{"command":"/bin/true","shared":false}},"roots":["file:///r"]}"#;
    let world = world(text);
    world
        .fake("a")
        .offers(r#"{"tools":[{"name":"x"}],"resources":[{"uri":"x://1"}],"capabilities":{"logging":{}}}"#);
    world.call("tools/list", "{}").await;
    world.gateway.introduce(ClientFacts {
        capabilities: raw(r#"{"elicitation":{},"sampling":{}}"#),
        info: raw(r#"{"name":"anyone"}"#),
        revision: Revision::LATEST,
    });
    let subscribe = async |capabilities: &str| {
        let (client, listener) = join(&world);
        let (exchange, asked) = Asked::open(Some(client));
        let subscribing = call("resources/subscribe", r#"{"uri":"x://1"}"#).by(caller(capabilities));
        world.gateway.dispatch(subscribing, exchange);
        asked.reply.await.unwrap().unwrap();
        (client, listener, world.fake("a"))
    };
    let (first, here, of_first) = subscribe(r#"{"elicitation":{}}"#).await;
    let (_, there, of_second) = subscribe("{}").await;
    let facts = of_first.host().1.client_facts();
    assert_eq!(facts.capabilities, raw(r#"{"elicitation":{},"roots":{}}"#));
    assert_eq!(facts.info, raw(r#"{"name":"c"}"#));
    assert_eq!(of_second.host().1.client_facts().capabilities, raw(r#"{"roots":{}}"#));

    let stands = |fake: &Fake| fake.host().1.standing(fake.host().0).subscriptions.len();
    let update = |fake: &Fake| {
        let (key, host) = fake.host();
        host.notice(key, "notifications/resources/updated", Some(raw(r#"{"uri":"x://1"}"#)));
        (here.take().len(), there.take().len())
    };
    assert_eq!((stands(&of_first), stands(&of_second)), (1, 1));
    assert_eq!((update(&of_first), update(&of_second)), ((1, 0), (0, 1)));
    of_first.calls();
    world.call_as(first, "resources/unsubscribe", r#"{"uri":"x://1"}"#).await;
    assert_eq!(of_first.calls(), [r#"resources/unsubscribe {"uri":"x://1"}"#], "others want it of theirs");
    assert_eq!((stands(&of_first), stands(&of_second)), (0, 1));
    assert_eq!(update(&of_first), (0, 0));

    for fake in [&of_first, &of_second] {
        fake.publish(&tools(&["x"]));
        fake.calls();
    }
    world.call_as(first, "logging/setLevel", r#"{"level":"debug"}"#).await;
    for fake in [&of_first, &of_second] {
        assert_eq!(fake.host().1.standing(fake.host().0).log_level, Some(raw(r#"{"level":"debug"}"#)));
    }
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_fails_takes_nothing_from_the_others() {
    let world = world(OWN);
    let ((first, of_first), (_, of_second)) = two_instances(&world).await;
    of_first.publish(&tools(&["x", "new"]));
    assert_eq!(world.names(Kind::Tools).await[..2], ["a__x", "a__new"]);
    of_second.vanish(Phase::Failed(Fault::ShuttingDown));
    assert_eq!(world.names(Kind::Tools).await[..2], ["a__x", "a__new"]);
    let row = &world.control.servers()[0];
    assert_eq!((row.state, row.pid), ("ready", Some(7)));
    let states: Vec<&str> = row.instances.iter().map(|one| one.state).collect();
    assert_eq!(states, ["ready", "failed"]);
    let logs = world.control.logs("a", 30).unwrap();
    assert_eq!(logs.len(), 3);
    assert_eq!(logs[1], format!("[client {}] the last 10 lines", first.0));
}

// D5: what an instance offers a client that can do less is not what there is for all
#[tokio::test(start_paused = true)]
async fn an_instance_that_offers_less_to_one_who_can_do_less_hides_nothing_from_others() {
    let world = world(OWN);
    world.gateway.introduce(ClientFacts {
        capabilities: raw(r#"{"sampling":{}}"#),
        info: raw(r#"{"name":"anyone"}"#),
        revision: Revision::LATEST,
    });
    let lister = world.fake("a");
    lister.offers(&tools(&["x", "sample"]));
    world.call("tools/list", "{}").await;
    let shown = async || world.list_as(Kind::Tools, r#"{"sampling":{}}"#).await.items.to_string();
    let instance = async |capabilities: &str| {
        let (client, _) = join(&world);
        let (exchange, asked) = Asked::open(Some(client));
        let calling = call("tools/call", r#"{"name":"a__x"}"#).by(caller(capabilities));
        world.gateway.dispatch(calling, exchange);
        asked.reply.await.unwrap().unwrap();
        world.fake("a")
    };
    let plain = instance("{}").await;
    plain.publish(&tools(&["x"]));
    assert!(shown().await.contains("a__sample"), "{}", shown().await);
    assert_eq!(lister.heard_elsewhere(), 1);
    lister.withholds(&[("{}", &["sample"])]);
    plain.publish(&tools(&["x"]));
    let less = world.list_as(Kind::Tools, "{}").await.items.to_string();
    assert!(!less.contains("a__sample") && shown().await.contains("a__sample"), "{less}");
    plain.publish(&tools(&["x", "new"]));
    assert!(shown().await.contains("a__new"), "what nobody knew is news for all");
    instance(r#"{"sampling":{}}"#).await.publish(&tools(&["x"]));
    assert!(!shown().await.contains("a__sample"), "who can do as much speaks for all");
}

#[tokio::test(start_paused = true)]
async fn orders_and_reloads_are_for_all_instances() {
    let world = world(OWN);
    listed(&world).await;
    let lister = world.fake("a");
    let ((first, _), (second, _)) = (join(&world), join(&world));
    begin(&world, first).reply.await.unwrap().unwrap();
    let instance = world.fake("a");
    world.control.order("a", Order::Restart).await.unwrap();
    assert_eq!((instance.orders(), lister.orders()), (vec![Order::Restart], vec![Order::Sleep]));
    world.control.order("a", Order::Stop).await.unwrap();
    assert_eq!((instance.orders().len(), lister.orders().len()), (2, 2));
    let made = world.made();
    let refused = world.call_as(second, "tools/call", r#"{"name":"a__x"}"#).await;
    assert!(refused.contains("it was stopped; use the servers_start tool"), "{refused}");
    assert_eq!(world.made(), made, "whoever comes later is refused, too");
    world.control.order("a", Order::Start).await.unwrap();
    begin(&world, second).reply.await.unwrap().unwrap();

    let relabelled = r#"{"mcpServers":{"a":{"command":"/bin/true","shared":false,"name":"Alpha"}}}"#;
    world.fleet.apply(Arc::new(config(relabelled))).await;
    assert!(!instance.is_closed());
    let changed = r#"{"mcpServers":{"a":{"command":"/bin/true"}}}"#;
    world.fleet.apply(Arc::new(config(changed))).await;
    assert!(instance.is_closed() && lister.is_closed());
}

#[tokio::test(start_paused = true)]
async fn what_only_an_operator_starts_is_started_for_everybody() {
    let world =
        world(r#"{"mcpServers":{"a":{"command":"/bin/true","shared":false,"eager":false,"lazy":false}}}"#);
    world.fake("a").offers(&tools(&["x"]));
    world.control.order("a", Order::Start).await.unwrap();
    let (client, _) = join(&world);
    begin(&world, client).reply.await.unwrap().unwrap();
    assert_eq!(world.fake("a").server_start(), ServerStart::Lazy);
}

#[tokio::test(start_paused = true)]
async fn there_are_only_so_many_instances() {
    let world = world(OWN);
    listed(&world).await;
    let mut first = None;
    for _ in 0..MAX_INSTANCES {
        let (client, _) = join(&world);
        begin(&world, client).reply.await.unwrap().unwrap();
        world.fake("a").publish(&tools(&["x"]));
        first.get_or_insert_with(|| world.fake("a"));
    }
    let (late, _) = join(&world);
    let refused = world.call_as(late, "tools/call", r#"{"name":"a__x"}"#).await;
    assert!(refused.contains("256 clients have a process of their own there"), "{refused}");
    // One whose process rests has nothing to lose.
    let resting = first.unwrap();
    resting.vanish(Phase::Idle);
    begin(&world, late).reply.await.unwrap().unwrap();
    settle().await;
    assert!(resting.is_closed());
}

#[tokio::test(start_paused = true)]
async fn the_only_client_needs_no_second_process() {
    let world = World::new(OWN);
    world.gateway.serve_only(&Arc::new(Outbox::new(1 << 20)));
    listed(&world).await;
    let (client, listener) = join(&world);
    begin(&world, client).reply.await.unwrap().unwrap();
    let only = world.fake("a");
    assert_eq!((only.discovered(), only.calls().len(), only.orders()), (1, 1, vec![]));
    let (key, host) = only.host();
    host.notice(key, "notifications/message", Some(raw(r#"{"level":"info"}"#)));
    assert_eq!(listener.take().len(), 1);
}
