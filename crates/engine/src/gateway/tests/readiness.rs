use manifold_protocol::Fault;

use crate::fake::{World, servers};
use crate::upstream::Phase;

#[tokio::test(start_paused = true)]
async fn settled_once_every_server_is_known_or_has_failed() {
    let world = World::new(&servers(&["a", "b"], ""));
    assert!(!world.gateway.is_settled());
    world.fake("a").publish(r#"{"tools":[{"name":"x"}]}"#);
    assert!(!world.gateway.is_settled());
    let fault = Fault::FailedToStart { server: "b".to_owned(), reason: "no".to_owned() };
    world.fake("b").vanish(Phase::Failed(fault));
    assert!(world.gateway.is_settled());
}

#[tokio::test(start_paused = true)]
async fn what_is_never_started_by_itself_is_not_waited_for() {
    let manual = r#"{"mcpServers":{"a":{"builtin":"time","eager":false,"lazy":false},"b":{"builtin":"time","enabled":false}}}"#;
    assert!(World::new(manual).gateway.is_settled());
}
