use std::future::{pending, poll_fn};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use manifold_engine::{BoxFuture, Budget, Tasks};

use super::*;
use crate::http::stream::EventBody;
use crate::replica::{Heard, Note, SessionNotes};

/// The log of one stream, whose owner may be gone.
#[derive(Default)]
struct Log {
    entries: Mutex<Vec<(u64, Entry)>>,
    is_gone: AtomicBool,
}

impl Log {
    fn write(&self, number: u64, entry: Entry) {
        self.entries.lock().unwrap().push((number, entry));
    }
}

impl Link for Log {
    fn session(&self, _: &str) -> BoxFuture<Result<SessionNotes, Away>> {
        Box::pin(async { Err(Away) })
    }

    fn note(&self, _: &str, _: Note) -> BoxFuture<Result<(), Away>> {
        Box::pin(async { Err(Away) })
    }

    fn used(&self, _: Vec<String>) -> BoxFuture<()> {
        Box::pin(async {})
    }

    fn over(&self, _: Vec<String>) -> BoxFuture<Result<Vec<String>, Away>> {
        Box::pin(async { Err(Away) })
    }

    fn append(&self, _: &str, number: u64, _: u64, entry: Entry) -> BoxFuture<Result<Appended, Away>> {
        self.write(number, entry);
        Box::pin(async { Ok(Appended::Done) })
    }

    fn opened(&self, _: &str) -> BoxFuture<Result<Option<String>, Away>> {
        Box::pin(async { Ok(Some("[9]".to_owned())) })
    }

    fn read(&self, _: &str, after: u64) -> BoxFuture<Result<Vec<(u64, Entry)>, Away>> {
        let entries = self.entries.lock().unwrap().clone();
        // Two at a time, as a store gives many.
        let some = entries.into_iter().filter(|(number, _)| *number > after).take(2).collect();
        Box::pin(async move { Ok(some) })
    }

    fn last(&self, _: &str) -> BoxFuture<Result<u64, Away>> {
        Box::pin(async { Err(Away) })
    }

    fn address(&self, _: u32) -> Option<String> {
        None
    }

    fn look_for_replicas(&self) -> BoxFuture<()> {
        Box::pin(async {})
    }

    fn is_gone(&self, _: u32, _: Instant) -> bool {
        self.is_gone.load(Ordering::Relaxed)
    }

    fn tell(&self, _: String) {}

    fn listen(&self, _: Box<dyn Fn(Heard<'_>) + Send + Sync>) {}
}

/// Follows a log from its first event on.
fn follow(log: &Arc<Log>, tasks: &Tasks) -> EventBody {
    let stream = Stream::after(0, 7, &Budget::new(1 << 20));
    let body = stream.attach(0, Bytes::new(), pending());
    let (name, answers) = ("x:7".to_owned(), "[9]".to_owned());
    let follower = Follower { stream, name, answers, seen: 1, codes: CodeSet::Standard };
    let log = Arc::clone(log);
    tasks.spawn_background(async move { follower.follow(&*log, 3, Instant::now()).await });
    body
}

/// Returns what can be heard now; `None` at the end.
async fn heard(body: &mut EventBody) -> Option<String> {
    sleep(LOOK * 3).await;
    match poll_fn(|context| Poll::Ready(body.poll_bytes(context))).await {
        Poll::Ready(bytes) => bytes.map(|bytes| String::from_utf8(bytes.to_vec()).unwrap()),
        Poll::Pending => Some(String::new()),
    }
}

fn event(text: &'static str) -> Entry {
    Entry::Event(Bytes::from_static(text.as_bytes()))
}

#[tokio::test(start_paused = true)]
async fn only_in_place_of_a_replica_that_is_gone_is_answered() {
    let (log, tasks) = (Arc::new(Log::default()), Tasks::new());
    log.write(1, Entry::Opened("[9]".to_owned()));
    log.write(2, event("1"));
    let mut body = follow(&log, &tasks);
    assert_eq!(heard(&mut body).await.as_deref(), Some("id: 7-1\nevent: message\ndata: 1\n\n"));
    // It says nothing for long, and nobody knows that it is gone.
    sleep(Duration::from_secs(600)).await;
    assert_eq!(log.entries.lock().unwrap().len(), 2);
    log.is_gone.store(true, Ordering::Relaxed);
    let answer = heard(&mut body).await.unwrap();
    // A sign of life was due.
    let answer = if answer == ":\n\n" { heard(&mut body).await.unwrap() } else { answer };
    assert!(answer.starts_with("id: 7-2\n") && answer.contains("may have been carried out"), "{answer}");
    assert_eq!(heard(&mut body).await, None);
}

#[tokio::test(start_paused = true)]
async fn where_something_is_missing_its_client_is_let_go() {
    for missing in [(3, Entry::Broken), (4, event("3"))] {
        let (log, tasks) = (Arc::new(Log::default()), Tasks::new());
        log.write(2, event("1"));
        let mut body = follow(&log, &tasks);
        assert!(heard(&mut body).await.is_some_and(|heard| heard.starts_with("id: 7-1\n")));
        log.write(missing.0, missing.1);
        assert_eq!(heard(&mut body).await, None, "it comes back for the rest");
    }
}

#[tokio::test]
async fn all_of_a_log_is_read() {
    let log = Log::default();
    for number in 1..=9 {
        log.write(number, event("1"));
    }
    assert_eq!(read_all(&log, "x:7", 2).await.unwrap().len(), 7);
}
