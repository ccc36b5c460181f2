use std::collections::BTreeMap;
use std::future::{pending, poll_fn};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use manifold_engine::{BoxFuture, Budget};

use super::*;
use crate::http::stream::EventBody;
use crate::replica::{Away, Heard, Note, SessionNotes};

/// A store in memory, which can go away.
#[derive(Default)]
struct Memory {
    entries: Mutex<BTreeMap<u64, Entry>>,
    is_away: AtomicBool,
}

impl Memory {
    fn numbers(&self) -> Vec<u64> {
        self.entries.lock().unwrap().keys().copied().collect()
    }
}

impl Link for Memory {
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

    fn opened(&self, _: &str) -> BoxFuture<Result<Option<String>, Away>> {
        Box::pin(async { Err(Away) })
    }

    fn look_for_replicas(&self) -> BoxFuture<()> {
        Box::pin(async {})
    }

    fn is_gone(&self, _: u32, _: Instant) -> bool {
        false
    }

    fn append(&self, _: &str, number: u64, _: u64, entry: Entry) -> BoxFuture<Result<Appended, Away>> {
        let mut entries = self.entries.lock().unwrap();
        let is_away = self.is_away.load(Ordering::Relaxed);
        let is_late = entries.last_key_value().is_some_and(|(last, _)| *last >= number);
        if !is_away && !is_late {
            entries.insert(number, entry);
        }
        Box::pin(async move {
            match (is_away, is_late) {
                (true, _) => Err(Away),
                (_, true) => Ok(Appended::Conflict),
                _ => Ok(Appended::Done),
            }
        })
    }

    fn read(&self, _: &str, _: u64) -> BoxFuture<Result<Vec<(u64, Entry)>, Away>> {
        Box::pin(async { Err(Away) })
    }

    fn last(&self, _: &str) -> BoxFuture<Result<u64, Away>> {
        Box::pin(async { Err(Away) })
    }

    fn address(&self, _: u32) -> Option<String> {
        None
    }

    fn tell(&self, _: String) {}

    fn listen(&self, _: Box<dyn Fn(Heard<'_>) + Send + Sync>) {}
}

fn logged(memory: &Arc<Memory>, last: u64, number: u64) -> Arc<Stream> {
    let link = Arc::clone(memory) as Arc<dyn Link>;
    let log = StreamLog { link, tasks: Tasks::new(), name: "x:1".to_owned(), answers: "[1]".to_owned() };
    Stream::logged(last, number, &Budget::new(1 << 20), Some(log))
}

/// Returns what can be heard now.
async fn heard(body: &mut EventBody) -> Option<String> {
    let bytes = poll_fn(|context| Poll::Ready(body.poll_bytes(context))).await;
    match bytes {
        Poll::Ready(bytes) => bytes.map(|bytes| String::from_utf8(bytes.to_vec()).unwrap()),
        Poll::Pending => Some(String::new()),
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_heard_is_in_the_log() {
    let memory = Arc::new(Memory::default());
    let stream = logged(&memory, 0, 7);
    let mut body = stream.attach(0, Bytes::new(), pending());
    stream.push(Bytes::from_static(b"{}"));
    assert_eq!(heard(&mut body).await.as_deref(), Some(""), "it is not written yet");
    sleep(Duration::from_millis(1)).await;
    assert_eq!(memory.numbers(), [1, 2]);
    assert_eq!(heard(&mut body).await.as_deref(), Some("id: 7-1\nevent: message\ndata: {}\n\n"));
    // Where it cannot be written it is heard all the same, and written when it can be.
    memory.is_away.store(true, Ordering::Relaxed);
    stream.push(Bytes::from_static(b"[]"));
    sleep(Duration::from_millis(1)).await;
    assert_eq!(heard(&mut body).await.as_deref(), Some("id: 7-2\nevent: message\ndata: []\n\n"));
    assert_eq!(memory.numbers(), [1, 2]);
    memory.is_away.store(false, Ordering::Relaxed);
    stream.finish();
    sleep(AGAIN * 3).await;
    assert_eq!(memory.numbers(), [1, 2, 3, 4]);
    assert_eq!(memory.entries.lock().unwrap().get(&4), Some(&Entry::Finished));
    assert_eq!(heard(&mut body).await, None);
}

#[tokio::test(start_paused = true)]
async fn the_own_stream_is_written_by_who_has_its_reader() {
    let memory = Arc::new(Memory::default());
    let (here, there) = (logged(&memory, 100, 0), logged(&memory, 500, 0));
    here.push(Bytes::from_static(b"1"));
    sleep(Duration::from_millis(1)).await;
    assert!(memory.numbers().is_empty(), "nobody listens");
    let mut body = here.attach(0, Bytes::new(), pending());
    sleep(Duration::from_millis(1)).await;
    assert_eq!((memory.numbers(), here.last_entry()), (vec![102], 102));
    assert!(heard(&mut body).await.is_some_and(|heard| heard.starts_with("id: 0-101\n")));
    // It moves: what was missed is said first, then what waited there, under the numbers that follow.
    there.push(Bytes::from_static(b"2"));
    there.go_on_after(102, vec![Bytes::from_static(b"1")]);
    let mut other = there.attach(100, Bytes::new(), pending());
    sleep(Duration::from_millis(1)).await;
    let text = heard(&mut other).await.unwrap();
    assert_eq!(text, "id: 0-101\nevent: message\ndata: 1\n\nid: 0-102\nevent: message\ndata: 2\n\n");
    assert_eq!(memory.numbers(), [102, 103]);
    // Who does not know yet finds out.
    here.push(Bytes::from_static(b"3"));
    sleep(Duration::from_millis(1)).await;
    assert_eq!(heard(&mut body).await, None, "it is another replica's");
    assert_eq!(memory.numbers(), [102, 103]);
}

// Whoever reads it elsewhere must not wait for what will never come.
#[tokio::test(start_paused = true)]
async fn a_log_that_was_not_written_for_long_says_so() {
    let memory = Arc::new(Memory::default());
    let stream = logged(&memory, 0, 7);
    let _body = stream.attach(0, Bytes::new(), pending());
    stream.push(Bytes::from_static(b"{}"));
    sleep(Duration::from_millis(1)).await;
    memory.is_away.store(true, Ordering::Relaxed);
    stream.push(Bytes::from_static(b"[]"));
    sleep(AGAIN * (MAX_MISSES + 10)).await;
    stream.push(Bytes::from_static(b"1"));
    stream.finish();
    memory.is_away.store(false, Ordering::Relaxed);
    sleep(AGAIN * 20).await;
    assert_eq!(memory.numbers(), [1, 2, 3]);
    assert_eq!(memory.entries.lock().unwrap().get(&3), Some(&Entry::Broken));
}

#[tokio::test(start_paused = true)]
async fn what_was_forgotten_before_it_was_written_breaks_the_log() {
    let memory = Arc::new(Memory::default());
    let stream = logged(&memory, 0, 7);
    let mut body = stream.attach(0, Bytes::new(), pending());
    stream.push(Bytes::from_static(b"{}"));
    sleep(Duration::from_millis(1)).await;
    memory.is_away.store(true, Ordering::Relaxed);
    for _ in 0..3 {
        for _ in 0..1000 {
            stream.push(Bytes::from_static(b"[]"));
        }
        sleep(Duration::from_millis(1)).await;
        assert!(heard(&mut body).await.is_some_and(|heard| !heard.is_empty()), "it is heard all the same");
    }
    memory.is_away.store(false, Ordering::Relaxed);
    sleep(AGAIN * 20).await;
    assert_eq!(memory.entries.lock().unwrap().get(&3), Some(&Entry::Broken));
    // The session's own goes on after the gap.
    let memory = Arc::new(Memory::default());
    let own = logged(&memory, 0, 0);
    let mut body = own.attach(0, Bytes::new(), pending());
    memory.is_away.store(true, Ordering::Relaxed);
    for at in 0..3000 {
        own.push(Bytes::from(format!("{at}")));
        if at % 500 == 0 {
            sleep(Duration::from_millis(1)).await;
            heard(&mut body).await;
        }
    }
    memory.is_away.store(false, Ordering::Relaxed);
    sleep(AGAIN * 20).await;
    assert_eq!(memory.numbers().last(), Some(&3001));
}

#[tokio::test(start_paused = true)]
async fn a_large_answer_is_not_written_down() {
    for (event, count, written) in [(MAX_EVENT + 1, 1, 0), (MAX_EVENT, 20, MAX_LOG / MAX_EVENT)] {
        let memory = Arc::new(Memory::default());
        let stream = logged(&memory, 0, 7);
        let mut body = stream.attach(0, Bytes::new(), pending());
        for _ in 0..count {
            stream.push(Bytes::from(vec![b'1'; event]));
        }
        stream.finish();
        sleep(Duration::from_millis(1)).await;
        let numbers: Vec<u64> = (1..=written as u64 + 2).collect();
        assert_eq!(memory.numbers(), numbers);
        assert_eq!(memory.entries.lock().unwrap().get(&(written as u64 + 2)), Some(&Entry::Broken));
        assert!(heard(&mut body).await.is_some_and(|heard| heard.len() > count * event), "all is heard");
    }
    // The session's own stream goes on without it.
    let memory = Arc::new(Memory::default());
    let own = logged(&memory, 0, 0);
    let _body = own.attach(0, Bytes::new(), pending());
    own.push(Bytes::from(vec![b'1'; MAX_EVENT + 1]));
    own.push(Bytes::from_static(b"2"));
    sleep(Duration::from_millis(1)).await;
    assert_eq!(memory.numbers(), [3]);
}
