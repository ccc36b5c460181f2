use std::sync::Arc;

use super::*;

#[tokio::test]
async fn it_looks_for_the_next_message_and_not_for_ever() {
    let busy_poll = BusyPoll::new();
    assert_eq!(busy_poll.look().await, Look::Vain);
    let (look, ()) = tokio::join!(busy_poll.look(), async { busy_poll.mark() });
    assert_eq!(look, Look::Found);
    let (look, ()) = tokio::join!(busy_poll.look(), async { (0..9).for_each(|_| busy_poll.mark()) });
    assert_eq!(look, Look::Busy);
}

#[tokio::test(start_paused = true)]
async fn after_looks_in_vain_it_sleeps_through_most_messages() {
    let busy_poll = Arc::new(BusyPoll::new());
    let keeper = Arc::clone(&busy_poll);
    let tasks = crate::Tasks::new();
    tasks.spawn_background(async move { keeper.keep().await });
    for _ in 0..MOST_LUCK * 2 {
        busy_poll.mark();
        // The clock stands for as long as it looks.
        sleep(LOOK * 2).await;
    }
    busy_poll.mark();
    yield_now().await;
    yield_now().await;
    assert!(
        busy_poll.is_asleep.load(Ordering::Relaxed),
        "the message was noted, and nobody looks for another"
    );
}
