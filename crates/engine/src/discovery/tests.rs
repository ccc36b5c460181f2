use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use manifold_protocol::{Call, Fault, Raw};

use super::*;
use crate::exchange::Exchange;
use crate::upstream::{BoxFuture, Listing, Order, Phase, Status};

/// A server that takes its time to be discovered.
struct Slow {
    takes: Duration,
    begun: Arc<AtomicUsize>,
}

impl Upstream for Slow {
    fn send(&self, _call: Call, _exchange: Exchange) {}

    fn notify(&self, _method: &'static str, _params: Option<Raw>) {}

    fn listing(&self) -> Option<Arc<Listing>> {
        None
    }

    fn status(&self) -> Status {
        Status { phase: Phase::Idle, pid: None, since: Instant::now() }
    }

    fn logs(&self, _lines: usize) -> Vec<String> {
        Vec::new()
    }

    fn discover(&self) -> BoxFuture<()> {
        self.begun.fetch_add(1, Ordering::SeqCst);
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
    begun: Arc<AtomicUsize>,
    tasks: Tasks,
}

impl Bench {
    fn new() -> Self {
        Self { discovery: Discovery::default(), begun: Arc::default(), tasks: Tasks::new() }
    }

    /// Discovers servers that take these times, in milliseconds. Returns how long it took.
    async fn discover(&self, millis: &[u64]) -> Duration {
        let servers = millis.iter().enumerate().map(|(at, millis)| {
            let key = ServerKey { schema: None, id: format!("s{at}") };
            let slow = Slow { takes: Duration::from_millis(*millis), begun: Arc::clone(&self.begun) };
            (key, Arc::new(slow) as Arc<dyn Upstream>)
        });
        let start = Instant::now();
        self.discovery.discover(servers.collect(), &self.tasks).await;
        start.elapsed()
    }

    fn begun(&self) -> usize {
        self.begun.load(Ordering::SeqCst)
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_to_discover_takes_no_time() {
    assert_eq!(Bench::new().discover(&[]).await, Duration::ZERO);
}

// S1-28
#[tokio::test(start_paused = true)]
async fn a_bounded_number_begins_at_once() {
    let many = at_once();
    for (count, expected) in [(1, 80), (10, 80), (many, 80), (many + 1, 160), (3 * many, 240)] {
        let took = Bench::new().discover(&vec![80; count]).await;
        assert_eq!(took, Duration::from_millis(expected), "{count} servers");
    }
}

// S1-29, decision 18, F3
#[tokio::test(start_paused = true)]
async fn hanging_servers_do_not_keep_others_from_their_turn() {
    let bench = Bench::new();
    let mut millis = vec![60_000; 50];
    millis.push(10);
    let listing = bench.discover(&millis);
    tokio::pin!(listing);
    let _ = timeout(Duration::from_millis(350), &mut listing).await;
    assert_eq!(bench.begun(), 51, "all have begun");
    assert_eq!(listing.await, PATIENCE);
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
