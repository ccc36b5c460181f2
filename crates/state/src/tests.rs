use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tokio::time::Instant;

use super::*;

/// A Redis of one test.
struct Redis {
    child: Child,
    folder: tempfile::TempDir,
}

impl Redis {
    /// Starts one with these settings, a line each, on a port of its own.
    fn on_a_port(settings: &str, flags: &[&str]) -> Option<(Self, u16)> {
        let folder = tempfile::tempdir().unwrap();
        let port = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
        // A sentinel writes into its config, so it wants one.
        let config = folder.path().join("redis.conf");
        std::fs::write(&config, format!("bind 127.0.0.1\nsave \"\"\n{settings}\n")).unwrap();
        let mut command = Command::new("redis-server");
        command.arg(&config).args(["--port", &port.to_string()]).args(flags);
        command.current_dir(folder.path()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(|error| println!("not tested: redis-server: {error}")).ok()?;
        Some((Self { child, folder }, port))
    }

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
        store_at(format!("redis+unix://{}", self.folder.path().join("redis.sock").display()), number)
    }
}

fn store_at(url: String, number: u32) -> Store {
    let node = Node { number, name: format!("n{number}"), address: format!("http://127.0.0.1:{number}") };
    let options = Options {
        url,
        password_file: None,
        prefix: PREFIX.to_owned(),
        patience: Duration::from_secs(5),
        node,
    };
    let (store, keep) = Store::open(options).unwrap();
    #[expect(clippy::disallowed_methods, reason = "a test has no shutdown")]
    tokio::spawn(keep);
    store
}

/// Asks a server by its port, until it answers as wanted.
async fn until_said(port: u16, words: &[&str], is_wanted: impl Fn(&str) -> bool) {
    let mut command = redis::cmd(words[0]);
    command.arg(&words[1..]);
    loop {
        if let Ok(client) = redis::Client::open(format!("redis://127.0.0.1:{port}/"))
            && let Ok(mut connection) = client.get_multiplexed_async_connection().await
            && let Ok(answer) = command.query_async::<redis::Value>(&mut connection).await
            && is_wanted(&format!("{answer:?}"))
        {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
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
    assert_eq!(a.degraded(), None, "nobody has looked yet");
    until(|| a.is_connected() && b.is_connected()).await;
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
    until(|| store.is_connected()).await;
    let entry = |text: &str| Entry { kind: 'e', text: text.as_bytes().to_vec() };
    let at = |number| Place { number, is_first: false, keep_from: 0 };
    assert_eq!(surely(|| store.last("x:7")).await, 0);
    assert_eq!(store.append("x:7", at(2), &entry("two")).await, Ok(Appended::Done));
    assert_eq!(store.append("x:7", at(2), &entry("again")).await, Ok(Appended::Conflict));
    assert_eq!(store.append("x:7", at(1), &entry("late")).await, Ok(Appended::Conflict));
    assert_eq!(store.append("x:7", at(5), &entry("five")).await, Ok(Appended::Done));
    assert_eq!(surely(|| store.read("x:7", 0)).await, [(2, entry("two")), (5, entry("five"))]);
    assert_eq!(surely(|| store.read("x:7", 2)).await, [(5, entry("five"))]);
    assert_eq!(surely(|| store.last("x:7")).await, 5);
}

#[tokio::test]
async fn a_rate_holds_over_all_replicas() {
    let Some(redis) = Redis::start() else { return };
    let (a, b) = (redis.store(1), redis.store(2));
    until(|| a.is_connected() && b.is_connected()).await;
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
    until(|| a.is_connected() && b.is_connected()).await;
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
async fn a_cluster_is_a_store() {
    let Some((_redis, port)) = Redis::on_a_port("cluster-enabled yes", &[]) else { return };
    until_said(port, &["CLUSTER", "ADDSLOTSRANGE", "0", "16383"], |said| said == "ok").await;
    until_said(port, &["CLUSTER", "INFO"], |said| said.contains("cluster_state:ok")).await;
    let store = store_at(format!("redis+cluster://127.0.0.1:1,127.0.0.1:{port}"), 1);
    until(|| store.is_connected()).await;
    // These lie in different slots.
    let sids = ["x".to_owned(), "y".to_owned(), "z".to_owned()];
    surely(|| store.touch_sessions(&sids)).await;
    assert_eq!(surely(|| store.session("y")).await, [("used".to_owned(), "1".to_owned())]);
    let long = Duration::from_secs(600);
    assert_eq!(surely(|| store.hold("git", long)).await, 1);
    let of = |key| Take { key, limit: 1, window: long };
    assert_eq!(store.take(&[of("ann"), of("bob")]).await, Ok(()));
    assert_eq!(store.take(&[of("carl"), of("bob")]).await.unwrap_err().at, 1);
    let heard = Arc::new(std::sync::Mutex::new(String::new()));
    let hears = Arc::clone(&heard);
    store.listen(Box::new(move |heard| {
        if let Heard::News(text) = heard {
            *hears.lock().unwrap() = text.to_owned()
        }
    }));
    while heard.lock().unwrap().is_empty() {
        let _ = store.publish("hello").await;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn sentinels_tell_which_server_is_the_primary() {
    let Some((mut first, first_port)) = Redis::on_a_port("", &[]) else { return };
    let Some((_second, second_port)) = Redis::on_a_port(&format!("replicaof 127.0.0.1 {first_port}"), &[])
    else {
        return;
    };
    until_said(second_port, &["INFO", "replication"], |said| said.contains("master_link_status:up")).await;
    let watched =
        format!("sentinel monitor ours 127.0.0.1 {first_port} 1\nsentinel down-after-milliseconds ours 500");
    let Some((_sentinel, sentinel_port)) = Redis::on_a_port(&watched, &["--sentinel"]) else { return };
    let store = store_at(format!("redis+sentinel://127.0.0.1:{sentinel_port}/ours"), 1);
    until(|| store.is_connected()).await;
    surely(|| store.set_session("x", "level", "info")).await;
    until_said(sentinel_port, &["SENTINEL", "REPLICAS", "ours"], |said| {
        said.contains(&second_port.to_string())
    })
    .await;
    until_said(second_port, &["EXISTS", "mf:s:{x}"], |said| said == "int(1)").await;
    let _ = first.child.kill();
    let _ = first.child.wait();
    // The other is made the primary, and is found by the same address.
    let level = || store.session("x");
    until_said(second_port, &["INFO", "replication"], |said| said.contains("role:master")).await;
    assert_eq!(surely(level).await, [("level".to_owned(), "info".to_owned())]);
    surely(|| store.set_session("x", "level", "error")).await;
}

#[test]
fn addresses_are_read() {
    let read = |url: &str| address::Address::read(url, None).map(drop).map_err(|error| error.to_string());
    for good in [
        "redis://redis:6379/0",
        "rediss://user:secret@redis:6380/3",
        "redis+unix:///run/redis.sock",
        "redis+sentinel://a:26379,b:26379,c:26379/mymaster",
        "rediss+sentinel://user:s%40cret@a:26379,b:26379/mymaster/2",
        "redis+cluster://:secret@a:6379,b:6379,c:6379",
    ] {
        assert_eq!(read(good), Ok(()), "{good}");
    }
    for bad in [
        "redis",
        "http://redis:6379",
        "redis+sentinel://a:26379",
        "redis+sentinel://a:26379,:/x",
        "redis+ring://a:1",
    ] {
        assert!(read(bad).is_err(), "{bad}");
    }
}

#[tokio::test]
async fn a_store_that_goes_away_says_so_and_comes_back() {
    let Some(mut redis) = Redis::start() else { return };
    let store = redis.store(1);
    until(|| store.is_connected()).await;
    let heard = Arc::new(std::sync::Mutex::new(Vec::<String>::new()));
    let hears = Arc::clone(&heard);
    store.listen(Box::new(move |heard| hears.lock().unwrap().push(format!("{heard:?}"))));
    let count = || heard.lock().unwrap().iter().filter(|heard| heard.contains("News")).count();
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
    until(|| store.is_connected()).await;
    let before = count();
    while count() == before {
        let _ = store.publish("again").await;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(heard.lock().unwrap().contains(&"Missed".to_owned()), "something may have been said meanwhile");
}

// Whoever is back first must not take those that are not for gone.
#[tokio::test(start_paused = true)]
async fn after_a_break_all_have_time_to_come_back() {
    let nodes = nodes::Nodes::default();
    let said = |all: &[(u32, u64)]| -> Vec<(u32, String)> {
        all.iter().map(|(number, at)| (*number, format!("{at} http://h:{number} n"))).collect()
    };
    let pass = |secs| tokio::time::advance(Duration::from_secs(secs));
    nodes.take_over(said(&[(1, 10), (2, 10)]), 1, Instant::now());
    assert_eq!(nodes.numbers(), [1, 2]);
    // The store was away for long, and has forgotten who does not live.
    pass(60).await;
    nodes.take_over(said(&[(1, 11)]), 2, Instant::now());
    assert_eq!(nodes.numbers(), [1, 2]);
    pass(2).await;
    nodes.take_over(said(&[(1, 12), (2, 11)]), 2, Instant::now());
    for more in 13..16 {
        pass(2).await;
        nodes.take_over(said(&[(1, more), (2, 11)]), 2, Instant::now());
    }
    assert_eq!(nodes.numbers(), [1], "one that says nothing new is gone after six seconds");
    pass(2).await;
    nodes.take_over(said(&[(1, 16), (2, 11)]), 2, Instant::now());
    assert_eq!(nodes.numbers(), [1], "what it has said is still there, and no news");
    // One that leaves is gone at once.
    pass(2).await;
    nodes.take_over(said(&[(1, 16), (3, 1)]), 2, Instant::now());
    assert_eq!(nodes.numbers(), [1, 3]);
    pass(2).await;
    nodes.take_over(said(&[(1, 17)]), 2, Instant::now());
    assert_eq!(nodes.numbers(), [1]);
}

#[tokio::test]
async fn a_store_that_takes_nothing_is_not_there() {
    let Some((_redis, port)) = Redis::on_a_port("", &[]) else { return };
    let store = store_at(format!("redis://127.0.0.1:{port}"), 1);
    until(|| store.is_connected()).await;
    until_said(port, &["CONFIG", "SET", "maxmemory", "1"], |said| said == "ok").await;
    while store.set_session("x", "level", "info").await.is_ok() {}
    until(|| store.degraded().as_deref() == Some("redis refuses: OOM")).await;
    // Before long nobody is made to ask it.
    until(|| store.shared.connection.is_away()).await;
    assert_eq!(store.degraded().as_deref(), Some("redis refuses: OOM"));
    until_said(port, &["CONFIG", "SET", "maxmemory", "0"], |said| said == "ok").await;
    until(|| store.is_connected()).await;
    surely(|| store.set_session("x", "level", "info")).await;
}

#[tokio::test]
async fn news_are_heard_again_though_their_connection_alone_broke() {
    let Some((_redis, port)) = Redis::on_a_port("", &[]) else { return };
    let store = store_at(format!("redis://127.0.0.1:{port}"), 1);
    let heard = Arc::new(std::sync::Mutex::new(Vec::<String>::new()));
    let hears = Arc::clone(&heard);
    store.listen(Box::new(move |heard| hears.lock().unwrap().push(format!("{heard:?}"))));
    until_said(port, &["PUBSUB", "NUMSUB", "mf:news"], |said| said.contains("int(1)")).await;
    until_said(port, &["CLIENT", "KILL", "TYPE", "pubsub"], |said| said == "int(1)").await;
    until(|| heard.lock().unwrap().contains(&"Missed".to_owned())).await;
    surely(|| store.publish("x")).await;
    until(|| heard.lock().unwrap().contains(&"News(\"x\")".to_owned())).await;
}

#[tokio::test]
async fn what_a_stream_begins_with_outlives_its_first_entries() {
    let Some(redis) = Redis::start() else { return };
    let store = redis.store(1);
    until(|| store.is_connected()).await;
    let first = Place { number: 1, is_first: true, keep_from: 0 };
    let opened = Entry { kind: 'q', text: b"[1]".to_vec() };
    assert_eq!(surely(|| store.append("x:7", first, &opened)).await, Appended::Done);
    let large = Entry { kind: 'e', text: vec![b'x'; 4096] };
    for number in 2..2000 {
        let place = Place { number, is_first: false, keep_from: 0 };
        surely(|| store.append("x:7", place, &large)).await;
    }
    assert!(surely(|| store.read("x:7", 0)).await.first().is_some_and(|(number, _)| *number > 1));
    assert_eq!(surely(|| store.first("x:7")).await, Some(b"[1]".to_vec()));
    // They come some at a time, and one after another.
    let (mut seen, mut reads) = (1500, 0);
    loop {
        let some = surely(|| store.read("x:7", seen)).await;
        let Some((last, _)) = some.last() else { break };
        assert_eq!(
            some.iter().map(|(number, _)| *number).collect::<Vec<_>>(),
            (seen + 1..=*last).collect::<Vec<_>>()
        );
        (seen, reads) = (*last, reads + 1);
    }
    assert_eq!((seen, reads), (1999, 8));
    // What may go does, about.
    let place = Place { number: 2000, is_first: false, keep_from: 1990 };
    surely(|| store.append("x:7", place, &large)).await;
    assert!(surely(|| store.read("x:7", 0)).await[0].0 > 1900);
}

#[tokio::test]
async fn notes_of_a_session_have_an_end() {
    let Some(redis) = Redis::start() else { return };
    let store = redis.store(1);
    until(|| store.is_connected()).await;
    for at in 0..10_016 {
        let field = format!("u:{at}");
        assert!(surely(|| store.add_to_session("x", &field, "1")).await);
    }
    assert!(!surely(|| store.add_to_session("x", "u:more", "1")).await);
    assert!(surely(|| store.add_to_session("x", "u:7", "1")).await, "it is there already");
    surely(|| store.set_session("x", "over", "1")).await;
    let sids = ["x".to_owned(), "y".to_owned()];
    assert_eq!(surely(|| store.sessions_with(&sids, "over")).await, ["x"]);
}

// What replicas of today's format have written, which those of the next must read: side by side during a rollout.
#[tokio::test]
async fn what_another_version_wrote_is_read() {
    let node = nodes::node(7, "1763500000000 http://10.0.0.7:3095#dtohFVL2 one two").unwrap();
    assert_eq!((node.address.as_str(), node.name.as_str()), ("http://10.0.0.7:3095#dtohFVL2", "one two"));
    let Some((_redis, port)) = Redis::on_a_port("", &[]) else { return };
    for entry in [["0-1", "q", "[9]"], ["0-2", "e", "{}"], ["0-3", "later", "?"], ["0-4", "f", ""]] {
        let [number, kind, text] = entry;
        until_said(port, &["XADD", "mf:ev:{x}:7", number, kind, text], |said| said.contains(number)).await;
    }
    for more in [
        ["XADD", "mf:ev:{x}:7", "0-5", "e", "{}", "more", "1"].as_slice(),
        &["HSET", "mf:s:{x}", "level", "info", "u:file:///a", "1", "used", "1", "later", "?"],
    ] {
        until_said(port, more, |_| true).await;
    }
    let store = store_at(format!("redis://127.0.0.1:{port}"), 1);
    until(|| store.is_connected()).await;
    let read = surely(|| store.read("x:7", 0)).await;
    let kinds: Vec<(u64, char)> = read.iter().map(|(number, entry)| (*number, entry.kind)).collect();
    assert_eq!(kinds, [(1, 'q'), (2, 'e'), (3, 'l'), (4, 'f'), (5, '?')]);
    assert_eq!(surely(|| store.session("x")).await.len(), 4);
}
