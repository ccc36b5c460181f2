use super::*;
use crate::fake::{World, call, servers};

fn upstream() -> Arc<dyn Upstream> {
    let world = World::new(&servers(&["a"], ""));
    world.fake("a")
}

#[test]
fn a_key_is_what_is_started_and_for_whom() {
    let (one, other) = (ClientId::fresh(), ClientId::fresh());
    let alike = InstanceKey::started_with(7);
    assert_eq!(alike, InstanceKey::started_with(7));
    assert_ne!(alike, InstanceKey::DEFINED);
    assert_ne!(alike.own(one), alike.own(other));
    assert_ne!(alike.own(one), InstanceKey::DEFINED.own(one));
    assert_eq!((alike.client(), alike.own(one).client()), (None, Some(one)));
}

#[tokio::test]
async fn an_instance_ends_when_its_last_client_has_left_and_its_last_call_is_over() {
    let mut instances = Instances::default();
    let key = InstanceKey::started_with(1);
    let clients = [ClientId::fresh(), ClientId::fresh()];
    instances.insert(key, Instance::new(upstream(), Arc::default()));
    clients.iter().for_each(|client| instances.join(key, *client));
    let calling = call("tools/call", "{}");
    assert!(instances.enter(key, &calling).is_some());
    assert!(instances.enter(InstanceKey::DEFINED, &calling).is_none());
    assert!(instances.left_by_client(clients[0]).is_empty(), "another uses it");
    assert!(instances.left_by_client(clients[1]).is_empty(), "a call is in flight");
    assert!(instances.left_by_call(key).is_some());
    assert!(!instances.contains(key) && instances.left_by_call(key).is_none());

    instances.insert(key, Instance::new(upstream(), Arc::default()));
    instances.join(key, clients[0]);
    instances.enter(key, &calling);
    assert!(instances.left_by_call(key).is_none(), "its client is still there");
    assert_eq!(instances.left_by_client(clients[0]).len(), 1);
    assert!(instances.is_empty());
}
