use super::*;

// F20
#[tokio::test]
async fn a_part_has_a_limit_of_its_own() {
    let whole = Budget::new(100_000);
    let (one, other) = (whole.part(10_000), whole.part(10_000));
    let held = one.hold(Bytes::from(vec![b'x'; 10_000]));
    assert!(!one.is_overdrawn() && whole.admits(90_000) && !whole.admits(90_001));
    let more = one.hold(Bytes::from(vec![b'x'; 2_000]));
    one.overdrawn().await;
    drop((held, more));
    let _alone = one.hold(Bytes::from(vec![b'x'; 12_000]));
    assert!(!one.is_overdrawn(), "one message alone may be as large as it is");
    assert!(!other.is_overdrawn() && !whole.is_overdrawn() && whole.admits(88_000));
}

// M6
#[tokio::test(start_paused = true)]
async fn past_its_part_a_client_is_given_what_nobody_else_may_need() {
    let patience = Duration::from_millis(200);
    let bytes = |count: usize| Bytes::from(vec![b'x'; count]);
    let whole = Budget::new(100_000);
    let (one, other) = (whole.part(25_000), whole.part(25_000));
    assert!(one.grants(90_000, patience), "one message alone may be as large as it is");
    let mut held = vec![one.hold(bytes(20_000))];
    assert!(one.grants(5_000, patience) && one.grants(30_000, patience));
    assert!(!one.grants(30_001, patience), "half of the whole is for others");
    held.push(one.hold(bytes(20_000)));
    assert!(one.grants(10_000, patience));
    tokio::time::advance(Duration::from_millis(201)).await;
    assert!(!one.grants(1, patience), "it takes nothing of what it has");
    one.note_taken();
    assert!(one.grants(10_000, patience) && other.grants(25_000, patience));
    drop(held);
    assert!(one.grants(25_000, patience));
}

// M6
#[test]
fn a_message_that_grows_is_measured_beside_others() {
    let whole = Budget::new(100_000);
    let (one, other) = (whole.part(25_000), whole.part(25_000));
    let mut share = one.share();
    share.grow(50_000);
    assert!(share.admits(50_000) && !share.admits(50_001), "alone in its part, and within the whole");
    let mut beside = one.share();
    assert!(!beside.admits(1), "two of one client share its part");
    beside.grow(1);
    assert!(!share.admits(1));
    assert!(other.share().admits(25_000));
}

// F35
#[tokio::test]
async fn a_message_counts_while_anybody_has_a_part_of_it() {
    let budget = Budget::new(10_000);
    let message = budget.hold(Bytes::from(vec![b'x'; 9_000]));
    let part = message.slice(5..6);
    assert!(budget.admits(1_000) && !budget.admits(1_001));
    drop(message);
    assert!(!budget.admits(1_001), "a part keeps it whole");
    let more = budget.hold(Bytes::from(vec![b'x'; 2_000]));
    assert!(budget.is_spent());
    let mut waiting = Box::pin(budget.room());
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(waiting.as_mut().poll(&mut context).is_pending());
    drop(part);
    waiting.await;
    drop(more);
    assert!(budget.admits(50_000), "where nothing is held, something may always be");
}
