//! Tasks followed for askers who know none.

use expect_test::{Expect, expect};

use super::*;

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
