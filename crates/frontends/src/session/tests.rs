mod about;
mod asking;
mod calls;

use std::pin::pin;
use std::task::{Context, Waker};

use expect_test::{Expect, expect};
use manifold_config::ServerKey;
use manifold_engine::Outbox;
use tokio::sync::oneshot;

use manifold_protocol::envelope::MethodName;
use manifold_protocol::{Call, Outgoing, Raw};

use super::*;
use crate::fake::{self, World, lock};

struct Desk {
    session: Arc<Session>,
    outbox: Arc<Outbox>,
    world: World,
}

fn desk() -> Desk {
    desk_of(Profile::Manifold, CodeSet::Own)
}

fn desk_of(profile: Profile, codes: CodeSet) -> Desk {
    let world = fake::world(profile);
    let outbox = Arc::new(Outbox::new(1 << 20));
    let destination = Destination {
        gateway: Ok(Arc::clone(&world.gateway)),
        codes,
        profile,
        audience: Audience::One,
        requester: Requester::local(),
    };
    Desk { session: Session::new(destination, Arc::clone(&outbox) as _), outbox, world }
}

/// A desk whose client has shaken hands and can do all this.
fn open(revision: &str, capabilities: &str) -> Desk {
    let desk = desk();
    desk.say(&initialize(revision, capabilities));
    desk.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    assert_eq!(desk.out().len(), 1);
    desk
}

fn initialize(revision: &str, capabilities: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{capabilities},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
    )
}

fn request(id: &str, method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#)
}

fn tool(id: &str, name: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"s__{name}","arguments":{{"x":{id}}}}}}}"#
    )
}

fn cancel(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"no"}}}}"#
    )
}

fn drain(outbox: &Outbox) -> Vec<String> {
    let mut batch = Vec::new();
    let _ = pin!(outbox.take(&mut batch)).poll(&mut Context::from_waker(Waker::noop()));
    outbox.written(batch.iter().map(Outgoing::len).sum());
    batch.into_iter().map(|message| String::from_utf8(message.into_bytes().to_vec()).unwrap()).collect()
}

impl Desk {
    fn say(&self, message: &str) -> Received {
        self.session.receive(Bytes::copy_from_slice(message.as_bytes()))
    }

    fn out(&self) -> Vec<String> {
        drain(&self.outbox)
    }

    fn hear(&self, message: &str) -> Vec<String> {
        assert_eq!(self.say(message), Received::Done);
        self.out()
    }

    /// Asks the client something outside any call.
    fn question(&self, method: &str) -> oneshot::Receiver<Reply> {
        let (sender, reply) = oneshot::channel();
        let (exchange, _flight) = Exchange::open(Probe(Mutex::new(Some(sender))));
        let key = ServerKey { schema: None, id: "s".to_owned() };
        self.world.fake.host().ask(&key, None, Call::new(MethodName::from(method).into(), None), exchange);
        reply
    }
}

struct Probe(Mutex<Option<oneshot::Sender<Reply>>>);

impl Sink for Probe {
    fn reply(&self, reply: Reply) {
        let _ = lock(&self.0).take().expect("one answer").send(reply);
    }
}

#[track_caller]
fn check(desk: &Desk, messages: &[&str], expected: Expect) {
    let heard: Vec<String> = messages.iter().flat_map(|message| desk.hear(message)).collect();
    expected.assert_eq(&heard.join("\n"));
}

// S3-2, S1-38, S1-39, decision 26
#[tokio::test]
async fn a_handshake_tells_version_capabilities_and_name() {
    check(
        &desk(),
        &[&initialize("2025-06-18", "{}")],
        expect![[
            r#"{"jsonrpc":"2.0","id":"hello","result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"logging":{},"completions":{}},"serverInfo":{"name":"manifold","version":"0.1.0"}}}"#
        ]],
    );
    check(
        &desk(),
        &[&initialize("2024-11-05", "{}")],
        expect![[
            r#"{"jsonrpc":"2.0","id":"hello","result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"logging":{}},"serverInfo":{"name":"manifold","version":"0.1.0"}}}"#
        ]],
    );
    check(
        &desk(),
        &[&initialize("2099-01-01", r#"{"roots":{},"sampling":{}}"#)],
        expect![[
            r#"{"jsonrpc":"2.0","id":"hello","result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"logging":{},"completions":{}},"serverInfo":{"name":"manifold","version":"0.1.0"}}}"#
        ]],
    );
    let all_in_one = || desk_of(Profile::McpAllInOne, CodeSet::Standard);
    check(
        &all_in_one(),
        &[&initialize("2025-06-18", r#"{"roots":{"listChanged":true},"sampling":{}}"#)],
        expect![[
            r#"{"jsonrpc":"2.0","id":"hello","result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"logging":{},"completions":{},"roots":{},"sampling":{}},"serverInfo":{"name":"mcp-all-in-one","version":"1.0.0"}}}"#
        ]],
    );
    check(
        &all_in_one(),
        &[&initialize("2025-06-18", "{}")],
        expect![[
            r#"{"jsonrpc":"2.0","id":"hello","result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"logging":{},"completions":{}},"serverInfo":{"name":"mcp-all-in-one","version":"1.0.0"}}}"#
        ]],
    );
}

#[tokio::test]
async fn a_handshake_needs_a_version_and_comes_once() {
    let desk = desk();
    check(
        &desk,
        &[
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#,
            r#"{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":7}}"#,
        ],
        expect![[r#"
        {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params: `protocolVersion` is missing"}}
        {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"Invalid params: `protocolVersion` is missing"}}"#]],
    );
    assert!(
        desk.hear(&initialize("2025-06-18", "{}"))[0].contains("serverInfo"),
        "a failed one may be repeated"
    );
    check(
        &desk,
        &[&initialize("2025-06-18", "{}")],
        expect![[
            r#"{"jsonrpc":"2.0","id":"hello","error":{"code":-32600,"message":"Invalid request: the session is initialized already"}}"#
        ]],
    );
}

#[tokio::test]
async fn before_the_handshake_there_is_only_ping() {
    let desk = desk();
    check(
        &desk,
        &[&request("1", "ping"), &request("2", "tools/list"), &tool("3", "echo"), &request("4", "no/such")],
        expect![[r#"
        {"jsonrpc":"2.0","id":1,"result":{}}
        {"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"Invalid request: the first request must be `initialize`"}}
        {"jsonrpc":"2.0","id":3,"error":{"code":-32600,"message":"Invalid request: the first request must be `initialize`"}}
        {"jsonrpc":"2.0","id":4,"error":{"code":-32601,"message":"Method 'no/such' not found"}}"#]],
    );
    assert_eq!(desk.hear(r#"{"jsonrpc":"2.0","method":"notifications/unknown"}"#), [""; 0]);
    assert_eq!(desk.hear(&request("5", "shutdown")), [r#"{"jsonrpc":"2.0","id":5,"result":{}}"#]);
}

// S1-15, decision 5
#[tokio::test]
async fn without_a_namespace_the_handshake_says_why() {
    let check_fault = |fault: Fault, expected: Expect| {
        let outbox = Arc::new(Outbox::new(1 << 20));
        let destination = Destination {
            gateway: Err(fault),
            codes: CodeSet::Own,
            profile: Profile::Manifold,
            audience: Audience::One,
            requester: Requester::local(),
        };
        let session = Session::new(destination, Arc::clone(&outbox) as _);
        for message in [
            request("1", "ping"),
            initialize("2025-06-18", "{}"),
            request("2", "tools/list"),
            request("3", "shutdown"),
        ] {
            session.receive(Bytes::from(message));
        }
        expected.assert_eq(&drain(&outbox).join("\n"));
        session.close();
    };
    let exists = || vec!["a".to_owned(), "b".to_owned()];
    check_fault(
        Fault::NamespaceNotChosen { exists: exists() },
        expect![[r#"
        {"jsonrpc":"2.0","id":1,"result":{}}
        {"jsonrpc":"2.0","id":"hello","error":{"code":-32600,"message":"Several namespaces are configured and none is selected; start with --namespace and one of: a, b","data":{"namespaces":["a","b"]}}}
        {"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"Invalid request: the first request must be `initialize`"}}
        {"jsonrpc":"2.0","id":3,"result":{}}"#]],
    );
    check_fault(
        Fault::UnknownNamespace { requested: "x".to_owned(), exists: exists() },
        expect![[r#"
        {"jsonrpc":"2.0","id":1,"result":{}}
        {"jsonrpc":"2.0","id":"hello","error":{"code":-32004,"message":"Namespace 'x' not found; the config has: a, b","data":{"namespaceId":"x","namespaces":["a","b"]}}}
        {"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"Invalid request: the first request must be `initialize`"}}
        {"jsonrpc":"2.0","id":3,"result":{}}"#]],
    );
}

// S0-6
#[tokio::test]
async fn ids_are_echoed_as_they_were_spelled() {
    let desk = open("2025-06-18", "{}");
    for id in ["0", r#""""#, r#""a\u0062""#, "1.50", "-7", "18446744073709551616"] {
        assert_eq!(
            desk.hear(&request(id, "ping")),
            [format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)]
        );
        assert_eq!(
            desk.hear(&tool(id, "echo")),
            [format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"x":{id}}}}}"#)]
        );
    }
}

// S1-46, decision 20
#[tokio::test]
async fn what_is_no_message_is_refused_and_the_session_goes_on() {
    let desk = open("2025-06-18", "{}");
    check(
        &desk,
        &[
            "nonsense",
            "7",
            r#"{"jsonrpc":"1.0","id":4,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":5,"method":"ping","params":[]}"#,
            r#"{"jsonrpc":"2.0","id":6}"#,
            "[]",
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
        ],
        expect![[r#"
        {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: the message is not valid JSON"}}
        {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request: a message must be an object"}}
        {"jsonrpc":"2.0","id":4,"error":{"code":-32600,"message":"Invalid request: jsonrpc must be \"2.0\""}}
        {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request: id must be a string or a number"}}
        {"jsonrpc":"2.0","id":5,"error":{"code":-32600,"message":"Invalid request: params must be an object"}}
        {"jsonrpc":"2.0","id":6,"error":{"code":-32600,"message":"Invalid request: there is no method"}}
        {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request: the batch is empty"}}
        {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request: batches exist in protocol revision 2025-03-26 only"}}"#]],
    );
    assert_eq!(desk.hear(&request("1", "ping")).len(), 1);
    let start = r#"{"jsonrpc":"2.0","#;
    assert_eq!(desk.say(start), Received::Unfinished(Bytes::from_static(start.as_bytes())));
    assert_eq!(desk.out(), [""; 0]);
}

// S3-11, S3-13, S3-16, decision 12
#[tokio::test]
async fn codes_are_those_of_the_client_s_set() {
    for (codes, expected) in [
        (CodeSet::Own, [-32601, -32000, -32601]),
        (CodeSet::Standard, [-32601, -32601, -32601]),
        (CodeSet::Modern, [-32601, -32602, -32602]),
    ] {
        let desk = desk_of(Profile::Manifold, codes);
        desk.hear(&initialize("2025-06-18", "{}"));
        let named = |name: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{name}"}}}}"#)
        };
        let messages = [request("1", "invalid/method"), named("nobody__x"), named("nonexistent_tool")];
        let found = messages.map(|message| {
            let answer = Raw::parse(desk.hear(&message).remove(0)).unwrap();
            answer.path(&["error", "code"]).unwrap().as_str().parse::<i32>().unwrap()
        });
        assert_eq!(found, expected, "{codes:?}");
    }
}

#[tokio::test]
async fn progress_is_passed_on() {
    let desk = open("2025-06-18", "{}");
    desk.say(&tool("1", "hold"));
    let (_, exchange) = desk.world.fake.held().remove(0);
    exchange.asker().progress(Raw::from_static(r#"{"progressToken":"t","progress":1}"#));
    assert_eq!(
        desk.out(),
        [
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}"#
        ]
    );
}

#[tokio::test]
async fn notices_wait_for_the_handshake() {
    let desk = desk();
    let key = ServerKey { schema: None, id: "s".to_owned() };
    desk.world.fake.host().notice(&key, "notifications/message", None);
    assert_eq!(desk.out(), [""; 0], "never speak first");
    desk.hear(&initialize("2025-06-18", "{}"));
    desk.world.fake.host().notice(&key, "notifications/message", None);
    assert_eq!(desk.out(), [r#"{"jsonrpc":"2.0","method":"notifications/message"}"#]);
    desk.say(r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#);
    assert_eq!(desk.world.fake.told(), ["notifications/roots/list_changed"]);
}
