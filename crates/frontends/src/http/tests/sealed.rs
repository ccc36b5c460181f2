//! Sessions whose ids say what they are: which of them are made anew, and which are not.

use base64::prelude::{BASE64_STANDARD, Engine};
use manifold_engine::Principal;
use manifold_protocol::{Raw, Revision};

use super::*;
use crate::replica::{Capabilities, Replica, SealedSession, StateKeys, hash_of, unix_seconds};

const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
const DAY: u64 = 24 * 3600;

fn keys() -> StateKeys {
    StateKeys::parse(&BASE64_STANDARD.encode([1; 32])).unwrap()
}

fn site_of_replica() -> TestSite {
    let (mut site, world) = site_and_world(Admission::default(), ClientLimits::default(), 1 << 20);
    site.replica = Replica::new("a".to_owned(), keys(), &world.tasks).map(Arc::new);
    site_of(site, world)
}

/// Returns an id that a replica would have made so many seconds ago.
fn id_of_age(age: i64) -> String {
    let session = SealedSession {
        random: [9; 16],
        principal: hash_of(&Principal::Local.to_string()),
        namespace: hash_of(""),
        revision: Revision::LATEST,
        capabilities: Capabilities::of(&Raw::from_static("{}")),
        client_name: "c".to_owned(),
        client_version: "1".to_owned(),
        created: unix_seconds().saturating_add_signed(-age),
    };
    session.seal(&keys()).unwrap()
}

async fn check_id(id: &str, expected: u16) {
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost:3095\r\ncontent-type: application/json\r\n\
         accept: application/json\r\nmcp-session-id: {id}"
    );
    let (status, _, body) = site_of_replica().send(&head, LIST).await;
    assert_eq!(status, expected, "{body}");
}

#[tokio::test]
async fn an_id_ends_with_its_day() {
    check_id(&id_of_age(0), 200).await;
    check_id(&id_of_age(DAY as i64 - 60), 200).await;
    // Nobody knows that it was used since.
    check_id(&id_of_age(DAY as i64 + 60), 404).await;
    check_id(&id_of_age(30 * DAY as i64), 404).await;
    // Clocks may differ a little.
    check_id(&id_of_age(-240), 200).await;
    check_id(&id_of_age(-3600), 404).await;
    check_id("mf1.", 404).await;
    check_id(&"0".repeat(48), 404).await;
}

#[tokio::test]
async fn two_at_once_make_one_session() {
    let site = site_of_replica();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost:3095\r\ncontent-type: application/json\r\n\
         accept: application/json\r\nmcp-session-id: {}",
        id_of_age(5)
    );
    let (first, second) = tokio::join!(site.send(&head, LIST), site.send(&head, LIST));
    assert_eq!((first.0, second.0), (200, 200));
    assert_eq!(site.shared.sessions.all().len(), 1);
}
