mod listening;
mod rounds;
mod tasks;

use std::time::Duration;

use expect_test::expect;
use tokio::task::JoinSet;

use super::*;
use crate::connection::Dialect;
use crate::fake::{Asked, FakeHost, connection, id_of, raw, receive, written};

const SECOND: Duration = Duration::from_secs(1);
const TASKS: &str = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;

/// A server of the newest revision on a pipe.
struct Wire {
    connection: Arc<Connection>,
    host: Arc<FakeHost>,
    _keeper: JoinSet<()>,
}

fn wire_of(keys: &str, capabilities: &str) -> Wire {
    let host = Arc::new(FakeHost::default());
    let connection = connection(keys, &host);
    let mut keeper = JoinSet::new();
    keeper.spawn(Arc::clone(&connection).keep_deadlines());
    let said = ServerFacts { capabilities: raw(capabilities), ..era::unsaid() };
    connection.speak(Dialect::modern(&said, None));
    Wire { connection, host, _keeper: keeper }
}

fn wire() -> Wire {
    wire_of("", "{}")
}

fn caller(capabilities: &str, retries: bool) -> Arc<Caller> {
    let capabilities = raw(capabilities);
    Arc::new(Caller {
        capabilities,
        info: None,
        log_level: None,
        retries,
        is_retry: false,
        words: Default::default(),
    })
}

/// One who has a session and is asked in mid-call.
fn legacy() -> Arc<Caller> {
    caller(r#"{"elicitation":{}}"#, false)
}

impl Wire {
    fn call(&self, method: Method, params: &str, caller: Option<Arc<Caller>>) -> Asked {
        let (exchange, asked) = Asked::open(60 * SECOND);
        let call = Call { method, params: Some(raw(params)), caller };
        assert!(self.connection.send(call, exchange).is_ok());
        asked
    }

    fn tool(&self, caller: Arc<Caller>) -> Asked {
        self.call(Method::ToolsCall, r#"{"name":"t"}"#, Some(caller))
    }

    /// Returns the next request written, as its number and what it says without the marks.
    fn next(&self) -> (String, String) {
        let mut lines = written(&self.connection);
        assert_eq!(lines.len(), 1, "{lines:?}");
        let line = lines.remove(0);
        let id = raw(&line).get("id").map(|id| id.to_string()).unwrap_or_default();
        (id, plain(&line))
    }

    fn answer(&self, id: &str, result: &str) {
        receive(&self.connection, &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#));
    }

    fn refuse(&self, id: &str, error: &str) {
        receive(&self.connection, &format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#));
    }

    fn tell(&self, method: &str, params: &str) {
        receive(&self.connection, &format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#));
    }
}

/// Shows a message as its method and parameters, who asks left out.
fn plain(line: &str) -> String {
    let message = raw(line);
    let method = message.get("method").unwrap().to_text().unwrap().into_owned();
    let Some(params) = message.get("params") else { return method };
    let mut params = params.object().unwrap();
    let meta = params.get("_meta").and_then(|meta| meta.object());
    if let Some(mut meta) = meta {
        for key in ["protocolVersion", "clientCapabilities", "clientInfo", "logLevel"] {
            meta.remove(&format!("io.modelcontextprotocol/{key}"));
        }
        if meta.is_empty() {
            params.remove("_meta");
        } else {
            params.set("_meta", meta.into_raw());
        }
    }
    format!("{method} {}", params.into_raw())
}

async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

const ROUND: &str = r#"{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"q":1}},"b":{"method":"roots/list"}},"requestState":"s 1"}"#;

#[tokio::test(start_paused = true)]
async fn every_request_says_who_asks() {
    let wire = wire();
    let mut one = (*caller(r#"{ "sampling":{} }"#, false)).clone();
    one.info = Some(raw(r#"{"name":"n"}"#));
    one.log_level = Some(raw(r#""info""#));
    let _asked = wire.call(Method::Complete, r#"{"x":1.0}"#, Some(Arc::new(one)));
    let line = written(&wire.connection).remove(0);
    expect![[r#"{"x":1.0,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{ "sampling":{} },"io.modelcontextprotocol/clientInfo":{"name":"n"},"io.modelcontextprotocol/logLevel":"info"}}"#]]
        .assert_eq(raw(&line).get("params").unwrap().as_str());
    // Nobody in particular can do what the host says.
    let _nobody = wire.call(Method::ToolsCall, r#"{"_meta":{"progressToken":"p"}}"#, None);
    let line = written(&wire.connection).remove(0);
    let meta = raw(&line).path(&["params", "_meta"]).unwrap();
    expect![[r#"{"progressToken":N,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{}}"#]]
        .assert_eq(&meta.as_str().replace(&id_of(&line).to_string(), "N"));
}

#[tokio::test(start_paused = true)]
async fn results_are_marked_by_what_they_say() {
    for (result, mark) in [
        (r#"{"resultType":"complete","x":1}"#, Mark::Complete),
        (r#"{"x":1}"#, Mark::None),
        (ROUND, Mark::InputRequired),
        (r#"{"resultType":"task","taskId":"1"}"#, Mark::Extension),
    ] {
        let wire = wire();
        let asked = wire.tool(caller(TASKS, true));
        let (id, _) = wire.next();
        wire.answer(&id, result);
        let answer = asked.reply.await.unwrap().unwrap();
        assert_eq!((answer.mark(), answer.into_body().as_str()), (mark, result), "raw to whoever comes back");
    }
    let wire = wire();
    let asked = wire.tool(legacy());
    wire.answer(&wire.next().0, r#"{"resultType":"magic"}"#);
    expect![[r#"fault -32603 Server 's' sent an answer that is not a valid message: its `resultType` is "magic", which nobody knows"#]]
        .assert_eq(&asked.answered().await);
}

#[tokio::test(start_paused = true)]
async fn what_the_revision_lacks_is_answered_here() {
    let wire = wire();
    for method in [Method::Ping, Method::SetLevel, Method::ResourcesUnsubscribe, Method::Listen] {
        assert_eq!(wire.call(method, "{}", None).answered().await, "{}");
    }
    let refused = wire.call(Method::ResourcesSubscribe, r#"{"uri":"x://1"}"#, None).answered().await;
    expect!["fault -32603 Server 's' refused the call: it offers no subscriptions to resources"]
        .assert_eq(&refused);
    wire.connection.notify("notifications/roots/list_changed", None);
    receive(&wire.connection, r#"{"jsonrpc":"2.0","id":9,"method":"sampling/createMessage","params":{}}"#);
    settle().await;
    assert_eq!(written(&wire.connection), [""; 0], "nothing of it reaches the server");
    assert_eq!(wire.host.questions().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_log_line_without_address_goes_to_the_only_call_that_wants_it() {
    let wire = wire();
    let send = |wants_logs| {
        let (exchange, asked) = Asked::open_as(SECOND, wants_logs);
        let call = Call::new(Method::ToolsCall, Some(raw("{}")));
        assert!(wire.connection.send(call, exchange).is_ok());
        asked
    };
    let (curious, other) = (send(true), send(false));
    wire.tell("notifications/message", r#"{"data":1}"#);
    let line = r#"notifications/message {"data":1}"#;
    assert_eq!((curious.notices(), other.notices()), (vec![line.to_owned()], vec![]));
    assert_eq!(wire.host.notices(), [""; 0], "and it is nobody else's affair");
    let second = send(true);
    wire.tell("notifications/message", r#"{"data":2}"#);
    assert_eq!((curious.notices(), second.notices()), (vec![], vec![]), "it could be the other's");
}
