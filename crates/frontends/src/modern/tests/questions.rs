//! Questions in mid-call: a request ends with them, and the client comes back with answers and a state.

use super::*;

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

// T36: a state is sealed and bound to who asked for what
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

// T41
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
