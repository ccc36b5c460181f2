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
        (self.clients.attach(Arc::clone(&listener) as Arc<dyn Client>, None), listener)
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

fn crowd(clients: &Clients, count: usize) -> Vec<ClientId> {
    (0..count).map(|_| clients.attach(Arc::new(Listener::default()), None)).collect()
}

fn looked_at(clients: &Clients) -> usize {
    clients.looked_at.swap(0, Ordering::Relaxed)
}

#[test]
fn detaching_returns_what_nobody_else_is_subscribed_to() {
    let clients = Clients::default();
    let [first, second] = crowd(&clients, 2)[..] else { unreachable!() };
    clients.subscribe(first, Topic::Resource, "x://alone").unwrap();
    clients.subscribe(first, Topic::Resource, "x://both").unwrap();
    clients.subscribe(second, Topic::Resource, "x://both").unwrap();
    assert!(clients.only().is_none());
    assert_eq!(clients.detach(first).uris, ["x://alone".into()]);
    assert_eq!(clients.detach(first), Left::default());
    assert_eq!(clients.only().map(|entry| entry.id), Some(second));
    assert_eq!(clients.detach(second).uris, ["x://both".into()]);
    assert!(clients.only().is_none());
}

// H4: what is done for one client, or told to a few, must not be paid for by looking at all.
#[test]
fn no_client_is_looked_at_that_is_not_concerned() {
    let clients = Clients::default();
    let ids = crowd(&clients, 10_000);
    let uris: Vec<String> = (0..8_000).map(|number| format!("x://{number}")).collect();
    for uri in &uris {
        clients.subscribe(ids[0], Topic::Resource, uri).unwrap();
    }
    clients.subscribe(ids[1], Topic::Resource, &uris[0]).unwrap();
    for id in &ids {
        clients.set_level(Some(*id), Level::parse("error").unwrap());
        clients.lower_level(Level::parse("info").unwrap());
    }
    assert_eq!(looked_at(&clients), 0);
    let told: usize = uris.iter().map(|uri| clients.subscribers(Topic::Resource, uri).len()).sum();
    assert_eq!((told, looked_at(&clients)), (8_001, 8_001));
    assert_eq!(clients.wanting(Level::parse("info").unwrap()).len(), 0);
    assert_eq!(looked_at(&clients), 0, "nobody wants to hear that");
    assert_eq!((clients.detach(ids[0]).uris.len(), looked_at(&clients)), (7_999, 1));
}

// H4
#[test]
fn a_client_has_so_many_subscriptions_and_no_more() {
    let clients = Clients::default();
    let [one, other] = crowd(&clients, 2)[..] else { unreachable!() };
    for number in 0..MAX_SUBSCRIPTIONS {
        clients.subscribe(one, Topic::Resource, &format!("x://{number}")).unwrap();
    }
    assert_eq!(clients.subscribe(one, Topic::Resource, "x://more"), Err(Refusal::Full));
    assert_eq!(clients.subscribe(one, Topic::Task, "more"), Err(Refusal::Full), "tasks count as well");
    assert_eq!(clients.subscribe(one, Topic::Resource, "x://7"), Ok(()), "it has that one already");
    assert_eq!(clients.subscribe(other, Topic::Resource, "x://more"), Ok(()));
    clients.unsubscribe(one, Topic::Resource, "x://7");
    assert_eq!(clients.subscribe(one, Topic::Resource, "x://more"), Ok(()));
    clients.detach(one);
    assert_eq!(clients.subscribe(one, Topic::Resource, "x://more"), Err(Refusal::Gone));

    let long = format!("x://{}", "y".repeat(MAX_SUBSCRIPTION_BYTES / 2));
    clients.subscribe(other, Topic::Resource, &long).unwrap();
    assert_eq!(clients.subscribe(other, Topic::Resource, &format!("{long}z")), Err(Refusal::Full));
    clients.unsubscribe(other, Topic::Resource, &long);
    assert_eq!(clients.subscribe(other, Topic::Resource, &format!("{long}z")), Ok(()));
}

// H4: a client that listens by several requests has no more for it.
#[test]
fn those_who_listen_for_one_client_share_what_it_may_have() {
    let clients = Clients::default();
    let owner = ClientId::fresh();
    let listen = || clients.attach(Arc::new(Listener::default()), Some(owner));
    let (first, second) = (listen(), listen());
    for number in 0..MAX_SUBSCRIPTIONS {
        clients.subscribe(first, Topic::Resource, &format!("x://{number}")).unwrap();
    }
    assert_eq!(clients.subscribe(second, Topic::Resource, "x://more"), Err(Refusal::Full));
    clients.detach(first);
    assert_eq!(clients.subscribe(second, Topic::Resource, "x://more"), Ok(()));
}
