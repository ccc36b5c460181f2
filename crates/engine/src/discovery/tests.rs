use std::time::Duration;

use manifold_protocol::{Call, Fault, Raw};

use super::*;
use crate::exchange::Exchange;
use crate::upstream::{BoxFuture, Listing, LoggedLine, Order, Phase, Status};

/// A server that takes its time to be discovered.
struct Slow {
    at: usize,
    takes: Duration,
    phase: Phase,
    begun: Arc<Mutex<Vec<usize>>>,
}

impl Upstream for Slow {
    fn send(&self, _call: Call, _exchange: Exchange) {}

    fn notify(&self, _method: &'static str, _params: Option<Raw>) {}

    fn listing(&self) -> Option<Arc<Listing>> {
        None
    }

    fn status(&self) -> Status {
        Status { phase: self.phase.clone(), pid: None, since: Instant::now() }
    }

    fn logs(&self, _lines: usize) -> Vec<LoggedLine> {
        Vec::new()
    }

    fn discover(&self) -> BoxFuture<()> {
        self.begun.lock().unwrap().push(self.at);
        Box::pin(tokio::time::sleep(self.takes))
    }

    fn order(&self, _order: Order) -> BoxFuture<Result<(), Fault>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn close(&self, _drain: Duration) -> BoxFuture<()> {
        Box::pin(std::future::ready(()))
    }
}

struct Bench {
    discovery: Discovery,
    begun: Arc<Mutex<Vec<usize>>>,
    tasks: Tasks,
    since: Instant,
}

impl Bench {
    fn new() -> Self {
        let discovery = Discovery::new(places(), CancellationToken::new());
        Self { discovery, begun: Arc::default(), tasks: Tasks::new(), since: Instant::now() }
    }

    /// Discovers servers that take these times, in milliseconds. Returns how long it took.
    async fn discover(&self, millis: &[u64]) -> Duration {
        self.discover_in(&Phase::Idle, millis).await
    }

    async fn discover_in(&self, phase: &Phase, millis: &[u64]) -> Duration {
        let servers = millis.iter().enumerate().map(|(at, millis)| {
            let key = ServerKey { schema: None, id: format!("s{at}") };
            let (takes, begun) = (Duration::from_millis(*millis), Arc::clone(&self.begun));
            let slow = Slow { at, takes, phase: phase.clone(), begun };
            (key, Arc::new(slow) as Arc<dyn Upstream>)
        });
        let start = Instant::now();
        self.discovery.discover(servers.collect(), &self.tasks).await;
        start.elapsed()
    }

    fn begun(&self) -> usize {
        self.begun.lock().unwrap().len()
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_to_discover_takes_no_time() {
    assert_eq!(Bench::new().discover(&[]).await, Duration::ZERO);
}

// S1-28, D3
#[tokio::test(start_paused = true)]
async fn a_bounded_number_begins_at_once() {
    let many = at_once();
    for (count, expected) in [(1, 80), (many, 80), (many + 1, 160), (3 * many, 240)] {
        let took = Bench::new().discover(&vec![80; count]).await;
        assert_eq!(took, Duration::from_millis(expected), "{count} servers");
    }
}

// D3: a place is held until the server is ready or 0.4 s have passed, then the next begins, in the order of the config
#[tokio::test(start_paused = true)]
async fn slow_servers_begin_in_turn() {
    let bench = Bench::new();
    let many = at_once();
    let millis = vec![3000; 3 * many];
    let listing = bench.discover(&millis);
    tokio::pin!(listing);
    for (round, after) in [(1, 399), (2, 799), (3, 1199)] {
        let until = Duration::from_millis(after);
        let _ = timeout_at(bench.since + until, &mut listing).await;
        assert_eq!(bench.begun(), round * many, "after {after} ms");
    }
    assert_eq!(listing.await, Duration::from_millis(800 + 3000), "and the list has them all");
    let order = bench.begun.lock().unwrap().clone();
    assert!(order.is_sorted(), "{order:?}");
}

// D3: one that runs already, or is being started for a call, needs no place
#[tokio::test(start_paused = true)]
async fn only_starts_stand_in_line() {
    let bench = Bench::new();
    let took = bench.discover_in(&Phase::Starting, &vec![1000; 5 * at_once()]).await;
    assert_eq!(took, Duration::from_secs(1));
}

// S1-29, decision 18, F3, D3
#[tokio::test(start_paused = true)]
async fn hanging_servers_do_not_keep_others_from_their_turn() {
    let bench = Bench::new();
    let mut millis = vec![60_000; 50];
    millis.push(10);
    let last = PLACE * u32::try_from(50 / at_once()).unwrap();
    let listing = bench.discover(&millis);
    tokio::pin!(listing);
    assert_eq!((&mut listing).await, PATIENCE, "a list waits no longer for being many");
    tokio::time::sleep_until(bench.since + PATIENCE.max(last) + Duration::from_millis(1)).await;
    assert_eq!(bench.begun(), 51, "all have begun");
}

#[tokio::test(start_paused = true)]
async fn patience_is_spent_once_per_discovery_not_per_list() {
    let bench = Bench::new();
    assert_eq!(bench.discover(&[60_000]).await, PATIENCE);
    assert_eq!(bench.discover(&[60_000]).await, Duration::ZERO);
    assert_eq!(bench.begun(), 1, "one discovery, however many ask");
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(bench.discover(&[60_000]).await, PATIENCE, "a new attempt is waited for again");
    assert_eq!(bench.begun(), 2);
}

#[tokio::test(start_paused = true)]
async fn those_who_ask_together_wait_together() {
    let bench = Bench::new();
    let (a, b) = tokio::join!(bench.discover(&[2000]), bench.discover(&[2000]));
    assert_eq!((a, b), (Duration::from_secs(2), Duration::from_secs(2)));
    assert_eq!(bench.begun(), 1);
}

// D2: when we are leaving, what nobody waits for any more is not begun
#[tokio::test(start_paused = true)]
async fn starts_that_nobody_wants_are_given_up_when_we_leave() {
    for (is_wanted, expected) in [(false, at_once()), (true, 3 * at_once())] {
        let bench = Bench::new();
        let millis = vec![60_000; 3 * at_once()];
        let mut listing = Box::pin(bench.discover(&millis));
        assert!(timeout(Duration::from_millis(10), &mut listing).await.is_err());
        bench.discovery.leaving.cancel();
        if !is_wanted {
            drop(listing);
            tokio::time::sleep(PATIENCE).await;
        } else {
            listing.await;
        }
        assert_eq!(bench.begun(), expected, "wanted: {is_wanted}");
    }
}
