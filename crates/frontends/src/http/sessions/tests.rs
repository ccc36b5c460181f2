use manifold_engine::Principal;

use super::*;
use crate::http::Peer;
use crate::http::admission::Admitted;
use crate::http::tests::{TestSite, site_limited};

fn address(last: u8) -> IpAddr {
    [192, 0, 2, last].into()
}

/// Makes a session of an owner; it is the first to know of it.
fn session(site: &TestSite, owner: Option<Owner>, from: u8) -> Arc<HttpSession> {
    let site = &site.shared.site;
    let gateway = site.namespaces.find(None).unwrap();
    let (peer, admitted) = (Peer::new(address(from), site), Admitted::without_token(address(from)));
    let origin = Origin::new(&peer, &admitted);
    let mut session = HttpSession::new(site, &gateway, Entrance::OldSse, origin).unwrap();
    if let Some(owner) = owner {
        Arc::get_mut(&mut session).unwrap().owner = owner;
    }
    session
}

// M8: where principals differ, each is counted by where it comes from
#[tokio::test(start_paused = true)]
async fn principals_are_counted_by_address_where_they_differ() {
    let site =
        site_limited(ClientLimits { sessions: 100, sessions_per_address: 2, ..ClientLimits::default() });
    let sessions = &site.shared.sessions;
    let (token, nobody) = (&Principal::Token("default".into()), &Principal::Local);
    let owner = |principal, last| Owner::of(principal, address(last), true);
    let open = |owner| sessions.add(&session(&site, Some(owner), 1)).is_ok();
    assert_eq!([(); 3].map(|()| open(owner(token, 1))), [true, true, false]);
    assert_eq!([(); 3].map(|()| open(owner(token, 2))), [true, true, false], "another address");
    assert_eq!([(); 3].map(|()| open(owner(nobody, 1))), [true, true, false], "another principal");
    let fault = sessions.add(&session(&site, Some(owner(token, 1)), 1)).unwrap_err();
    assert!(fault.message().contains("limits.sessionsPerAddress"), "{}", fault.message());
    // Only its own make room for it.
    tokio::time::advance(Duration::from_secs(61)).await;
    let before: Vec<_> = sessions.all().into_iter().filter(|one| one.owner != owner(token, 1)).collect();
    assert_eq!([(); 3].map(|()| open(owner(token, 1))), [true, true, false]);
    assert!(before.iter().all(|one| sessions.get(&one.id, &Entrance::OldSse, &Requester::local()).is_some()));
}

// M8: where all are one, those who open many pay for it
#[tokio::test(start_paused = true)]
async fn the_crowd_of_one_address_makes_room_first() {
    let site = site_limited(ClientLimits { sessions: 6, ..ClientLimits::default() });
    let sessions = &site.shared.sessions;
    let open = |from| {
        let session = session(&site, None, from);
        sessions.add(&session).map(|()| session.id.clone())
    };
    let quiet = open(1).unwrap();
    let used = open(2).unwrap();
    sessions.get(&used, &Entrance::OldSse, &Requester::local()).unwrap();
    tokio::time::advance(Duration::from_secs(30)).await;
    let crowd: Vec<String> = (0..4).map(|_| open(2).unwrap()).collect();
    assert!(open(3).is_err(), "none has rested for a minute");
    tokio::time::advance(Duration::from_secs(61)).await;
    let newer: Vec<String> = (0..4).map(|_| open(2).unwrap()).collect();
    let is_there = |id: &String| sessions.get(id, &Entrance::OldSse, &Requester::local()).is_some();
    assert!(is_there(&quiet), "it rested for longest, but it is alone at its address");
    assert!(is_there(&used), "it was used once");
    assert!(!crowd.iter().any(is_there) && newer.iter().all(is_there));
    assert!(open(3).is_err());
}

// M8: whoever opens many does not have all looked through for each
#[tokio::test(start_paused = true)]
async fn unused_sessions_are_looked_for_once_a_second() {
    let site = site_limited(ClientLimits { sessions: 2, ..ClientLimits::default() });
    let sessions = &site.shared.sessions;
    let add = || sessions.add(&session(&site, None, 1));
    assert!(add().is_ok() && add().is_ok());
    tokio::time::advance(Duration::from_millis(59_900)).await;
    assert!(add().is_err());
    tokio::time::advance(Duration::from_millis(200)).await;
    assert!(add().is_err(), "it was looked a moment ago");
    tokio::time::advance(Duration::from_secs(1)).await;
    assert!(add().is_ok() && add().is_ok(), "both found at once");
    assert!(add().is_err());
}

#[tokio::test]
async fn an_operator_ends_a_session() {
    let site = site_limited(ClientLimits::default());
    let sessions = &site.shared.sessions;
    let (one, other) = (session(&site, None, 1), session(&site, None, 1));
    for session in [&one, &other] {
        sessions.add(session).unwrap();
        site.shared.let_be_ended(session);
    }
    assert!(one.session.disconnect());
    let is_there =
        |session: &HttpSession| sessions.get(&session.id, &Entrance::OldSse, &Requester::local()).is_some();
    assert!(!is_there(&one) && is_there(&other));
    assert!(one.session.disconnect(), "again does no harm");
}
