use tokio::time::{advance, timeout};

use super::*;

const LINGER: Duration = Duration::from_secs(60);

async fn is_over(life: &Life) -> bool {
    timeout(LAST_LOOK * 2, life.over()).await.is_ok()
}

#[tokio::test(start_paused = true)]
async fn it_ends_a_while_after_the_last_client() {
    let life = Life::new(LINGER, Started::ForClients);
    let first = life.enter().unwrap();
    let second = life.enter().unwrap();
    advance(LINGER * 2).await;
    assert!(!is_over(&life).await);
    drop((first, second));
    advance(LINGER / 2).await;
    assert!(!is_over(&life).await);
    // One that comes in time starts the clock anew.
    drop(life.enter().unwrap());
    advance(LINGER / 2 + Duration::from_secs(1)).await;
    assert!(!is_over(&life).await);
    advance(LINGER / 2).await;
    assert!(is_over(&life).await);
    assert!(life.enter().is_none(), "nobody is let in once the end is decided");
}

#[tokio::test(start_paused = true)]
async fn one_that_was_ordered_stays_until_it_is_stopped() {
    let life = Life::new(LINGER, Started::ByOrder);
    drop(life.enter().unwrap());
    advance(LINGER * 10).await;
    assert!(!is_over(&life).await);
    life.end();
    assert!(is_over(&life).await);
    assert_eq!(life.leaving(), Leaving::Stopping);
}

#[tokio::test(start_paused = true)]
async fn one_that_no_client_came_to_ends_too() {
    let life = Life::new(LINGER, Started::ForClients);
    advance(LINGER + Duration::from_secs(1)).await;
    assert!(is_over(&life).await);
}

// A2: on a busy machine whoever started it may come later than it would linger.
#[tokio::test(start_paused = true)]
async fn the_first_client_may_come_late() {
    let linger = Duration::from_secs(1);
    let life = Life::new(linger, Started::ForClients);
    advance(linger * 5).await;
    assert!(!is_over(&life).await);
    drop(life.enter().unwrap());
    advance(linger * 2).await;
    assert!(is_over(&life).await);
}

// A3: one that was stopped for longer than it lingers lets in who came meanwhile
#[tokio::test(start_paused = true)]
async fn who_was_at_the_door_when_the_time_was_up_is_let_in() {
    let life = Life::new(LINGER, Started::ForClients);
    advance(LINGER * 3).await;
    assert!(timeout(LAST_LOOK / 2, life.over()).await.is_err());
    let late = life.enter().unwrap();
    advance(LINGER * 3).await;
    assert!(!is_over(&life).await);
    drop(late);
    advance(LINGER + Duration::from_secs(1)).await;
    assert!(is_over(&life).await);
}
