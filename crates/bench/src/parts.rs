//! The single-threaded parts of the call path, each alone.

use std::error::Error;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use manifold_config::{Profile, Secret};
use manifold_engine::{
    Audience, Exchange, Gateway, Hop, Link, Lock as _, Party, Requester, Sink, SubscribeOptions, Tap, Traffic,
};
use manifold_frontends::{Destination, Outlet, Session};
use manifold_protocol::{Call, CodeSet, Id, Method, Outgoing, Raw, Reply, envelope};

use crate::world;

/// Does the work once. Fails if it did not come to what it should.
pub type Work = Box<dyn FnMut() -> Result<(), Box<dyn Error>>>;

pub struct Part {
    pub name: &'static str,
    /// How often it is done to be counted: enough to drown what differs from run to run.
    pub rounds: u64,
    prepare: fn() -> Result<Work, Box<dyn Error>>,
}

pub const ALL: [Part; 11] = [
    Part { name: "parse: a small call", rounds: 20_000, prepare: || parse(small_call()) },
    Part { name: "parse: a result of 1 MiB", rounds: 20, prepare: || parse(large_result()) },
    Part { name: "rename: a small call", rounds: 20_000, prepare: rename },
    Part { name: "write: a small result", rounds: 20_000, prepare: || write(64) },
    Part { name: "write: a result of 1 MiB", rounds: 100, prepare: || write(MIB) },
    Part { name: "route: 1 server of 20 tools", rounds: 20_000, prepare: || route(1, 20) },
    Part { name: "route: 100 servers of 100 tools", rounds: 40_000, prepare: || route(100, 100) },
    Part { name: "list: 1,000 tools", rounds: 20_000, prepare: || list(1, 1000) },
    Part { name: "session: a call", rounds: 10_000, prepare: || session(1, 20, SMALL_CALL) },
    Part { name: "session: a list of 20 tools", rounds: 2_000, prepare: || session(1, 20, LIST) },
    Part { name: "session: a list of 1,000 tools", rounds: 100, prepare: || session(1, 1000, LIST) },
];

/// Those that can be run and are not guarded: nobody pays for them but who watches.
pub const UNGUARDED: [Part; 2] = [
    Part { name: "traffic: a call is noted", rounds: 5_000, prepare: || traffic(false) },
    Part { name: "traffic: a call is noted and written", rounds: 5_000, prepare: || traffic(true) },
];

const MIB: usize = 1 << 20;
const SMALL_CALL: &str = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"s0__t7","arguments":{"text":"0123456789012345678901234567890123456789012345678901234567890123"}}}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":8,"method":"tools/list","params":{}}"#;
const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;

impl Part {
    /// Sets the part up and does it `rounds` times, on one thread.
    pub fn run(&self, rounds: u64) -> Result<(), Box<dyn Error>> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let mut work = (self.prepare)()?;
            (0..rounds).try_for_each(|_| work())
        })
    }
}

fn small_call() -> String {
    SMALL_CALL.to_owned()
}

fn text_result(size: usize) -> String {
    // Text as it is: words, line ends and quotes, so that escapes are met now and then.
    let line = r#"fn main() { println!(\"Hello, world!\"); } // and a comment to the end of it\n"#;
    format!(r#"{{"content":[{{"type":"text","text":"{}"}}]}}"#, line.repeat(size.div_ceil(line.len())))
}

fn large_result() -> String {
    format!(r#"{{"jsonrpc":"2.0","id":7,"result":{}}}"#, text_result(MIB))
}

fn parse(text: String) -> Result<Work, Box<dyn Error>> {
    let text = Bytes::from(text);
    Ok(Box::new(move || {
        let parsed = envelope::parse(black_box(text.clone()));
        parsed.map(black_box).map(drop).map_err(|refusal| format!("{refusal:?}").into())
    }))
}

/// Puts the server's own name of a tool in place of ours.
fn rename() -> Result<Work, Box<dyn Error>> {
    let params = Raw::parse(SMALL_CALL)?.get("params");
    let name = Raw::from_static(r#""t7""#);
    Ok(Box::new(move || {
        let mut call = Call::new(Method::ToolsCall, black_box(params.clone()));
        call.set_param("name", name.clone());
        black_box(call);
        Ok(())
    }))
}

fn write(size: usize) -> Result<Work, Box<dyn Error>> {
    let body = Raw::parse(text_result(size))?;
    let id = Id::from_raw(&Raw::number(7)).ok_or("an id")?;
    Ok(Box::new(move || {
        black_box(envelope::result(black_box(&id), &body));
        Ok(())
    }))
}

fn route(servers: usize, tools: usize) -> Result<Work, Box<dyn Error>> {
    let params = Raw::parse(SMALL_CALL)?.get("params");
    dispatch(world::gateway(servers, tools)?, move || Call::new(Method::ToolsCall, params.clone()))
}

fn list(servers: usize, tools: usize) -> Result<Work, Box<dyn Error>> {
    dispatch(world::gateway(servers, tools)?, || Call::new(Method::ToolsList, None))
}

fn dispatch(gateway: Arc<Gateway>, call: impl Fn() -> Call + 'static) -> Result<Work, Box<dyn Error>> {
    let tally = Tally::default();
    Ok(Box::new(move || {
        let (exchange, _flight) = Exchange::open(tally.clone());
        gateway.dispatch(call(), exchange);
        tally.one_more()
    }))
}

/// From a client's bytes to the bytes it gets.
fn session(servers: usize, tools: usize, message: &'static str) -> Result<Work, Box<dyn Error>> {
    let destination = Destination {
        gateway: Ok(world::gateway(servers, tools)?),
        codes: CodeSet::Own,
        profile: Profile::Manifold,
        audience: Audience::One,
        requester: Requester::local(),
    };
    let outlet = Arc::new(CountingOutlet::default());
    let session = Session::new(destination, Arc::clone(&outlet) as Arc<dyn Outlet>);
    let message = Bytes::from_static(message.as_bytes());
    session.receive(Bytes::from_static(HELLO.as_bytes()));
    session.receive(message.clone());
    // One answer is looked into; the others are as long.
    let answer = outlet.last.locked().take().ok_or("no answer")?;
    let length = answer.len() as u64;
    if memchr::memmem::find(&answer.into_bytes(), b",\"result\":{").is_none() {
        return Err("no result".into());
    }
    outlet.bytes.store(0, Ordering::Relaxed);
    Ok(Box::new(move || {
        session.receive(black_box(message.clone()));
        match outlet.bytes.swap(0, Ordering::Relaxed) == length {
            true => Ok(()),
            false => Err("an answer of another length".into()),
        }
    }))
}

/// A call as it is seen on one hop while somebody wants all of it: request and answer, two frames.
fn traffic(is_written: bool) -> Result<Work, Box<dyn Error>> {
    // They stay known for good; each has a dozen forms to be found in.
    for number in 0..12 {
        drop(Secret::new(format!("a-secret-of-{number}-0123456789")));
    }
    let traffic = Traffic::unwatched();
    let mut watching = traffic.subscribe(SubscribeOptions::to_record());
    let party = Party { hop: Hop::Client, namespace: Some("all".to_owned()), ..Party::default() };
    let tap = Tap::new(&traffic, party);
    let request = Bytes::from_static(SMALL_CALL.as_bytes());
    let answer =
        Outgoing::from(Bytes::from(format!(r#"{{"jsonrpc":"2.0","id":7,"result":{}}}"#, text_result(64))));
    let mut lines = Vec::new();
    Ok(Box::new(move || {
        tap.heard(black_box(&request));
        tap.said(black_box(&answer), Link::default());
        lines.clear();
        while is_written && let Some(item) = watching.try_next() {
            serde_json::to_writer(&mut lines, &item)?;
            lines.push(b'\n');
        }
        match is_written && lines.iter().filter(|byte| **byte == b'\n').count() != 2 {
            true => Err("a frame is missing".into()),
            false => Ok(()),
        }
    }))
}

/// The client's end of a session: keeps the last answer, and counts the bytes of all.
#[derive(Default)]
struct CountingOutlet {
    last: Mutex<Option<Outgoing>>,
    bytes: AtomicU64,
}

impl Outlet for CountingOutlet {
    fn answer(&self, message: Outgoing) {
        self.bytes.fetch_add(message.len() as u64, Ordering::Relaxed);
        *self.last.locked() = Some(message);
    }

    fn ask(&self, _message: Bytes) {}

    fn tell(&self, _message: Bytes) {}
}

/// Counts what arrives and looks no further.
#[derive(Default, Clone)]
struct Tally(Arc<AtomicU64>);

impl Tally {
    /// Takes the one good answer that must have come.
    fn one_more(&self) -> Result<(), Box<dyn Error>> {
        match self.0.swap(0, Ordering::Relaxed) {
            1 => Ok(()),
            good => Err(format!("{good} good answers instead of one").into()),
        }
    }
}

impl Sink for Tally {
    fn reply(&self, reply: Reply) {
        if black_box(reply).is_ok() {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}
