use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::*;

/// A Redis of one test.
struct Redis {
    child: Child,
    folder: tempfile::TempDir,
}

impl Redis {
    /// Starts one on a socket; `None` where there is no such program.
    fn start() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("redis.sock");
        let mut command = Command::new("redis-server");
        command.args(["--port", "0", "--save", "", "--appendonly", "no", "--unixsocket"]).arg(&socket);
        command.arg("--dir").arg(folder.path()).stdout(Stdio::null()).stderr(Stdio::null());
        match command.spawn() {
            Ok(child) => Some(Self { child, folder }),
            Err(error) => {
                println!("not tested: redis-server cannot be started: {error}");
                None
            }
        }
    }

    fn store(&self, number: u32) -> Store {
        let url = format!("redis+unix://{}", self.folder.path().join("redis.sock").display());
        let node = Node { number, name: format!("n{number}"), address: format!("http://127.0.0.1:{number}") };
        let (store, keep) =
            Store::open(Options { url, password_file: None, patience: Duration::from_secs(5), node })
                .unwrap();
        #[expect(clippy::disallowed_methods, reason = "a test has no shutdown")]
        tokio::spawn(keep);
        store
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn until(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Asks until the machine has found time for an answer: each wait is bounded.
async fn surely<T, F: Future<Output = Result<T, Away>>>(mut ask: impl FnMut() -> F) -> T {
    loop {
        if let Ok(answer) = ask().await {
            return answer;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn what_is_noted_is_there_for_all() {
    let Some(redis) = Redis::start() else { return };
    let (a, b) = (redis.store(1), redis.store(2));
    assert_eq!(a.degraded(), Some("redis is away"));
    until(|| a.degraded().is_none() && b.degraded().is_none()).await;
    assert!(surely(|| b.session("x")).await.is_empty());
    surely(|| a.set_session("x", "level", "info")).await;
    surely(|| a.set_session("x", "u:file:///a", "1")).await;
    let mut fields = surely(|| b.session("x")).await;
    fields.sort();
    let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(fields, [field("level", "info"), field("u:file:///a", "1")]);
    surely(|| b.unset_session("x", "u:file:///a")).await;
    assert_eq!(surely(|| a.session("x")).await, [field("level", "info")]);
    let used = ["y".to_owned()];
    surely(|| a.touch_sessions(&used)).await;
    assert_eq!(surely(|| b.session("y")).await, [field("used", "1")]);
    // Each knows the other, and where it is.
    until(|| a.nodes() == 2 && b.nodes() == 2).await;
    assert_eq!(a.node(2).map(|node| node.address).as_deref(), Some("http://127.0.0.1:2"));
    assert_eq!(a.node(3), None);
}

#[tokio::test]
async fn a_log_has_each_number_once() {
    let Some(redis) = Redis::start() else { return };
    let store = redis.store(1);
    until(|| store.degraded().is_none()).await;
    let entry = |text: &str| Entry { kind: 'e', text: text.as_bytes().to_vec() };
    assert_eq!(surely(|| store.last("x:7")).await, 0);
    assert_eq!(store.append("x:7", 2, &entry("two")).await, Ok(Appended::Done));
    assert_eq!(store.append("x:7", 2, &entry("again")).await, Ok(Appended::Conflict));
    assert_eq!(store.append("x:7", 1, &entry("late")).await, Ok(Appended::Conflict));
    assert_eq!(store.append("x:7", 5, &entry("five")).await, Ok(Appended::Done));
    assert_eq!(surely(|| store.read("x:7", 0)).await, [(2, entry("two")), (5, entry("five"))]);
    assert_eq!(surely(|| store.read("x:7", 2)).await, [(5, entry("five"))]);
    assert_eq!(surely(|| store.last("x:7")).await, 5);
}

#[tokio::test]
async fn a_rate_holds_over_all_replicas() {
    let Some(redis) = Redis::start() else { return };
    let (a, b) = (redis.store(1), redis.store(2));
    until(|| a.degraded().is_none() && b.degraded().is_none()).await;
    // Long enough that none comes back while the test runs.
    let hour = Duration::from_secs(3600);
    let of = |key| Take { key, limit: 10, window: hour };
    let mut allowed = 0;
    for at in 0..30 {
        let store = if at % 2 == 0 { &a } else { &b };
        allowed += usize::from(store.take(&[of("ann")]).await.is_ok());
    }
    assert_eq!(allowed, 10);
    let UsedUp { at, wait } = a.take(&[of("bob"), of("ann")]).await.unwrap_err();
    assert!(wait > Duration::from_secs(300) && wait <= Duration::from_secs(360), "{wait:?}");
    assert_eq!(at, 1);
    for _ in 0..10 {
        a.take(&[of("bob")]).await.expect("another has its own, and was not charged for what did not happen");
    }
    assert!(b.take(&[of("bob")]).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn without_a_store_each_counts_for_itself() {
    let rates = rate::LocalRates::default();
    let take = Take { key: "x", limit: 3, window: Duration::from_secs(1) };
    let is_taken = || rates.take(&[take], 1).is_ok();
    assert_eq!([(); 4].map(|()| is_taken()), [true, true, true, false]);
    tokio::time::advance(Duration::from_millis(334)).await;
    assert_eq!([(); 2].map(|()| is_taken()), [true, false]);
    tokio::time::advance(Duration::from_secs(10)).await;
    assert_eq!([(); 4].map(|()| is_taken()), [true, true, true, false]);
    // Of what three may do together each does a third.
    let shared = Take { key: "y", ..take };
    assert_eq!([(); 2].map(|()| rates.take(&[shared], 3).is_ok()), [true, false]);
}

#[tokio::test]
async fn a_lease_has_one_owner() {
    let Some(redis) = Redis::start() else { return };
    let (a, b) = (redis.store(1), redis.store(2));
    until(|| a.degraded().is_none() && b.degraded().is_none()).await;
    let long = Duration::from_secs(600);
    assert_eq!(surely(|| a.hold("git", long)).await, 1);
    assert_eq!(surely(|| b.hold("git", long)).await, 1);
    surely(|| b.release("git")).await;
    assert_eq!(surely(|| b.hold("git", long)).await, 1, "only its owner lets go of it");
    surely(|| a.release("git")).await;
    assert_eq!(surely(|| b.hold("git", long)).await, 2);
    // What is not renewed is free again.
    assert_eq!(surely(|| a.hold("files", Duration::from_millis(1))).await, 1);
    while surely(|| b.hold("files", long)).await != 2 {}
}

#[tokio::test]
async fn a_store_that_goes_away_says_so_and_comes_back() {
    let Some(mut redis) = Redis::start() else { return };
    let store = redis.store(1);
    until(|| store.degraded().is_none()).await;
    let heard = Arc::new(std::sync::Mutex::new(Vec::<String>::new()));
    let hears = Arc::clone(&heard);
    store.listen(Box::new(move |text| hears.lock().unwrap().push(text.to_owned())));
    let count = || heard.lock().unwrap().len();
    while count() == 0 {
        let _ = store.publish("hello").await;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let _ = redis.child.kill();
    let _ = redis.child.wait();
    while store.session("x").await.is_ok() {}
    until(|| store.degraded().is_some()).await;
    assert_eq!(store.session("x").await, Err(Away));
    let take = Take { key: "x", limit: 1, window: Duration::from_secs(3600) };
    assert_eq!(store.take(&[take]).await, Ok(()), "counted here");
    let mut command = Command::new("redis-server");
    let socket = redis.folder.path().join("redis.sock");
    command.args(["--port", "0", "--save", "", "--unixsocket"]).arg(socket).stdout(Stdio::null());
    redis.child = command.current_dir(redis.folder.path()).spawn().unwrap();
    until(|| store.degraded().is_none()).await;
    let before = count();
    while count() == before {
        let _ = store.publish("again").await;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
