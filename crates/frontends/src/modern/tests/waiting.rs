//! Calls that wait for their client: how long, how many, and what ends them.

use super::*;

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
    let modern = ModernService::for_many(&world.tasks, 2, None);
    let mut office = Office { modern, world, client: Some(ClientId::fresh()) };
    let mut waiting = Vec::new();
    for _ in 0..3 {
        let (heard, _ticket, exchange) = office.hold("");
        let answer = ask(&exchange, Method::Elicit, FORM);
        waiting.push((heard.answer().await, exchange, answer));
    }
    let (last, exchange, _answer) = waiting.pop().unwrap();
    assert!(last.starts_with("Busy(1) ") && last.contains("limits.parkedPerClient"), "{last}");
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
async fn one_who_only_listens_keeps_nobody_waiting_for_the_calls() {
    let office = office();
    let (_heard, _listens) = office.send("subscriptions/listen", r#"{"notifications":{}}"#, "{}");
    office.modern.calls_settled().await;

    let (_called, _ticket, exchange) = office.hold("");
    let ((), ()) = tokio::join!(office.modern.calls_settled(), async {
        tokio::task::yield_now().await;
        exchange.finish(Ok(Raw::from_static("{}")));
    });
}
