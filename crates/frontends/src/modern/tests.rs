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
async fn a_question_is_answered_by_coming_back() {
    let office = office();
    let (first, _ticket, exchange) = office.hold("");
    let answer = ask(&exchange, Method::Elicit, FORM);
    let (state, rest) = state_of(&first.answer().await);
    expect![[r#"Served {"jsonrpc":"2.0","id":7,"result":{"resultType":"input_required","inputRequests":{"q1":{"method":"elicitation/create","params":{"message":"name?","requestedSchema":{"type":"object"}}}},STATE}}"#]].assert_eq(&rest);
    assert!(state.starts_with("mf1."));
    office.modern.settled().await;

    let (second, _ticket) = office.back(r#"{"q1":{"action":"accept","content":{"n":1.0}}}"#, &state);
    assert_eq!(text_of(answer.await), r#"{"action":"accept","content":{"n":1.0}}"#);
    // The next question is the next round, under a key of its own.
    let answer = ask(&exchange, Method::ListRoots, "{}");
    let (later, rest) = state_of(&second.answer().await);
    assert!(rest.contains(r#"{"q2":{"method":"roots/list","params":{}}}"#), "{rest}");

    // A round is answered once.
    let (replay, _ticket) = office.back(r#"{"q1":{"action":"cancel"}}"#, &state);
    let replay = replay.answer().await;
    assert!(replay.contains("-32602") && replay.contains("answered already"), "{replay}");

    let (third, _ticket) = office.back(r#"{"q2":{"roots":[]},"extra":{}}"#, &later);
    assert_eq!(text_of(answer.await), r#"{"roots":[]}"#);
    assert!(third.all().is_empty());
    exchange.finish(Ok(Raw::from_static(r#"{"content":[]}"#)));
    assert!(third.answer().await.contains(r#""content":[],"resultType":"complete""#));

    let (gone, _ticket) = office.back(r#"{"q2":{"roots":[]}}"#, &later);
    let gone = gone.answer().await;
    assert!(gone.contains("-32602") && gone.contains("start the call again"), "{gone}");
    assert_eq!(office.world.fake.held_count(), 0, "the tool ran once");
}

#[tokio::test(start_paused = true)]
async fn questions_are_gathered_and_what_is_missing_is_asked_again() {
    let office = office();
    let (first, _ticket, exchange) = office.hold("");
    let one = ask(&exchange, Method::Elicit, FORM);
    let two = ask(&exchange, Method::CreateMessage, r#"{"messages":[],"maxTokens":1}"#);
    let (state, rest) = state_of(&first.answer().await);
    assert!(rest.contains(r#""q1":"#) && rest.contains(r#""q2":"#), "{rest}");

    let (second, _ticket) = office.back(r#"{"q1":{"action":"perhaps"},"q2":{"model":"m"}}"#, &state);
    assert_eq!(text_of(two.await), r#"{"model":"m"}"#);
    let (state, rest) = state_of(&second.answer().await);
    assert!(rest.contains(r#""q1":"#) && !rest.contains(r#""q2":"#), "{rest}");

    let (third, _ticket) = office.back(r#"{"q1":{"action":"decline"}}"#, &state);
    assert_eq!(text_of(one.await), r#"{"action":"decline"}"#);
    exchange.finish(Ok(Raw::from_static("{}")));
    assert!(third.answer().await.contains("complete"));
}

#[tokio::test(start_paused = true)]
async fn a_state_is_nobody_else_s() {
    let office = office();
    let (first, _ticket, exchange) = office.hold("");
    let _answer = ask(&exchange, Method::Elicit, FORM);
    let (state, _) = state_of(&first.answer().await);
    let answers = r#"{"q1":{"action":"accept"}}"#;
    for (who, tool, state) in [
        (b"me".as_slice(), "hold", format!("{state}x")),
        (b"me", "hold", "mf1.made.up".to_owned()),
        (b"you", "hold", state.clone()),
        (b"me", "echo", state.clone()),
    ] {
        let (heard, _ticket) = office.back_as(who, tool, answers, &state, "");
        let answer = heard.answer().await;
        assert!(answer.contains("-32602") && answer.contains("requestState"), "{answer}");
    }
    assert_eq!(office.world.fake.held_count(), 0, "nothing was called");

    // A state that is not ours is the server's own affair.
    let (heard, _ticket) = office.back(answers, "theirs");
    let (call, exchange) = office.world.fake.held().remove(0);
    assert!(call.caller.unwrap().is_retry);
    assert!(call.params.unwrap().as_str().contains(r#""requestState":"theirs""#));
    let asks = r#"{"resultType":"input_required","requestState":"theirs2"}"#;
    exchange.finish(Ok(Answer::marked(Raw::from_static(asks), Mark::InputRequired)));
    assert_eq!(heard.answer().await, format!(r#"Served {{"jsonrpc":"2.0","id":7,"result":{asks}}}"#));
}

#[tokio::test(start_paused = true)]
async fn another_gateway_s_state_comes_back_to_it() {
    let office = office();
    let (first, _ticket, exchange) = office.hold("");
    let asks = r#"{"resultType":"input_required","inputRequests":{"k":{"method":"roots/list"}},"requestState":"mf1.another.one"}"#;
    exchange.finish(Ok(Answer::marked(Raw::from_static(asks), Mark::InputRequired)));
    let (state, rest) = state_of(&first.answer().await);
    assert_ne!(state, "mf1.another.one");
    assert!(rest.contains(r#""k":{"method":"roots/list"}"#));
    let (_second, _ticket) = office.back(r#"{"k":{"roots":[]}}"#, &state);
    let (call, _exchange) = office.world.fake.held().remove(0);
    let params = call.params.unwrap();
    assert_eq!(params.get("requestState").unwrap().as_str(), r#""mf1.another.one""#);
    assert_eq!(params.get("inputResponses").unwrap().as_str(), r#"{"k":{"roots":[]}}"#);
}

#[tokio::test(start_paused = true)]
async fn two_calls_wait_independently() {
    let office = office();
    let (one, _first, first) = office.hold("");
    let (two, _second, second) = office.hold("");
    let (to_one, to_two) = (ask(&first, Method::Elicit, FORM), ask(&second, Method::Elicit, FORM));
    let (state_one, _) = state_of(&one.answer().await);
    let (state_two, _) = state_of(&two.answer().await);
    let (two, _b) = office.back(r#"{"q1":{"action":"accept","content":{"who":2}}}"#, &state_two);
    let (one, _a) = office.back(r#"{"q1":{"action":"accept","content":{"who":1}}}"#, &state_one);
    assert!(text_of(to_one.await).contains(r#""who":1"#));
    assert!(text_of(to_two.await).contains(r#""who":2"#));
    second.finish(Ok(Raw::from_static(r#"{"who":2}"#)));
    first.finish(Ok(Raw::from_static(r#"{"who":1}"#)));
    assert!(one.answer().await.contains(r#""who":1"#));
    assert!(two.answer().await.contains(r#""who":2"#));
}

#[tokio::test(start_paused = true)]
async fn what_a_client_did_not_declare_it_is_not_asked() {
    let office = office();
    let (heard, _ticket) = office.send("tools/call", HOLD, r#"{"elicitation":{}}"#);
    let (_, exchange) = office.world.fake.held().remove(0);
    let by_url = ask(&exchange, Method::Elicit, r#"{"mode":"url","url":"https://x"}"#);
    assert!(text_of(by_url.await).contains("ClientCannot"));
    let roots = ask(&exchange, Method::ListRoots, "{}");
    assert_eq!(text_of(roots.await), r#"{"roots":[{"uri":"file:///r"}]}"#, "the config knows");
    let sampled = ask(&exchange, Method::CreateMessage, "{}");
    assert!(text_of(sampled.await).contains("ClientCannot"));
    // The server gave up for want of it: the client is told what it would need.
    exchange.finish(Err::<Raw, _>(Failure::Peer(Raw::from_static(r#"{"code":-32603,"message":"no"}"#))));
    let answer = heard.answer().await;
    assert!(answer.starts_with("BadRequest") && answer.contains("-32021"), "{answer}");
    assert!(answer.contains(r#""requiredCapabilities":{"sampling":{}}"#), "{answer}");
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
async fn a_client_that_leaves_takes_its_call_along() {
    let office = office();
    let (heard, handle, exchange) = office.hold("");
    handle.cancel(None);
    assert!(exchange.is_cancelled());
    assert_eq!(heard.all(), ["abandoned"]);
    office.modern.settled().await;

    // Also one that came back.
    let (heard, answered, exchange) = office.hold("");
    let _answer = ask(&exchange, Method::Elicit, FORM);
    let (state, _) = state_of(&heard.answer().await);
    answered.cancel(None);
    assert!(!exchange.is_cancelled(), "its request was answered before");
    let (_back, handle) = office.back("{}", &state);
    handle.cancel(None);
    assert!(exchange.is_cancelled());
    let (gone, _ticket) = office.back(r#"{"q1":{"action":"accept"}}"#, &state);
    assert!(gone.answer().await.contains("start the call again"));
}

#[tokio::test(start_paused = true)]
async fn a_call_nobody_comes_back_to_is_given_up() {
    let office = office();
    let (heard, _ticket, exchange) = office.hold("");
    let answer = ask(&exchange, Method::Elicit, FORM);
    let (state, _) = state_of(&heard.answer().await);
    advance(Duration::from_secs(599)).await;
    assert!(!exchange.is_cancelled());
    tokio::time::sleep(Duration::from_secs(12)).await;
    assert!(exchange.is_cancelled());
    assert!(text_of(answer.await).contains("dropped before it was answered"));
    let (late, _ticket) = office.back(r#"{"q1":{"action":"accept"}}"#, &state);
    assert!(late.answer().await.contains("expired"));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_came_early_waits_for_its_client() {
    let office = office();
    let (heard, _ticket, exchange) = office.hold("");
    let _answer = ask(&exchange, Method::Elicit, FORM);
    let (state, _) = state_of(&heard.answer().await);
    exchange.finish(Ok(Raw::from_static(r#"{"early":true}"#)));
    let (back, _ticket) = office.back("{}", &state);
    assert!(back.answer().await.contains(r#""early":true"#));
}

#[tokio::test(start_paused = true)]
async fn urls_to_visit_are_questions_and_the_call_is_made_again() {
    let office = office();
    let error = || {
        let text = r#"{"code":-32042,"message":"Sign in","data":{"elicitations":[{"mode":"url","elicitationId":"e","url":"https://x","message":"m"}]}}"#;
        Err::<Raw, _>(Failure::Peer(Raw::from_static(text)))
    };
    let (heard, _ticket) = office.send("tools/call", HOLD, r#"{"elicitation":{"url":{}}}"#);
    office.world.fake.held().remove(0).1.finish(error());
    let (state, rest) = state_of(&heard.answer().await);
    assert!(rest.contains(r#"{"q1":{"method":"elicitation/create","params":{"mode":"url","url":"https://x","message":"m"}}}"#), "{rest}");
    let (_again, _ticket) = office.back(r#"{"q1":{"action":"accept"}}"#, &state);
    let (call, _exchange) = office.world.fake.held().remove(0);
    assert_eq!(call.params.unwrap().as_str(), r#"{"arguments":{},"name":"hold"}"#);
    assert!(!call.caller.unwrap().is_retry);

    let (heard, _ticket) = office.send("tools/call", HOLD, r#"{"elicitation":{}}"#);
    office.world.fake.held().remove(0).1.finish(error());
    let answer = heard.answer().await;
    assert!(answer.contains("-32603") && answer.contains("https://x"), "{answer}");
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
async fn closing_answers_who_waits_and_gives_up_the_rest() {
    let office = office();
    let (waits, _a, first) = office.hold("");
    let (away, _b, second) = office.hold("");
    let _answer = ask(&second, Method::Elicit, FORM);
    state_of(&away.answer().await);
    office.modern.close();
    assert!(waits.answer().await.contains("shutting down"));
    assert!(first.is_cancelled() && second.is_cancelled());
    office.modern.settled().await;
}

#[tokio::test(start_paused = true)]
async fn past_the_limit_the_call_that_waited_longest_is_given_up() {
    let office = office();
    let mut waiting = Vec::new();
    for _ in 0..=4096 {
        let (heard, _ticket, exchange) = office.hold("");
        let answer = ask(&exchange, Method::Elicit, FORM);
        waiting.push((heard, exchange, answer));
    }
    for (heard, _, _) in &waiting {
        state_of(&heard.answer().await);
    }
    let given_up = waiting.iter().filter(|(_, exchange, _)| exchange.is_cancelled()).count();
    assert_eq!(given_up, 1);
}

// M8: one client may leave only so many calls waiting, and no other pays for it
#[tokio::test(start_paused = true)]
async fn past_its_own_limit_a_client_leaves_no_more_calls_waiting() {
    let world = fake::world(Profile::Manifold);
    let modern = ModernService::for_many(&world.tasks, 2);
    let mut office = Office { modern, world, client: Some(ClientId::fresh()) };
    let mut waiting = Vec::new();
    for _ in 0..3 {
        let (heard, _ticket, exchange) = office.hold("");
        let answer = ask(&exchange, Method::Elicit, FORM);
        waiting.push((heard.answer().await, exchange, answer));
    }
    let (last, exchange, _answer) = waiting.pop().unwrap();
    assert!(last.starts_with("Busy ") && last.contains("limits.parkedPerClient"), "{last}");
    assert!(exchange.is_cancelled(), "nobody would ever answer its question");
    assert!(!waiting.iter().any(|(_, exchange, _)| exchange.is_cancelled()));
    // Another client has its own places, and whoever comes back frees one.
    office.client = Some(ClientId::fresh());
    let (theirs, _ticket, exchange) = office.hold("");
    let _asked = ask(&exchange, Method::Elicit, FORM);
    state_of(&theirs.answer().await);
    let (state, _) = state_of(&waiting[0].0);
    let (_heard, _ticket) = office.back(r#"{"q1":{"action":"decline"}}"#, &state);
    let (_, exchange, _answer) = waiting.remove(0);
    exchange.finish(Ok(Raw::from_static("{}")));
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_withdrawn_is_not_asked_again() {
    let office = office();
    let (first, _ticket, exchange) = office.hold("");
    let (question, _answer) = Exchange::answered();
    let withdrawn = question.asker();
    exchange.asker().ask(Call::new(Method::Elicit, Some(Raw::from_static(FORM))), question);
    let (state, _) = state_of(&first.answer().await);
    withdrawn.cancel(None);
    let (second, _ticket) = office.back("{}", &state);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(second.all().is_empty(), "there is nothing to ask");
    exchange.finish(Ok(Raw::from_static("{}")));
    assert!(second.answer().await.contains("complete"));
}

#[tokio::test(start_paused = true)]
async fn roots_from_the_config_leave_nothing_wanting() {
    let office = office();
    let (heard, _ticket) = office.send("tools/call", HOLD, "{}");
    let (_, exchange) = office.world.fake.held().remove(0);
    let roots = ask(&exchange, Method::ListRoots, "{}");
    assert_eq!(text_of(roots.await), r#"{"roots":[{"uri":"file:///r"}]}"#);
    let error = Raw::from_static(r#"{"code":-32000,"message":"disk full"}"#);
    exchange.finish(Err::<Raw, _>(Failure::Peer(error)));
    let answer = heard.answer().await;
    assert!(answer.contains("disk full"), "{answer}");
}

// Only a tool, a prompt and a resource may be answered with questions.
#[tokio::test(start_paused = true)]
async fn a_request_that_cannot_carry_questions_is_asked_none() {
    let office = office();
    let able = r#"{"roots":{},"elicitation":{"url":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
    let (heard, _ticket) = office.send("tasks/get", r#"{"taskId":"s.1"}"#, able);
    let (_, exchange) = office.world.fake.held().remove(0);
    let roots = ask(&exchange, Method::ListRoots, "{}");
    assert_eq!(text_of(roots.await), r#"{"roots":[{"uri":"file:///r"}]}"#);
    let form = ask(&exchange, Method::Elicit, FORM);
    assert!(text_of(form.await).contains("ClientCannot"));
    assert!(heard.all().is_empty());
    let pending = Raw::from_static(
        r#"{"code":-32042,"message":"Sign in","data":{"elicitations":[{"mode":"url","url":"https://x/a"}]}}"#,
    );
    exchange.finish(Err::<Raw, _>(Failure::Peer(pending)));
    let answer = heard.answer().await;
    assert!(answer.contains("-32603") && answer.contains("https://x/a"), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn who_comes_back_with_less_is_asked_no_more() {
    let office = office();
    let (first, _ticket, exchange) = office.hold("");
    let answer = ask(&exchange, Method::Elicit, FORM);
    let (state, _) = state_of(&first.answer().await);
    let params = format!(r#"{{"requestState":"{state}","name":"hold","arguments":{{}}}}"#);
    let (second, _ticket) = office.send("tools/call", &params, r#"{"sampling":{}}"#);
    assert!(text_of(answer.await).contains("ClientCannot"));
    exchange.finish(Ok(Raw::from_static("{}")));
    assert!(second.answer().await.contains("complete"));
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
    office.modern.end_listening(|_| false);
    assert!(heard.all().is_empty());
    office.modern.end_listening(|gateway| Arc::ptr_eq(gateway, &office.world.gateway));
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
