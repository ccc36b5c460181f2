use manifold_admin::{CallStage, LogLine};

use super::*;

/// Publishes something that can be told apart.
fn tell(feed: &Feed, why: &str) {
    let change = manifold_admin::ConfigChange::Refused { why: why.to_owned() };
    feed.publish(|| Some(Happening::Config { change }));
}

fn say(feed: &Feed, line: &str) -> bool {
    let line = LogLine { line: line.to_owned(), ..LogLine::default() };
    feed.leave(Lane::Logs, || Happening::Log { line })
}

fn watch(feed: &Feed) -> Events {
    feed.watch(None, Topics::STATE)
}

/// Reads all that is there: what the events say, in a word.
fn read(events: &mut Events) -> Vec<String> {
    let word = |event: Arc<Event>| match &event.happening {
        Happening::Config { change: manifold_admin::ConfigChange::Refused { why } } => why.clone(),
        Happening::Log { line } => line.line.clone(),
        Happening::Reset => "reset".to_owned(),
        other => format!("{other:?}"),
    };
    std::iter::from_fn(|| events.try_next()).map(word).collect()
}

#[tokio::test(start_paused = true)]
async fn nothing_is_made_while_nobody_watches() {
    let feed = Feed::new();
    feed.publish(|| unreachable!("nobody watches"));
    let watching = watch(&feed);
    let before = feed.cursor();
    tell(&feed, "heard");
    assert_eq!(feed.cursor().seq, before.seq + 1);
    drop(watching);
    tell(&feed, "kept for whoever comes back");
    tokio::time::advance(LINGER + Duration::from_millis(1)).await;
    feed.publish(|| unreachable!("the last one has left for good"));
    assert!(!feed.is_made(Lane::State) && feed.shared.rings.locked()[0].is_empty(), "its room is given back");
    // What happens now has no number, so an old number must not look like the newest.
    let after = feed.cursor();
    let _again = watch(&feed);
    assert!(feed.cursor().seq > after.seq);
}

#[tokio::test]
async fn events_are_numbered_and_reach_every_reader() {
    let feed = Feed::new();
    let (mut one, mut other) = (watch(&feed), watch(&feed));
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
    let (heard, ()) = tokio::join!(one.next(), async { drop(feed) });
    assert_eq!(heard, None, "who waits is told that there is no more");
    assert_eq!(other.next().await, None);
}

// F39: a reader that does not read holds nobody up
#[tokio::test]
async fn a_slow_reader_gets_one_reset_and_then_what_is_new() {
    let feed = Feed::new();
    let mut slow = watch(&feed);
    for at in 0..3 * ring::MAX_EVENTS {
        tell(&feed, &at.to_string());
    }
    let reset = slow.next().await.unwrap();
    assert_eq!((reset.seq, &reset.happening), (feed.cursor().seq, &Happening::Reset));
    tell(&feed, "new");
    let next = slow.next().await.unwrap();
    assert_eq!(next.seq, reset.seq + 1);
    assert_ne!(next.happening, Happening::Reset);
}

// B3
#[tokio::test(start_paused = true)]
async fn who_comes_back_soon_has_missed_nothing() {
    let feed = Feed::new();
    let mut before = watch(&feed);
    tell(&feed, "seen");
    assert_eq!(read(&mut before), ["seen"]);
    let place = before.cursor();
    drop(before);
    tell(&feed, "missed");
    tokio::time::advance(Duration::from_secs(1)).await;
    tell(&feed, "missed too");
    let mut back = feed.watch(Some(place), Topics::STATE);
    tell(&feed, "new");
    assert_eq!(read(&mut back), ["missed", "missed too", "new"]);
}

// B3
#[tokio::test(start_paused = true)]
async fn who_was_away_for_long_gets_exactly_one_reset() {
    let feed = Feed::new();
    let mut before = watch(&feed);
    tell(&feed, "seen");
    read(&mut before);
    let place = before.cursor();
    drop(before);
    tokio::time::advance(Duration::from_secs(600)).await;
    tell(&feed, "missed");
    let mut back = feed.watch(Some(place), Topics::STATE);
    tell(&feed, "skipped, as all is read anew");
    assert_eq!(read(&mut back), ["reset"]);
    tell(&feed, "new");
    assert_eq!(read(&mut back), ["new"]);
}

#[tokio::test]
async fn a_place_of_another_run_or_yet_to_come_means_nothing() {
    let feed = Feed::new();
    let _kept = watch(&feed);
    tell(&feed, "a");
    let now = feed.cursor();
    for odd in [Cursor { epoch: now.epoch ^ 1, ..now }, Cursor { seq: now.seq + 9, ..now }] {
        let mut back = feed.watch(Some(odd), Topics::STATE);
        tell(&feed, "skipped");
        assert_eq!(read(&mut back), ["reset"]);
    }
}

// A snapshot says where it was taken; whoever watches from there on misses nothing that came between.
#[tokio::test(start_paused = true)]
async fn a_mark_is_a_place_to_go_on_from() {
    let feed = Feed::new();
    let place = feed.mark();
    tell(&feed, "between");
    let mut events = feed.watch(Some(place), Topics::STATE);
    assert_eq!(read(&mut events), ["between"]);
    assert_eq!(feed.cursor(), events.cursor());
}

#[tokio::test]
async fn a_reader_gets_its_topics_alone() {
    let feed = Feed::new();
    let mut state = watch(&feed);
    assert!(!say(&feed, "nobody wants lines"));
    let mut logs = feed.watch(None, Topics::LOG);
    let mut servers = feed.watch(None, Topics::SERVER);
    let mut both = feed.watch(None, Topics::CONFIG.and(Topics::LOG));
    assert!(say(&feed, "one"));
    tell(&feed, "config");
    assert!(say(&feed, "two"));
    assert!(!feed.leave(Lane::Calls, || Happening::Call { call: CallStage::Other }));
    assert_eq!(read(&mut state), ["config"]);
    assert_eq!(read(&mut logs), ["one", "two"]);
    assert_eq!(read(&mut servers), Vec::<String>::new());
    assert_eq!(read(&mut both), ["one", "config", "two"], "in the order in which they came");
}

// A talkative server costs nobody else an event, and only so much memory.
#[tokio::test]
async fn lines_push_out_lines_alone() {
    let feed = Feed::new();
    let mut state = watch(&feed);
    let mut logs = feed.watch(None, Topics::LOG);
    tell(&feed, "kept");
    let long = "x".repeat(ring::MAX_BYTES / 4);
    for _ in 0..100 {
        assert!(say(&feed, &long));
    }
    assert_eq!(read(&mut state), ["kept"]);
    assert_eq!(read(&mut logs), ["reset"]);
    assert!(say(&feed, "new"));
    assert_eq!(read(&mut logs), ["new"]);
}

#[tokio::test(start_paused = true)]
async fn lines_are_made_for_a_while_after_the_last_reader_has_left() {
    let feed = Feed::new();
    let mut logs = feed.watch(None, Topics::LOG);
    assert!(say(&feed, "one"));
    assert_eq!(read(&mut logs), ["one"]);
    let place = logs.cursor();
    drop(logs);
    assert!(say(&feed, "two"));
    let mut back = feed.watch(Some(place), Topics::LOG);
    assert_eq!(read(&mut back), ["two"]);
    drop(back);
    tokio::time::advance(LINGER + Duration::from_millis(1)).await;
    assert!(!say(&feed, "nobody is left"));
    assert_eq!(read(&mut feed.watch(Some(place), Topics::LOG)), ["reset"]);
}

/// Readers that never read cost no more than the room of a ring: then nothing is made for them until one of them reads.
#[tokio::test]
async fn nothing_is_made_for_readers_that_never_read() {
    let feed = Feed::new();
    let mut stalled: Vec<Events> = (0..100).map(|_| feed.watch(None, Topics::LOG)).collect();
    let mut made = 0;
    for number in 0..3 * ring::MAX_EVENTS {
        feed.leave(Lane::Logs, || {
            made += 1;
            Happening::Log { line: LogLine { line: number.to_string(), ..LogLine::default() } }
        });
    }
    assert_eq!(made, ring::MAX_EVENTS + 1);
    // One that reads is told once that something is missing, and all from there on.
    assert_eq!(read(&mut stalled[0]), ["reset"]);
    assert!(say(&feed, "after"));
    assert_eq!(read(&mut stalled[0]), ["after"]);
    assert_eq!(read(&mut stalled[1]), ["reset"]);
    assert!(say(&feed, "again"));
    assert_eq!(read(&mut stalled[1]), ["again"]);
}
