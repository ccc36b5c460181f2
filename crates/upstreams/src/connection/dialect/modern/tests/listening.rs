//! One request that stays open for news of changes.

use expect_test::expect;
use tokio::time::timeout;

use super::*;
use crate::fake::lock;

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
    assert_eq!(wire.connection.lists.stale.take(), [manifold_protocol::Kind::Tools]);
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
    assert_eq!(wire.connection.lists.stale.take().len(), 4, "what happened in between is not known");
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

// Nobody waits for ever while a server rests that has ended the listening, and there is room for so many only.
#[tokio::test(start_paused = true)]
async fn who_waits_to_hear_has_a_deadline_and_a_bound() {
    let wire = wire_of("", NEWS);
    settle().await;
    let (id, _) = wire.next();
    wire.acknowledge(&id, r#"{"toolsListChanged":true}"#);
    settle().await;
    wire.answer(&id, r#"{"resultType":"complete"}"#);
    settle().await;
    let wait = |timeout: Duration| {
        let (exchange, asked) = Asked::open(timeout);
        let call = Call::new(Method::ResourcesSubscribe, Some(raw(r#"{"uri":"x://1"}"#)));
        assert!(wire.connection.send(call, exchange).is_ok());
        asked
    };
    let mut asked: Vec<Asked> = (0..4095).map(|_| wait(60 * SECOND)).collect();
    let hasty = wait(SECOND / 2);
    let began = tokio::time::Instant::now();
    let busy = wait(SECOND).answer().unwrap();
    assert!(busy.contains("is busy: 4096 calls wait"), "{busy}");
    let late = hasty.answered().await;
    assert!(late.contains("did not answer within 500 ms"), "{late}");
    assert_eq!(began.elapsed(), SECOND / 2);
    assert!(asked.iter_mut().all(|one| one.answer().is_none()), "the others have more time");
}
