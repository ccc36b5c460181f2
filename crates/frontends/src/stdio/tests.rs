use manifold_config::Profile;
use manifold_protocol::{CodeSet, Raw};
use tokio::io::{
    AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, SimplexStream, WriteHalf, duplex, simplex,
};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::*;
use crate::fake::{self, Fake};
use crate::serve::{CROWDED_BYTES, LAST_WORDS};

/// A client, and the server that serves it.
struct Wire {
    to: Option<DuplexStream>,
    from: ReadHalf<SimplexStream>,
    fake: Arc<Fake>,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    serving: JoinSet<()>,
}

fn wire(framing: Option<Framing>) -> Wire {
    wire_of(framing, 1 << 20, 1 << 20)
}

fn wire_of(framing: Option<Framing>, limit_bytes: usize, room_bytes: usize) -> Wire {
    let world = fake::world(Profile::Manifold);
    let destination = Destination {
        gateway: Ok(world.gateway),
        codes: CodeSet::Own,
        profile: Profile::Manifold,
        audience: manifold_engine::Audience::One,
        requester: manifold_engine::Requester::local(),
    };
    let (to, input) = duplex(room_bytes);
    let (from, output): (_, WriteHalf<SimplexStream>) = simplex(room_bytes);
    let (stop, stopped) = tokio::sync::oneshot::channel();
    let budget = Budget::new(1 << 30);
    let options = Options { limit_bytes, budget, drain_timeout: Duration::from_secs(5), framing };
    let mut serving = JoinSet::new();
    let tasks = world.tasks;
    serving.spawn(async move {
        let stopped = async {
            if stopped.await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        serve(destination, (input, output), options, stopped, &tasks).await;
    });
    Wire { to: Some(to), from, fake: world.fake, stop: Some(stop), serving }
}

impl Wire {
    async fn send(&mut self, bytes: &[u8]) {
        self.to.as_mut().unwrap().write_all(bytes).await.unwrap();
    }

    /// Returns what has been written once nothing more happens.
    async fn read(&mut self) -> String {
        let mut text = Vec::new();
        loop {
            match timeout(Duration::from_millis(10), self.from.read_buf(&mut text)).await {
                Ok(Ok(count)) if count > 0 => {}
                _ => return String::from_utf8(text).unwrap(),
            }
        }
    }

    async fn open(&mut self) {
        self.send(HELLO.as_bytes()).await;
        assert!(self.read().await.contains("serverInfo"));
    }

    /// Waits for the end and returns how long it took.
    async fn ended(&mut self) -> Duration {
        let start = Instant::now();
        self.serving.join_next().await.unwrap().unwrap();
        start.elapsed()
    }
}

const HELLO: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}"#,
    "\n"
);
const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
const PONG: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
const HOLD: &str =
    concat!(r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"s__hold"}}"#, "\n");

fn counted(message: &str) -> String {
    format!("Content-Length: {}\r\n\r\n{message}", message.len())
}

// S1-36, S1-37, decision 11
#[tokio::test(start_paused = true)]
async fn the_client_s_framing_is_kept_both_ways() {
    let mut lines = wire(None);
    lines.send(format!("{PING}\n{PING}\n").as_bytes()).await;
    assert_eq!(lines.read().await, format!("{PONG}\n{PONG}\n"));
    lines.send(b"{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1,\n").await;
    assert_eq!(lines.read().await, "");
    lines.send(b"  \"method\": \"ping\"\n}\n").await;
    assert_eq!(lines.read().await, format!("{PONG}\n"), "over several lines");

    let mut frames = wire(None);
    frames.send(counted(PING).as_bytes()).await;
    assert_eq!(frames.read().await, counted(PONG));
    frames.send(format!("content-type: x\r\nCONTENT-LENGTH: {}\r\n\r\n{PING}", PING.len()).as_bytes()).await;
    assert_eq!(frames.read().await, counted(PONG));
    frames.send(counted("nonsense").as_bytes()).await;
    let refused = frames.read().await;
    assert!(refused.starts_with("Content-Length: ") && refused.contains("-32700"), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn a_framing_can_be_forced() {
    let mut frames = wire(Some(Framing::ContentLength));
    frames.send(counted(PING).as_bytes()).await;
    assert_eq!(frames.read().await, counted(PONG));
    let mut lines = wire(Some(Framing::Newline));
    lines.send(format!("{PING}\n").as_bytes()).await;
    assert_eq!(lines.read().await, format!("{PONG}\n"));
}

// S1-35, S1-46
#[tokio::test(start_paused = true)]
async fn bad_input_is_answered_and_the_client_served_on() {
    let mut wire = wire_of(None, 200, 1 << 20);
    wire.send(format!("nonsense\n{{\"id\":7,\"x\":\"{}\"}}\n{PING}\n", "a".repeat(300)).as_bytes()).await;
    let out = wire.read().await;
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 3, "{out}");
    assert!(lines[0].contains(r#""id":null,"error":{"code":-32700"#), "{out}");
    assert!(lines[1].contains(r#""id":7,"error":{"code":-32600"#), "{out}");
    assert_eq!(lines[2], PONG);
}

#[tokio::test(start_paused = true)]
async fn a_last_message_without_its_newline_is_served() {
    let mut wire = wire(None);
    wire.send(PING.as_bytes()).await;
    wire.to = None;
    assert_eq!(wire.ended().await, Duration::ZERO);
    assert_eq!(wire.read().await, format!("{PONG}\n"));
}

// S3-15, decision 17
#[tokio::test(start_paused = true)]
async fn an_idle_client_that_leaves_is_let_go_at_once() {
    for ending in ["{\"jsonrpc\":\"2.0\",\"method\":\"notifications/exit\"}\n", "", "stop"] {
        let mut wire = wire(None);
        wire.open().await;
        match ending {
            "" => wire.to = None,
            "stop" => drop(wire.stop.take().unwrap().send(())),
            exit => wire.send(exit.as_bytes()).await,
        }
        assert_eq!(wire.ended().await, Duration::ZERO, "{ending}");
    }
}

// S1-61, decision 17
#[tokio::test(start_paused = true)]
async fn calls_in_flight_are_finished_first() {
    let mut wire = wire(None);
    wire.open().await;
    wire.send(HOLD.as_bytes()).await;
    wire.read().await;
    let (_, exchange) = wire.fake.held().remove(0);
    wire.to = None;
    let finish = async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        exchange.finish(Ok(Raw::from_static("{}")));
    };
    let start = Instant::now();
    tokio::join!(finish, wire.serving.join_next());
    assert_eq!(start.elapsed(), Duration::from_secs(2));
    assert_eq!(wire.read().await, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n");
}

#[tokio::test(start_paused = true)]
async fn draining_ends_after_its_time_and_cancels_the_rest() {
    let mut wire = wire(None);
    wire.open().await;
    wire.send(HOLD.as_bytes()).await;
    wire.read().await;
    let (_, exchange) = wire.fake.held().remove(0);
    wire.stop.take().unwrap().send(()).unwrap();
    assert_eq!(wire.ended().await, Duration::from_secs(5));
    assert!(exchange.is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_no_more_does_not_keep_us() {
    let mut wire = wire_of(None, 1 << 20, 4096);
    wire.open().await;
    let big = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{{\"name\":\"s__echo\",\"arguments\":{{\"x\":\"{}\"}}}}}}\n",
        "a".repeat(20_000)
    );
    wire.send(big.as_bytes()).await;
    wire.to = None;
    assert_eq!(wire.ended().await, LAST_WORDS);
}

// F20
#[tokio::test(start_paused = true)]
async fn a_client_that_is_owed_too_much_is_not_read_further() {
    let mut wire = wire_of(None, 32 << 20, 64 << 10);
    wire.open().await;
    let message = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{{\"name\":\"s__echo\",\"arguments\":\"{}\"}}}}\n",
        "a".repeat(1 << 20)
    );
    let mut sent = 0;
    while timeout(Duration::from_secs(1), wire.send(message.as_bytes())).await.is_ok() {
        sent += 1;
        assert!(sent < 40, "it is read without end");
    }
    assert!(sent >= CROWDED_BYTES >> 20, "only {sent} MiB");
    // Half a message is stuck; what is owed comes out whole, and then it goes on.
    let mut owed = 0;
    loop {
        let read = wire.read().await;
        if read.is_empty() {
            break;
        }
        owed += read.len();
    }
    assert!(owed > sent << 20, "{owed}");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_an_operator_wants_gone_is_left_at_once() {
    let world = fake::world(Profile::Manifold);
    let destination = Destination {
        gateway: Ok(world.gateway),
        codes: CodeSet::Own,
        profile: Profile::Manifold,
        audience: manifold_engine::Audience::One,
        requester: manifold_engine::Requester::local(),
    };
    let outbox = Arc::new(manifold_engine::Outbox::new(1 << 20));
    let outlet = Arc::clone(&outbox) as Arc<dyn Outlet>;
    let client = StreamClient::new(destination, &outbox, Arc::clone(&outlet), &world.tasks);
    for message in
        [HELLO.trim_end(), r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"s__hold"}}"#]
    {
        assert_eq!(client.receive(message.to_owned().into(), &outlet), Received::Done);
    }
    let began = Instant::now();
    let hour = Duration::from_secs(3600);
    let (reading, stop) = (pin!(std::future::pending()), pin!(std::future::pending()));
    let serving = client.serve(reading, stop, &outbox, hour);
    let ((), is_told) = tokio::join!(serving, async { client.session.disconnect() });
    assert!(is_told && began.elapsed() < hour, "its call is not waited for");
    assert!(world.fake.held().iter().all(|(_, exchange)| exchange.is_cancelled()));
}
