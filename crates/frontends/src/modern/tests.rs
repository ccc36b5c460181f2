mod questions;
mod waiting;

use std::time::Duration;

use expect_test::{Expect, expect};
use manifold_config::{Profile, ServerKey};
use manifold_engine::{CallHandle, Exchange, Sink};
use manifold_protocol::{Mark, notification};
use tokio::sync::oneshot;
use tokio::time::advance;

use super::*;
use crate::fake::{self, World, lock};

/// What a client heard on the way of one request.
#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

impl Lane for Heard {
    fn answer(&self, verdict: Verdict, message: Outgoing) {
        let message = message.into_bytes();
        let message = String::from_utf8(message.to_vec()).unwrap();
        lock(&self.0).push(format!("{verdict:?} {message}"));
    }

    fn say(&self, message: Bytes) {
        self.tell(message);
    }

    fn tell(&self, message: Bytes) {
        lock(&self.0).push(String::from_utf8(message.to_vec()).unwrap());
    }

    fn abandon(&self) {
        lock(&self.0).push("abandoned".to_owned());
    }
}

impl Heard {
    fn all(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.0))
    }

    /// Waits for the answer and returns it with all before it.
    async fn answer(&self) -> String {
        loop {
            let heard = self.all();
            if !heard.is_empty() {
                return heard.join("\n");
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

struct Office {
    modern: Arc<ModernService>,
    world: World,
    /// Who asks; somebody else each time where it is not said.
    client: Option<ClientId>,
}

fn office() -> Office {
    let world = fake::world(Profile::Manifold);
    Office { modern: ModernService::new(&world.tasks), world, client: None }
}

/// One question in flight: the exchange's answer comes here.
type Asked = oneshot::Receiver<Reply>;

impl Office {
    fn send(&self, method: &str, params: &str, capabilities: &str) -> (Arc<Heard>, RequestHandle) {
        self.send_as(b"me", method, params, capabilities, "")
    }

    fn send_as(
        &self,
        entrance: &[u8],
        method: &str,
        params: &str,
        capabilities: &str,
        more: &str,
    ) -> (Arc<Heard>, RequestHandle) {
        let heard = Arc::new(Heard::default());
        let mut object = Raw::parse(params.to_owned()).unwrap().object().unwrap();
        let meta = format!(
            r#"{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{capabilities}{more}}}"#
        );
        object.set("_meta", Raw::parse(meta).unwrap());
        let request = Request {
            id: Id::number(7),
            method: Method::from(envelope::MethodName::from(method)),
            params: Some(object.into_raw()),
            requester: Requester::local(),
            entrance: entrance.to_vec(),
            client: self.client.unwrap_or_else(ClientId::fresh),
            seen: None,
        };
        let handle = self.modern.serve(&self.world.gateway, request, Arc::clone(&heard) as _);
        (heard, handle)
    }

    /// Calls the tool that waits, and returns what its server holds.
    fn hold(&self, more: &str) -> (Arc<Heard>, RequestHandle, Exchange) {
        let (heard, handle) = self.send_as(b"me", "tools/call", HOLD, ALL, more);
        let (_, exchange) = self.world.fake.held().remove(0);
        (heard, handle, exchange)
    }

    /// Comes back with answers and a state.
    fn back(&self, answers: &str, state: &str) -> (Arc<Heard>, RequestHandle) {
        self.back_as(b"me", "hold", answers, state, "")
    }

    fn back_as(
        &self,
        who: &[u8],
        tool: &str,
        answers: &str,
        state: &str,
        more: &str,
    ) -> (Arc<Heard>, RequestHandle) {
        let params = format!(
            r#"{{"requestState":"{state}","inputResponses":{answers},"arguments":{{}},"name":"{tool}"}}"#
        );
        self.send_as(who, "tools/call", &params, ALL, more)
    }
}

const HOLD: &str = r#"{"name":"hold","arguments":{}}"#;
const ALL: &str = r#"{"elicitation":{},"sampling":{},"roots":{}}"#;
const FORM: &str = r#"{"message":"name?","requestedSchema":{"type":"object"}}"#;

fn ask(exchange: &Exchange, method: Method, params: &'static str) -> Asked {
    ask_of(&exchange.asker(), method, params)
}

fn ask_of(asker: &CallHandle<dyn Sink>, method: Method, params: &'static str) -> Asked {
    let (question, answer) = Exchange::answered();
    asker.ask(Call::new(method, Some(Raw::from_static(params))), question);
    answer
}

/// Returns the state of an answer that asks, and the answer without it.
fn state_of(answer: &str) -> (String, String) {
    let (before, rest) = answer.split_once(r#""requestState":""#).unwrap_or_else(|| panic!("{answer}"));
    let (state, after) = rest.split_once('"').unwrap();
    (state.to_owned(), format!("{before}STATE{after}"))
}

fn text_of(reply: Result<Reply, oneshot::error::RecvError>) -> String {
    match reply {
        Ok(Ok(answer)) => answer.into_body().to_string(),
        Ok(Err(failure)) => format!("{failure:?}"),
        Err(_) => "dropped".to_owned(),
    }
}

async fn check(method: &str, params: &str, expected: Expect) {
    let office = office();
    let (heard, _ticket) = office.send(method, params, "{}");
    expected.assert_eq(&heard.answer().await);
}

#[tokio::test(start_paused = true)]
async fn requests_need_no_handshake_and_results_are_marked() {
    check("server/discover", "{}", expect![[r#"Served {"jsonrpc":"2.0","id":7,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"completions":{},"logging":{},"extensions":{"io.modelcontextprotocol/tasks":{}}},"resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"manifold","version":"0.1.0"}}}}"#]]).await;
    check("prompts/list", "{}", expect![[r#"Served {"jsonrpc":"2.0","id":7,"result":{"prompts":[],"resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"manifold","version":"0.1.0"}}}}"#]]).await;
    check("tools/call", r#"{"name":"echo","arguments":{"a":1.0}}"#, expect![[r#"Served {"jsonrpc":"2.0","id":7,"result":{"a":1.0,"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"manifold","version":"0.1.0"}}}}"#]]).await;
}

#[tokio::test(start_paused = true)]
async fn what_this_revision_lacks_is_refused() {
    for method in ["initialize", "ping", "logging/setLevel", "resources/subscribe", "tasks/list", "no/such"] {
        let office = office();
        let (heard, _ticket) = office.send(method, "{}", "{}");
        let answer = heard.answer().await;
        assert!(answer.starts_with("UnknownMethod") && answer.contains("-32601"), "{answer}");
    }
    check("tasks/get", r#"{"taskId":"s.1"}"#, expect![[r#"BadRequest {"jsonrpc":"2.0","id":7,"error":{"code":-32021,"message":"Missing required client capability: {\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}","data":{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}"#]]).await;
    check(
        "tools/call",
        r#"{"name":"none"}"#,
        expect![[
            r#"Served {"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"Tool 'none' not found"}}"#
        ]],
    )
    .await;
    check("subscriptions/listen", "{}", expect![[r#"Served {"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"Invalid params: `notifications` must say what to listen for"}}"#]]).await;
}

#[tokio::test(start_paused = true)]
async fn progress_goes_on_under_the_token_of_whoever_waits() {
    let office = office();
    let (first, _ticket, exchange) = office.hold(r#","progressToken":"a""#);
    let asker = exchange.asker();
    let progress = |value: &'static str| asker.progress(Raw::from_static(value));
    progress(r#"{"progressToken":"a","progress":1}"#);
    progress(r#"{"progressToken":"a","progress":1}"#);
    expect![[
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"a","progress":1}}"#
    ]]
    .assert_eq(&first.all().join("\n"));
    let _answer = ask(&exchange, Method::Elicit, FORM);
    let (state, _) = state_of(&first.answer().await);
    progress(r#"{"progressToken":"a","progress":2}"#);
    progress(r#"{"progressToken":"a","progress":3}"#);
    assert!(first.all().is_empty());

    let (second, _ticket) =
        office.back_as(b"me", "hold", r#"{"q1":{"action":"accept"}}"#, &state, r#","progressToken":5"#);
    progress(r#"{"progressToken":"a","progress":2.5}"#);
    progress(r#"{"progressToken":"a","progress":4}"#);
    expect![[r#"
        {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":5,"progress":3}}
        {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":5,"progress":4}}"#]]
    .assert_eq(&second.all().join("\n"));
}

#[tokio::test(start_paused = true)]
async fn log_messages_are_heard_by_who_asked_for_them_in_this_request() {
    let office = office();
    let (heard, _ticket, exchange) = office.hold(r#","io.modelcontextprotocol/logLevel":"warning""#);
    assert!(exchange.wants_logs());
    for (method, params) in [
        (notification::MESSAGE, r#"{"level":"info","data":1}"#),
        (notification::MESSAGE, r#"{"level":"error","data":2}"#),
        ("notifications/other", "{}"),
    ] {
        exchange.asker().notice(method, Some(Raw::from_static(params)));
    }
    expect![[r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":2}}"#]]
        .assert_eq(&heard.all().join("\n"));
    // What the level was set by is itself passed on to servers; the second call sets none.
    office.world.fake.held();
    let (quiet, _ticket, exchange) = office.hold("");
    assert!(!exchange.wants_logs());
    exchange.asker().notice(notification::MESSAGE, Some(Raw::from_static(r#"{"level":"error"}"#)));
    assert!(quiet.all().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_listener_hears_what_it_asked_for_under_its_own_id() {
    let office = office();
    let filter =
        r#"{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["file:///a","file:///b"]}}"#;
    let (heard, handle) = office.send("subscriptions/listen", filter, "{}");
    // Nobody lists these, so nobody is asked: they are left out.
    expect![[r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":7}}}"#]].assert_eq(&heard.answer().await);
    let server = ServerKey { schema: None, id: "s".to_owned() };
    for (method, params) in [
        (notification::MESSAGE, r#"{"level":"error"}"#),
        (notification::RESOURCE_UPDATED, r#"{"uri":"file:///a"}"#),
        (notification::PROMPTS_CHANGED, "{}"),
        (notification::TOOLS_CHANGED, "{}"),
    ] {
        office.world.fake.host().notice(&server, method, Some(Raw::from_static(params)));
    }
    // Changes of lists are announced together.
    tokio::time::sleep(Duration::from_millis(100)).await;
    expect![[r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":7}}}"#]].assert_eq(&heard.all().join("\n"));
    handle.cancel(None);
    assert_eq!(heard.all(), ["abandoned"]);

    let (heard, _ticket) = office.send("subscriptions/listen", r#"{"notifications":{}}"#, "{}");
    heard.answer().await;
    office.modern.stop();
    expect![[r#"Served {"jsonrpc":"2.0","id":7,"result":{"_meta":{"io.modelcontextprotocol/subscriptionId":7,"io.modelcontextprotocol/serverInfo":{"name":"manifold","version":"0.1.0"}},"resultType":"complete"}}"#]].assert_eq(&heard.all().join("\n"));
    office.modern.settled().await;
    let (late, _ticket) = office.send("subscriptions/listen", r#"{"notifications":{}}"#, "{}");
    assert!(late.answer().await.contains("shutting down"));
}

#[tokio::test(start_paused = true)]
async fn there_is_no_second_page() {
    for method in ["tools/list", "resources/list", "resources/templates/list", "prompts/list"] {
        let office = office();
        let (heard, _ticket) = office.send(method, r#"{"cursor":"2"}"#, "{}");
        let answer = heard.answer().await;
        assert!(answer.starts_with("Served") && answer.contains("-32602"), "{answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn listening_to_what_is_no_longer_served_ends() {
    let office = office();
    let filter = r#"{"notifications":{"toolsListChanged":true}}"#;
    let (heard, _ticket) = office.send("subscriptions/listen", filter, "{}");
    assert!(heard.answer().await.contains("acknowledged"));
    office.modern.end_listening(|_, _| false);
    assert!(heard.all().is_empty());
    office.modern.end_listening(|gateway, _| Arc::ptr_eq(gateway, &office.world.gateway));
    assert!(heard.answer().await.starts_with(r#"Served {"jsonrpc":"2.0","id":7,"result""#));
    office.modern.settled().await;
}

// H4
#[tokio::test(start_paused = true)]
async fn a_listener_that_names_more_than_a_client_may_have_is_refused() {
    let uris: Vec<String> = (0..=10_000).map(|number| format!(r#""x://{number}""#)).collect();
    let filter = format!(r#"{{"notifications":{{"resourceSubscriptions":[{}]}}}}"#, uris.join(","));
    check("subscriptions/listen", &filter, expect![[r#"Served {"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"Invalid params: `notifications` names 10001 resources and tasks in 78899 bytes; a client may be subscribed to 10000, in 1048576 bytes"}}"#]]).await;
}
