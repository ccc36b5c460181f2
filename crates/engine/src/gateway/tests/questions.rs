use std::sync::Arc;

use expect_test::expect;

use crate::audience::Audience;
use crate::fake::{Asked, Listener, World, call, raw, servers, show};
use crate::upstream::Addressee;

const ROOTS: &str = r#""roots":["file:///r",{"uri":"file:///s","name":"S"}]"#;

fn join(world: &World) -> Arc<Listener> {
    let listener = Arc::new(Listener::default());
    world.gateway.attach(Arc::clone(&listener) as _);
    listener
}

// Decision 29
#[tokio::test]
async fn questions_outside_a_call_go_to_the_one_client() {
    let world = World::new(&servers(&["a"], ROOTS));
    let none = world.fake("a").question("roots/list").await;
    expect![[r#"{"roots":[{"uri":"file:///r"},{"uri":"file:///s","name":"S"}]}"#]].assert_eq(&none);
    let declined = world.fake("a").question("sampling/createMessage").await;
    expect![[r#"fault {"code":-32601,"message":"The client does not support `sampling/createMessage`"}"#]]
        .assert_eq(&declined);

    let first = join(&world);
    let answer = r#"{"answered":"by the client"}"#;
    assert_eq!(world.fake("a").question("roots/list").await, answer);
    assert_eq!(world.fake("a").question("sampling/createMessage").await, answer);
    assert_eq!(first.take(), ["? roots/list", "? sampling/createMessage"]);

    let second = join(&world);
    assert_eq!(world.fake("a").question("roots/list").await, none);
    assert_eq!(
        world.fake("a").question("elicitation/create").await,
        declined.replace("sampling/createMessage", "elicitation/create")
    );
    assert_eq!(first.take().len() + second.take().len(), 0);
}

#[tokio::test]
async fn a_server_s_own_roots_go_before_the_common_ones() {
    let config = format!(
        r#"{{"mcpServers":{{"a":{{"builtin":"time","roots":["file:///own"]}},"b":{{"builtin":"time"}}}},{ROOTS}}}"#
    );
    let world = World::new(&config);
    assert_eq!(world.fake("a").question("roots/list").await, r#"{"roots":[{"uri":"file:///own"}]}"#);
    assert!(world.fake("b").question("roots/list").await.contains("file:///r"));
    join(&world);
    assert_eq!(world.fake("a").question("roots/list").await, r#"{"roots":[{"uri":"file:///own"}]}"#);
    assert_eq!(world.fake("b").question("roots/list").await, r#"{"answered":"by the client"}"#);
}

#[tokio::test]
async fn without_roots_in_the_config_the_answer_is_none() {
    let world = World::new(&servers(&["a"], ""));
    assert_eq!(world.fake("a").question("roots/list").await, r#"{"roots":[]}"#);
}

#[tokio::test]
async fn a_question_a_client_cannot_answer_is_answered_from_the_config() {
    let world = World::new(&servers(&["a"], ROOTS));
    let decline = async |method: &str| {
        let (exchange, asked) = Asked::open(None);
        world.gateway.decline(&call(method, "{}"), exchange);
        show(&asked.reply.await.unwrap())
    };
    assert!(decline("roots/list").await.contains(r#""name":"S""#));
    assert!(decline("elicitation/create").await.starts_with(r#"fault {"code":-32601"#));
}

// One process, two namespaces: no client is the natural one to ask.
#[tokio::test]
async fn a_shared_server_s_question_goes_to_no_client() {
    let config = r#"{"servers":{"a":{"builtin":"time"}},"namespaces":[{"id":"p","serverIds":["a"]},{"id":"q","serverIds":["a"]}]}"#;
    let world = World::open(config, Some("p"), Audience::Shared);
    let listener = join(&world);
    assert_eq!(world.fake("a").question("roots/list").await, r#"{"answered":"by the client"}"#);
    let _other = world.also("q");
    listener.take();
    assert_eq!(world.fake("a").question("roots/list").await, r#"{"roots":[]}"#);
    assert_eq!(listener.take(), [""; 0]);
}

// H3: a question that may belong to somebody else's call, the last one there was
#[tokio::test]
async fn a_question_outside_a_call_goes_to_nobody_but_the_last_caller() {
    let world = World::new(&servers(&["a"], ""));
    let listener = Arc::new(Listener::default());
    let here = world.gateway.attach(Arc::clone(&listener) as _);
    let fake = world.fake("a");
    let (key, host) = fake.host();
    let ask = async |last_caller| {
        let (exchange, asked) = Asked::open(None);
        host.ask(key, last_caller, call("elicitation/create", "{}"), exchange);
        show(&asked.reply.await.unwrap())
    };
    assert_eq!(ask(Some(here)).await, r#"{"answered":"by the client"}"#);
    let passer_by = world.gateway.passer_by();
    assert!(ask(Some(passer_by)).await.starts_with(r#"fault {"code":-32601"#));
    assert_eq!(listener.take(), ["? elicitation/create"]);
}

// H3: clients of two namespaces meet at a server both show
#[tokio::test]
async fn no_two_clients_have_one_id() {
    let world = World::new(&servers(&["a"], ""));
    let other = World::new(&servers(&["a"], ""));
    let join = |world: &World| world.gateway.attach(Arc::new(Listener::default()));
    let ids = [join(&world), join(&other), world.gateway.passer_by(), other.gateway.passer_by()];
    assert_eq!(std::collections::HashSet::from(ids).len(), 4);
}

// M13
#[tokio::test]
async fn what_is_one_client_s_is_told_to_no_other() {
    let config = r#"{"servers":{"a":{"builtin":"time"}},"namespaces":[{"id":"p","serverIds":["a"]},{"id":"q","serverIds":["a"]}]}"#;
    let world = World::open(config, Some("p"), Audience::Shared);
    let other = world.also("q");
    let (here, there) = (Arc::new(Listener::default()), Arc::new(Listener::default()));
    let fake = world.fake("a");
    let (key, host) = fake.host();
    let tell = |to| {
        host.tell(key, to, "notifications/message", Some(raw(r#"{"level":"info"}"#)));
        (here.take().len(), there.take().len())
    };
    let first = world.gateway.attach(Arc::clone(&here) as _);
    assert_eq!(tell(Addressee::Only { last_caller: None }), (1, 0));
    assert_eq!(tell(Addressee::Only { last_caller: Some(first) }), (1, 0));
    let passer_by = world.gateway.passer_by();
    assert_eq!(tell(Addressee::Only { last_caller: Some(passer_by) }), (0, 0), "it may be late");
    let second = other.gateway.attach(Arc::clone(&there) as _);
    assert_eq!(tell(Addressee::Only { last_caller: Some(first) }), (0, 0), "there are two");
    assert_eq!(tell(Addressee::Client(first)), (1, 0));
    assert_eq!(tell(Addressee::Client(second)), (0, 1));
    assert_eq!(tell(Addressee::Client(passer_by)), (0, 0));
    other.call_as(second, "logging/setLevel", r#"{"level":"error"}"#).await;
    assert_eq!(tell(Addressee::Client(second)), (0, 0), "it wants to hear of errors only");
}
