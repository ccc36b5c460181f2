use super::*;

/// Publishes something that can be told apart.
fn tell(feed: &Feed, why: &str) {
    let change = manifold_admin::ConfigChange::Refused { why: why.to_owned() };
    feed.publish(|| Some(Happening::Config { change }));
}

#[test]
fn nothing_is_made_while_nobody_watches() {
    let feed = Feed::new();
    feed.publish(|| unreachable!("nobody watches"));
    let watching = feed.watch();
    let before = feed.cursor();
    tell(&feed, "heard");
    assert_eq!(feed.cursor().seq, before.seq + 1);
    drop(watching);
    feed.publish(|| unreachable!("the last one has left"));
    assert!(!feed.is_watched.load(Ordering::Relaxed) && feed.lock().is_none(), "its room is given back");
    // What happens now has no number, so an old number must not look like the newest.
    let after = feed.cursor();
    let _again = feed.watch();
    assert!(feed.cursor().seq > after.seq);
}

#[tokio::test]
async fn events_are_numbered_and_reach_every_reader() {
    let feed = Feed::new();
    let (mut one, mut other) = (feed.watch(), feed.watch());
    let start = feed.cursor().seq;
    for why in ["a", "b"] {
        tell(&feed, why);
    }
    feed.publish(|| None);
    for reader in [&mut one, &mut other] {
        for number in 1..=2 {
            assert_eq!(reader.next().await.unwrap().seq, start + number);
        }
    }
    drop(feed);
    assert_eq!(one.next().await, None);
}

// F39: a reader that does not read holds nobody up
#[tokio::test]
async fn a_slow_reader_gets_one_reset_and_then_what_is_new() {
    let feed = Feed::new();
    let mut slow = feed.watch();
    for at in 0..3 * CAPACITY {
        tell(&feed, &at.to_string());
    }
    let reset = slow.next().await.unwrap();
    assert_eq!((reset.seq, &reset.happening), (feed.cursor().seq, &Happening::Reset));
    tell(&feed, "new");
    let next = slow.next().await.unwrap();
    assert_eq!(next.seq, reset.seq + 1);
    assert_ne!(next.happening, Happening::Reset);
}
