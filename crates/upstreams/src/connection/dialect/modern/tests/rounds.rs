//! Questions by rounds, for askers who are asked in mid-call.

use expect_test::expect;

use super::*;

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
    questions.remove(0).1.finish(Err::<Raw, _>(Failure::Peer(raw(r#"{"code":-1,"message":"no time"}"#))));
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
