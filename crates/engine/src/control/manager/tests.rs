use expect_test::expect;
use manifold_protocol::{Fault, Raw};

use crate::audience::Audience;
use crate::fake::{World, tools};
use crate::upstream::{Order, Phase};

const CONFIG: &str = r#"{"servers":{
        "a":{"builtin":"time","name":"Alpha"},
        "b c":{"command":"/bin/sh","args":["secret"]},
        "r":{"url":"https://me:secret@example.com:8443/mcp?key=secret"},
        "hidden":{"builtin":"time"}},
    "namespaces":[{"id":"n","name":"Main","description":"The one","serverIds":["a","b c","r"]},{"id":"m","serverIds":["hidden"]}]}"#;

// S1-47, S1-16
#[tokio::test(start_paused = true)]
async fn servers_of_the_namespace_are_listed_with_their_status() {
    let world = World::open(CONFIG, Some("n"), Audience::One);
    world.fake("a").publish(&tools(&["x", "y"]));
    world
        .fake("b c")
        .vanish(Phase::Failed(Fault::FailedToStart { server: "b c".to_owned(), reason: "no".to_owned() }));
    world.fake("r").vanish(Phase::Stopped);
    let rows: String =
        world.control.servers().iter().map(|row| format!("{}\n", Raw::serialize(row))).collect();
    expect![[r#"
        {"id":"a","name":"Alpha","kind":"builtin","enabled":true,"status":"running","state":"ready","pid":7,"uptime":"0s","toolCount":2}
        {"id":"b c","name":"b c","kind":"stdio","enabled":true,"command":"/bin/sh","status":"stopped","state":"failed","toolCount":0,"error":"Server 'b c' failed to start: no"}
        {"id":"r","name":"r","kind":"http","enabled":true,"url":"https://example.com:8443","status":"stopped","state":"stopped","toolCount":0}
    "#]].assert_eq(&rows);
}

#[tokio::test]
async fn orders_reach_servers_by_either_id_and_no_others() {
    let world = World::open(CONFIG, Some("n"), Audience::One);
    let exposed = world.control.servers()[1].id.clone();
    assert_eq!(exposed, "b c");
    assert_eq!(world.control.order("b c", Order::Stop).await, Ok(()));
    let safe = world.gateway.catalog().member(1).exposed_id.clone();
    assert_ne!(safe, "b c");
    assert_eq!(world.control.order(&safe, Order::Restart).await, Ok(()));
    assert_eq!(world.fake("b c").orders(), [Order::Stop, Order::Restart]);
    for unknown in ["hidden", "nobody", "manifold", "manifold__", ""] {
        let answer = world.control.order(unknown, Order::Start).await;
        assert_eq!(answer, Err(Fault::UnknownServer { server: unknown.to_owned(), tool: String::new() }));
        assert!(world.control.logs(unknown, 1).is_err());
    }
    assert_eq!(world.control.logs("a", 3), Ok(vec!["the last 3 lines".to_owned()]));
}

// S1-53
#[tokio::test]
async fn all_namespaces_are_listed_and_the_active_one_marked() {
    let world = World::open(CONFIG, Some("n"), Audience::One);
    expect![[r#"{"activeNamespaceId":"n","selection":"flag","namespaces":[{"id":"n","name":"Main","description":"The one","active":true,"serverCount":3,"serverIds":["a","b c","r"]},{"id":"m","name":"m","description":"","active":false,"serverCount":1,"serverIds":["hidden"]}]}"#]].assert_eq(Raw::serialize(&world.control.namespaces()).as_str());
    assert_eq!(world.control.reload().await, Err("there is no file".to_owned()));
}

#[tokio::test]
async fn a_gateway_that_is_gone_has_nothing_to_control() {
    let World { control, gateway, fleet, .. } = World::open(CONFIG, Some("n"), Audience::One);
    drop((gateway, fleet));
    assert_eq!(control.servers(), []);
    assert_eq!(control.namespaces(), None);
    assert!(control.order("a", Order::Start).await.is_err());
}
