use std::sync::Arc;

use expect_test::expect;

use crate::fake::{Asked, Listener, World, call, servers, show};
use crate::gateway::Front;

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
    let world = World::open(config, Some("p"), Front::Http);
    let listener = join(&world);
    assert_eq!(world.fake("a").question("roots/list").await, r#"{"answered":"by the client"}"#);
    let _other = world.also("q");
    listener.take();
    assert_eq!(world.fake("a").question("roots/list").await, r#"{"roots":[]}"#);
    assert_eq!(listener.take(), [""; 0]);
}
