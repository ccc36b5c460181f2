use std::time::Duration;

use expect_test::{Expect, expect};
use manifold_protocol::Mark;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::*;
use crate::fake::{Asked, FakeHost, connection, id_of, lock, raw, receive, written};

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
    connection.speak_modern(&ServerFacts { capabilities: raw(capabilities), ..era::unsaid() }, None);
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
async fn a_server_with_sessions_is_never_sent_state_it_did_not_give() {
    let host = Arc::new(FakeHost::default());
    let connection = connection("", &host);
    let mut back = (*caller("{}", true)).clone();
    back.is_retry = true;
    let (exchange, asked) = Asked::open(SECOND);
    let params = Some(raw(r#"{"name":"t","requestState":"x"}"#));
    assert!(connection.send(Call::new(Method::ToolsCall, params).by(Arc::new(back)), exchange).is_ok());
    assert!(asked.answered().await.starts_with("fault -32602"));
    assert_eq!(written(&connection), [""; 0]);

    // Answers without a state go on with nothing: they are left out.
    let mut back = (*caller("{}", true)).clone();
    back.is_retry = true;
    let (exchange, _asked) = Asked::open(SECOND);
    let params = Some(raw(r#"{"name":"t","inputResponses":{"a":{}}}"#));
    assert!(connection.send(Call::new(Method::ToolsCall, params).by(Arc::new(back)), exchange).is_ok());
    assert!(written(&connection)[0].ends_with(r#""params":{"name":"t"}}"#));
}

#[tokio::test(start_paused = true)]
async fn a_round_is_put_to_the_asker_and_answered_under_a_new_number() {
    let wire = wire();
    let asked = wire.call(Method::ToolsCall, r#"{"name":"t","_meta":{"progressToken":"p"}}"#, Some(legacy()));
    let (first, _) = wire.next();
    wire.answer(&first, ROUND);
    settle().await;
    assert_eq!(written(&wire.connection), [""; 0], "first the answers");
    let mut questions = asked.questions();
    questions.sort_by_key(|(call, _)| call.method.to_string());
    let (roots, elicit) = (questions.pop().unwrap(), questions.pop().unwrap());
    assert_eq!((roots.0.method, elicit.0.params), (Method::ListRoots, Some(raw(r#"{"q":1}"#))));
    roots.1.finish(Ok(raw(r#"{"roots":[]}"#)));
    // The clock stands while somebody thinks.
    tokio::time::sleep(300 * SECOND).await;
    elicit.1.finish(Ok(raw(r#"{"action":"accept"}"#)));
    settle().await;
    let (second, said) = wire.next();
    assert_ne!(first, second);
    let said = said.replace(&second, "N");
    expect![[r#"tools/call {"name":"t","_meta":{"progressToken":N},"inputResponses":{"b":{"roots":[]},"a":{"action":"accept"}},"requestState":"s 1"}"#]]
        .assert_eq(&said);
    wire.tell("notifications/progress", &format!(r#"{{"progressToken":{second},"progress":1}}"#));
    assert_eq!(asked.progress(), [r#"{"progressToken":"p","progress":1}"#]);
    wire.answer(&first, r#"{"late":true}"#);
    // Answers are per round, and a state that is not given again is not sent again.
    wire.answer(&second, r#"{"resultType":"input_required","inputRequests":{"c":{"method":"roots/list"}}}"#);
    settle().await;
    asked.questions().remove(0).1.finish(Ok(raw("{}")));
    settle().await;
    let (third, said) = wire.next();
    expect![[r#"tools/call {"name":"t","_meta":{"progressToken":N},"inputResponses":{"c":{}}}"#]]
        .assert_eq(&said.replace(&third, "N"));
    wire.answer(&third, r#"{"resultType":"complete","ok":1}"#);
    assert_eq!(asked.answered().await, r#"{"ok":1}"#);
    assert!(!wire.connection.is_busy());
}

#[tokio::test(start_paused = true)]
async fn rounds_without_questions_are_repeated_at_once_but_not_for_ever() {
    let wire = wire();
    let asked = wire.tool(legacy());
    for round in 0..=8 {
        let (id, said) = wire.next();
        let expected = if round == 0 { String::new() } else { format!(r#","requestState":"{}""#, round - 1) };
        assert_eq!(said, format!(r#"tools/call {{"name":"t"{expected}}}"#));
        wire.answer(&id, &format!(r#"{{"resultType":"input_required","requestState":"{round}"}}"#));
    }
    assert_eq!(written(&wire.connection), [""; 0]);
    expect!["fault -32603 Server 's' asked a question in the middle of the call: it asked 8 times without coming to an end"]
        .assert_eq(&asked.answered().await);
}

#[tokio::test(start_paused = true)]
async fn a_refused_question_ends_the_call_and_the_other_questions() {
    let wire = wire();
    let asked = wire.tool(legacy());
    wire.answer(&wire.next().0, ROUND);
    settle().await;
    let mut questions = asked.questions();
    let other = questions.remove(1).1;
    questions
        .remove(0)
        .1
        .finish(Err::<Raw, _>(manifold_protocol::Failure::Peer(raw(r#"{"code":-1,"message":"no time"}"#))));
    let answer = asked.answered().await;
    assert!(answer.contains("was not answered: no time"), "{answer}");
    settle().await;
    assert!(other.is_cancelled());
    assert_eq!(written(&wire.connection), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn cancelling_in_a_round_reaches_the_questions_and_not_the_server() {
    let wire = wire();
    let mut asked = wire.tool(legacy());
    wire.answer(&wire.next().0, ROUND);
    settle().await;
    let questions = asked.questions();
    asked.flight.cancel(None);
    settle().await;
    assert!(questions.iter().all(|(_, question)| question.is_cancelled()));
    assert_eq!((written(&wire.connection).len(), asked.answer()), (0, None));
    assert!(!wire.connection.is_busy());
}

#[tokio::test(start_paused = true)]
async fn a_question_is_waited_for_no_longer_than_people_think() {
    let wire = wire();
    let asked = wire.tool(legacy());
    wire.answer(&wire.next().0, ROUND);
    settle().await;
    let questions = asked.questions();
    assert!(asked.answered().await.starts_with("fault -32002"));
    settle().await;
    assert!(questions.iter().all(|(_, question)| question.is_cancelled()));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_dies_in_a_round_ends_the_call() {
    let wire = wire();
    let mut asked = wire.tool(legacy());
    wire.answer(&wire.next().0, ROUND);
    settle().await;
    let questions = asked.questions();
    wire.connection.close("it ended");
    expect!["fault -32603 Server 's' went away during the call: it ended"]
        .assert_eq(&asked.answer().unwrap());
    settle().await;
    assert!(questions.iter().all(|(_, question)| question.is_cancelled()));
}

#[tokio::test(start_paused = true)]
async fn roots_of_its_own_are_not_asked_of_the_client() {
    let wire = wire_of(r#","roots":["/tmp"]"#, "{}");
    let asked = wire.tool(legacy());
    let line = written(&wire.connection).remove(0);
    assert!(line.contains(r#""roots":{}"#), "{line}");
    let round = r#"{"resultType":"input_required","inputRequests":{"b":{"method":"roots/list"}}}"#;
    wire.answer(&id_of(&line).to_string(), round);
    settle().await;
    assert_eq!((asked.questions().len(), wire.host.questions().len()), (0, 1));
    let _back = wire.tool(caller("{}", true));
    let line = written(&wire.connection).pop().unwrap();
    assert!(!line.contains(r#""roots":{}"#), "whoever comes back is asked itself: {line}");
}

async fn check_task(first: &str, states: &[&str], expected: Expect) {
    let wire = wire();
    let asked = wire.tool(legacy());
    let (id, _) = wire.next();
    wire.refuse(
        &id,
        &format!(r#"{{"code":-32021,"message":"m","data":{{"requiredCapabilities":{TASKS}}}}}"#),
    );
    let line = written(&wire.connection).remove(0);
    assert!(
        line.contains(r#"{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#),
        "{line}"
    );
    wire.answer(&id_of(&line).to_string(), first);
    let mut log = Vec::new();
    let began = tokio::time::Instant::now();
    for state in states {
        let (id, said) = loop {
            tokio::time::sleep(Duration::from_millis(10)).await;
            for (_, question) in asked.questions() {
                question.finish(Ok(raw(r#"{"action":"accept"}"#)));
            }
            if let Some(line) = written(&wire.connection).pop() {
                break (id_of(&line).to_string(), plain(&line));
            }
        };
        log.push(format!("{} {said}", began.elapsed().as_millis() / 50 * 50));
        wire.answer(&id, state);
    }
    log.push(asked.answered().await);
    expected.assert_eq(&log.join("\n"));
}

const TASK: &str = r#"{"resultType":"task","taskId":"7","status":"working","pollIntervalMs":100}"#;

#[tokio::test(start_paused = true)]
async fn a_task_is_followed_for_those_who_know_none() {
    let completed = r#"{"taskId":"7","status":"completed","result":{"content":[],"isError":false}}"#;
    check_task(
        TASK,
        &[
            r#"{"taskId":"7","status":"working","pollIntervalMs":1}"#,
            r#"{"taskId":"7","status":"working"}"#,
            completed,
        ],
        expect![[r#"
            100 tasks/get {"taskId":"7"}
            150 tasks/get {"taskId":"7"}
            650 tasks/get {"taskId":"7"}
            {"content":[],"isError":false}"#]],
    )
    .await;
    check_task(
        TASK,
        &[r#"{"taskId":"7","status":"failed","error":{"code":-5,"message":"m"}}"#],
        expect![[r#"
            100 tasks/get {"taskId":"7"}
            peer {"code":-5,"message":"m"}"#]],
    )
    .await;
    check_task(
        TASK,
        &[r#"{"taskId":"7","status":"cancelled"}"#],
        expect![[r#"
            100 tasks/get {"taskId":"7"}
            fault -32603 Server 's' refused the call: the task was cancelled"#]],
    )
    .await;
    let asks = r#"{"taskId":"7","status":"input_required","pollIntervalMs":50,"inputRequests":{"k":{"method":"elicitation/create","params":{}}}}"#;
    check_task(
        TASK,
        &[asks, "{}", asks, completed],
        expect![[r#"
            100 tasks/get {"taskId":"7"}
            100 tasks/update {"taskId":"7","inputResponses":{"k":{"action":"accept"}}}
            150 tasks/get {"taskId":"7"}
            250 tasks/get {"taskId":"7"}
            {"content":[],"isError":false}"#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_can_say_so_itself_hears_that_a_tool_needs_tasks() {
    let wire = wire();
    let asked = wire.tool(caller(r#"{"elicitation":{}}"#, true));
    let (id, _) = wire.next();
    let error = format!(r#"{{"code":-32021,"message":"m","data":{{"requiredCapabilities":{TASKS}}}}}"#);
    wire.refuse(&id, &error);
    assert_eq!(asked.answered().await, format!("peer {error}"));
    assert_eq!(written(&wire.connection), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn cancelling_a_followed_task_cancels_it() {
    let wire = wire();
    let asked = wire.tool(legacy());
    wire.answer(&wire.next().0, TASK);
    asked.flight.cancel(None);
    assert_eq!(wire.next().1, r#"tasks/cancel {"taskId":"7"}"#);
    tokio::time::sleep(SECOND).await;
    assert_eq!(written(&wire.connection), [""; 0], "nobody asks after it any more");
}

#[tokio::test(start_paused = true)]
async fn other_wants_are_the_asker_s_affair() {
    let wire = wire();
    let asked = wire.tool(legacy());
    let error = r#"{"code":-32021,"message":"m","data":{"requiredCapabilities":{"sampling":{}}}}"#;
    wire.refuse(&wire.next().0, error);
    assert_eq!(asked.answered().await, format!("peer {error}"));
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_must_be_a_task_is_one_with_sessions_too() {
    let host = Arc::new(FakeHost::default());
    let connection = connection("", &host);
    let mut tools = vec![manifold_engine::Item {
        label: "t".to_owned(),
        raw: raw(r#"{"name":"t","execution":{"taskSupport":"required"}}"#),
    }];
    connection.learn(&mut tools);
    let wire = Wire { connection, host, _keeper: JoinSet::new() };
    let asked = wire.tool(legacy());
    let (id, said) = wire.next();
    assert_eq!(said, r#"tools/call {"name":"t","task":{}}"#);
    wire.answer(&id, r#"{"task":{"taskId":"7","status":"working","pollInterval":100}}"#);
    tokio::time::sleep(SECOND / 5).await;
    let (id, said) = wire.next();
    assert_eq!(said, r#"tasks/get {"taskId":"7"}"#);
    wire.answer(&id, r#"{"taskId":"7","status":"completed"}"#);
    settle().await;
    let (id, said) = wire.next();
    assert_eq!(said, r#"tasks/result {"taskId":"7"}"#);
    wire.answer(&id, r#"{"content":[ ]}"#);
    assert_eq!(asked.answered().await, r#"{"content":[ ]}"#);
    let _own = wire.call(Method::ToolsCall, r#"{"name":"t","task":{"ttl":1}}"#, Some(legacy()));
    assert_eq!(
        wire.next().1,
        r#"tools/call {"name":"t","task":{"ttl":1}}"#,
        "one who knows tasks has its own"
    );
}

const NEWS: &str = r#"{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":false}}"#;

impl Wire {
    fn acknowledge(&self, id: &str, filter: &str) {
        let meta = format!(r#""_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}"#);
        self.tell(
            "notifications/subscriptions/acknowledged",
            &format!(r#"{{{meta},"notifications":{filter}}}"#),
        );
    }

    fn subscribe(&self, uri: &str) -> Asked {
        lock(&self.host.standing).subscriptions.insert(uri.to_owned());
        self.call(Method::ResourcesSubscribe, &format!(r#"{{"uri":"{uri}"}}"#), None)
    }
}

#[tokio::test(start_paused = true)]
async fn news_is_listened_for_and_asked_for_anew_when_more_is_wanted() {
    let wire = wire_of("", NEWS);
    settle().await;
    let (first, said) = wire.next();
    assert_eq!(said, r#"subscriptions/listen {"notifications":{"toolsListChanged":true}}"#);
    assert!(!wire.connection.is_busy(), "listening is no work");
    wire.acknowledge(&first, r#"{"toolsListChanged":true}"#);
    let tag = format!(r#""_meta":{{"io.modelcontextprotocol/subscriptionId":{first}}}"#);
    wire.tell("notifications/tools/list_changed", &format!("{{{tag}}}"));
    assert_eq!(wire.connection.stale.take(), [manifold_protocol::Kind::Tools]);
    settle().await;

    let mut asked = wire.subscribe("x://1");
    let other = wire.subscribe("x://2");
    settle().await;
    let (second, said) = wire.next();
    expect![[r#"subscriptions/listen {"notifications":{"toolsListChanged":true,"resourceSubscriptions":["x://1","x://2"]}}"#]]
        .assert_eq(&said);
    assert_eq!(asked.answer(), None, "not before the server says so");
    wire.acknowledge(&second, r#"{"toolsListChanged":true,"resourceSubscriptions":["x://1"]}"#);
    assert_eq!(asked.answered().await, "{}");
    expect!["fault -32603 Server 's' refused the call: it does not take subscriptions to `x://2`"]
        .assert_eq(&other.answered().await);
    settle().await;
    assert_eq!(
        written(&wire.connection),
        [format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{first}}}}}"#
        )],
        "the old one goes once the new one stands"
    );
    let tag = format!(r#""_meta":{{"io.modelcontextprotocol/subscriptionId":{second},"x":1}}"#);
    wire.tell("notifications/resources/updated", &format!(r#"{{{tag},"uri":"x://1"}}"#));
    wire.tell("notifications/tasks", r#"{"taskId":"1"}"#);
    assert_eq!(
        wire.host.notices(),
        [
            r#"notifications/resources/updated {"_meta":{"x":1},"uri":"x://1"}"#,
            r#"notifications/tasks {"taskId":"1"}"#
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn an_ended_listening_is_taken_up_again() {
    let wire = wire_of("", NEWS);
    settle().await;
    let (first, _) = wire.next();
    wire.acknowledge(&first, r#"{"toolsListChanged":true}"#);
    settle().await;
    wire.answer(&first, r#"{"resultType":"complete"}"#);
    tokio::time::sleep(2 * SECOND).await;
    let (second, _) = wire.next();
    wire.acknowledge(&second, "{}");
    settle().await;
    assert_eq!(wire.connection.stale.take().len(), 4, "what happened in between is not known");
    wire.tell("notifications/cancelled", &format!(r#"{{"requestId":{second}}}"#));
    tokio::time::sleep(3 * SECOND).await;
    // Refusals are borne with, ever more slowly.
    for rest in [5, 9, 17] {
        wire.refuse(&wire.next().0, r#"{"code":-32603,"message":"not now"}"#);
        tokio::time::sleep(rest * SECOND).await;
    }
    wire.refuse(&wire.next().0, r#"{"code":-32601,"message":"what?"}"#);
    tokio::time::sleep(100 * SECOND).await;
    assert_eq!(written(&wire.connection), [""; 0], "one who does not know the word is not asked again");
    let refused = wire.subscribe("x://1").answered().await;
    assert!(refused.contains("it tells nobody of changes"), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_stopped_is_told_first_that_nobody_listens() {
    let wire = wire_of("", NEWS);
    settle().await;
    let (id, _) = wire.next();
    wire.acknowledge(&id, "{}");
    settle().await;
    let stopping = wire.connection.stop_listening();
    tokio::pin!(stopping);
    assert!(timeout(Duration::from_millis(10), &mut stopping).await.is_err(), "it waits for the writer");
    assert_eq!(wire.next().1, format!(r#"notifications/cancelled {{"requestId":{id}}}"#));
    stopping.await;
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

#[tokio::test(start_paused = true)]
async fn the_round_of_a_call_that_was_taken_back_asks_nobody_else() {
    let wire = wire();
    let first = wire.tool(legacy());
    let (id, _) = wire.next();
    let (exchange, mut second) = Asked::open_by(manifold_engine::ClientId(2), 60 * SECOND, false);
    let call =
        Call { method: Method::ToolsCall, params: Some(raw(r#"{"name":"t"}"#)), caller: Some(legacy()) };
    assert!(wire.connection.send(call, exchange).is_ok());
    wire.answer(&id, ROUND);
    first.flight.cancel(None);
    settle().await;
    assert_eq!(second.questions().len(), 0);
    tokio::time::sleep(61 * SECOND).await;
    assert!(second.answer().is_some(), "and its own clock runs");
}

#[tokio::test(start_paused = true)]
async fn a_task_the_server_does_not_tell_of_is_not_promised() {
    let wire = wire_of("", r#"{"tools":{"listChanged":true}}"#);
    let acknowledge = |id: &str| {
        let params = format!(
            r#"{{"notifications":{{"toolsListChanged":true}},"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}"#
        );
        wire.tell("notifications/subscriptions/acknowledged", &params);
    };
    settle().await;
    acknowledge(&wire.next().0);
    settle().await;
    lock(&wire.host.standing).tasks.insert("bogus".to_owned());
    let asked = wire.call(Method::Listen, r#"{"taskId":"bogus"}"#, None);
    settle().await;
    acknowledge(&wire.next().0);
    let answer = asked.answered().await;
    assert!(answer.contains("does not tell of the task `bogus`"), "{answer}");
}
