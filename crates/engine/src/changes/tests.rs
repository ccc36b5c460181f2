use super::*;
use crate::fake::Listener;

struct Party {
    clients: Arc<Clients>,
    announcer: tokio::task::JoinSet<()>,
}

fn party() -> Party {
    let clients = Arc::new(Clients::default());
    let mut announcer = tokio::task::JoinSet::new();
    let announcing = Arc::clone(&clients);
    announcer.spawn(async move { announcing.announce().await });
    Party { clients, announcer }
}

impl Party {
    fn join(&self) -> (ClientId, Arc<Listener>) {
        let listener = Arc::new(Listener::default());
        (self.clients.attach(Arc::clone(&listener) as Arc<dyn Client>), listener)
    }

    async fn settle(&self) {
        // Two windows: one may have begun already.
        tokio::time::sleep(SETTLE * 3).await;
        assert!(!self.announcer.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_burst_is_announced_once_and_only_to_who_looked() {
    let party = party();
    let (looked, heard) = party.join();
    let (_never, silent) = party.join();
    party.clients.served(Some(looked), Kind::Tools);
    for _ in 0..10 {
        party.clients.bump(Kind::Tools);
        tokio::time::sleep(SETTLE / 20).await;
    }
    party.settle().await;
    assert_eq!(heard.take(), ["notifications/tools/list_changed"]);
    assert_eq!(silent.take(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn every_later_change_is_announced_even_if_the_client_does_not_look_again() {
    let party = party();
    let (looked, heard) = party.join();
    party.clients.served(Some(looked), Kind::Prompts);
    for _ in 0..2 {
        party.clients.bump(Kind::Prompts);
        party.settle().await;
        assert_eq!(heard.take(), ["notifications/prompts/list_changed"]);
    }
    party.settle().await;
    assert_eq!(heard.take(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_was_served_the_new_list_hears_nothing() {
    let party = party();
    let (looked, heard) = party.join();
    party.clients.served(Some(looked), Kind::Tools);
    party.clients.bump(Kind::Tools);
    party.clients.served(Some(looked), Kind::Tools);
    party.settle().await;
    assert_eq!(heard.take(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn resources_and_their_templates_are_one_announcement() {
    let party = party();
    let (looked, heard) = party.join();
    party.clients.served(Some(looked), Kind::Resources);
    party.clients.served(Some(looked), Kind::Templates);
    party.clients.bump(Kind::Resources);
    party.clients.bump(Kind::Templates);
    party.clients.bump(Kind::Tools);
    party.settle().await;
    assert_eq!(heard.take(), ["notifications/resources/list_changed"]);
}

#[tokio::test(start_paused = true)]
async fn who_left_hears_nothing() {
    let party = party();
    let (looked, heard) = party.join();
    party.clients.served(Some(looked), Kind::Tools);
    party.clients.detach(looked);
    party.clients.bump(Kind::Tools);
    party.settle().await;
    assert_eq!(heard.take(), [""; 0]);
    party.clients.served(Some(looked), Kind::Tools);
    party.clients.served(None, Kind::Tools);
}

#[test]
fn detaching_returns_what_nobody_else_is_subscribed_to() {
    let clients = Clients::default();
    let (first, second) =
        (clients.attach(Arc::new(Listener::default())), clients.attach(Arc::new(Listener::default())));
    clients.get(first).unwrap().subscribe("x://alone");
    clients.get(first).unwrap().subscribe("x://both");
    clients.get(second).unwrap().subscribe("x://both");
    assert!(clients.only().is_none());
    assert_eq!(clients.detach(first).uris, ["x://alone"]);
    assert_eq!(clients.detach(first), Left::default());
    assert_eq!(clients.only().map(|entry| entry.id), Some(second));
    assert_eq!(clients.detach(second).uris, ["x://both"]);
    assert!(clients.only().is_none());
}
