use manifold_config::Profile;
use tokio::io::{
    AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, SimplexStream, WriteHalf, duplex, simplex,
};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::*;
use crate::fake::{self, Fake};

/// A client, and the server that serves it.
struct Wire {
    to: Option<DuplexStream>,
    from: ReadHalf<SimplexStream>,
    fake: Arc<Fake>,
    stop: Option<oneshot::Sender<()>>,
    serving: JoinSet<()>,
}

fn wire(tool: Option<&str>) -> Wire {
    let world = fake::world(Profile::Manifold);
    let service = Service::new(Ok(world.gateway), tool.map(str::to_owned));
    let (to, input) = duplex(1 << 20);
    let (from, output): (_, WriteHalf<SimplexStream>) = simplex(1 << 20);
    let (stop, stopped) = oneshot::channel();
    let options =
        Options { limit_bytes: 4096, budget: Budget::new(1 << 30), drain_timeout: Duration::from_secs(5) };
    let mut serving = JoinSet::new();
    let tasks = world.tasks;
    serving.spawn(async move {
        let stopped = async {
            if stopped.await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        serve(service, (input, output), options, stopped, &tasks).await;
    });
    Wire { to: Some(to), from, fake: world.fake, stop: Some(stop), serving }
}

impl Wire {
    async fn send(&mut self, text: &str) {
        self.to.as_mut().unwrap().write_all(text.as_bytes()).await.unwrap();
    }

    /// Returns the messages that have been written once nothing more happens.
    async fn read(&mut self) -> Vec<serde_json::Value> {
        let mut text = Vec::new();
        loop {
            match timeout(Duration::from_millis(10), self.from.read_buf(&mut text)).await {
                Ok(Ok(count)) if count > 0 => {}
                _ => break,
            }
        }
        let text = String::from_utf8(text).unwrap();
        assert!(text.is_empty() || text.ends_with("}\n\n\n"), "{text}");
        text.split_terminator("\n\n\n").map(|one| serde_json::from_str(one).unwrap()).collect()
    }

    async fn ask(&mut self, text: &str) -> Vec<serde_json::Value> {
        self.send(text).await;
        self.read().await
    }
}

fn get(id: u64) -> String {
    format!("{{\"version\":[1,0,0],\"id\":{id},\"type\":\"get\",\"data\":{{}}}}\n\n\n")
}

fn call(id: u64, tool: &str, arguments: &str) -> String {
    format!(
        "{{\"version\":[1,0,0],\"id\":{id},\"type\":\"call\",\"data\":{{\"tool\":\"{tool}\",\"arguments\":{arguments}}}}}\n\n\n"
    )
}

fn failed(answer: &serde_json::Value) -> &str {
    assert_eq!(
        (&answer["type"], &answer["data"]["response"]["error"]),
        (&"result".into(), &true.into()),
        "{answer}"
    );
    answer["data"]["response"]["content"][0]["data"].as_str().unwrap()
}

// S4-2: nothing happens before the terminator, wherever the bytes are cut.
#[tokio::test(start_paused = true)]
async fn a_message_is_served_at_its_terminator() {
    let mut wire = wire(None);
    let text = get(1).replace(',', ",\n\n").replace("\n\n\n", "\r\n\r\n\r\n");
    for byte in text.trim_end_matches('\n').bytes() {
        wire.send(std::str::from_utf8(&[byte]).unwrap()).await;
        assert_eq!(wire.read().await.len(), 0);
    }
    let answers = wire.ask("\n").await;
    assert_eq!((&answers[0]["type"], &answers[0]["id"]), (&"info".into(), &1.into()));
}

// S4-10
#[tokio::test(start_paused = true)]
async fn a_repeated_id_is_ignored() {
    let mut wire = wire(None);
    let again = format!("{}{}{}{}", get(1), get(1), call(1, "echo", "[]"), get(2));
    let mut ids: Vec<_> = wire.ask(&again).await.iter().map(|one| one["id"].as_u64()).collect();
    ids.sort_unstable();
    assert_eq!(ids, [Some(1), Some(2)]);
    assert_eq!(wire.ask(&get(2)).await.len(), 0);
}

// S4-10, decision 27
#[test]
fn the_last_65536_ids_are_remembered() {
    let mut seen = recent_ids::RecentIds::default();
    let id = |number| manifold_protocol::Id::number(number);
    for number in 0..65_536 {
        assert!(seen.note(&id(number)));
    }
    assert!(!seen.note(&id(0)));
    assert!(seen.note(&id(65_536)), "the oldest goes");
    assert!(seen.note(&id(0)));
    assert!(!seen.note(&id(2)));
}

// S4-3, S4-10: answers come when they are done, whole, under the id of their request.
#[tokio::test(start_paused = true)]
async fn calls_run_at_once() {
    let mut wire = wire(None);
    let answers = wire
        .ask(&format!("{}{}{}", call(1, "hold", "[]"), call(2, "hold", "[]"), call(3, "echo", "[]")))
        .await;
    assert_eq!(answers.iter().map(|one| &one["id"]).collect::<Vec<_>>(), [3]);
    let mut held = wire.fake.held();
    let result = manifold_protocol::Raw::from_static(r#"{"content":[{"type":"text","text":"done"}]}"#);
    held.pop().unwrap().1.finish(Ok(result.clone()));
    assert_eq!(wire.read().await[0]["id"], 2);
    held.pop().unwrap().1.finish(Ok(result));
    let answers = wire.read().await;
    assert_eq!(
        (&answers[0]["id"], &answers[0]["data"]["response"]["content"][0]["data"]),
        (&1.into(), &"done".into())
    );
}

// S4-6, S4-7: what cannot be answered is logged, and what follows is served.
#[tokio::test(start_paused = true)]
async fn garbage_hurts_nobody() {
    let mut wire = wire(None);
    let garbage = "{\n\n\n[]\n\n\nnull\n\n\n{\"id\":7}\n\n\n{\"version\":[1,0,0],\"id\":8,\"type\":\"list\"}\n\n\n\
        {\"version\":[1,0,0],\"id\":9,\"type\":\"result\",\"data\":{}}\n\n\n";
    assert_eq!(wire.ask(garbage).await.len(), 0);
    let long = format!("{{\"id\":5,\"x\":\"{}\"}}\n\n\n", "x".repeat(5000));
    assert!(failed(&wire.ask(&long).await[0]).contains("larger than 4096 bytes"));
    assert_eq!(wire.ask(&get(10)).await.len(), 1);
}

// S4-11
#[tokio::test(start_paused = true)]
async fn whatever_goes_wrong_is_a_result() {
    let mut wire = wire(None);
    let version = get(1).replace("[1,0,0]", "[2,0,0]");
    assert!(failed(&wire.ask(&version).await[0]).contains("1.x is spoken here"));
    assert_eq!(failed(&wire.ask(&call(2, "nobody", "[]")).await[0]), "Tool 'nobody' not found");
    let answer = wire.ask(&call(3, "s__echo", r#"["1"]"#)).await;
    assert_eq!(failed(&answer[0]), "'s__echo': 1 arguments were given, but there are 0 parameters: ");
    assert!(failed(&wire.ask(&call(4, "panic", "[]")).await[0]).contains("Internal error"));
    let no_tool = "{\"version\":[1,0,0],\"id\":5,\"type\":\"call\",\"data\":null}\n\n\n";
    assert!(failed(&wire.ask(no_tool).await[0]).contains("`tool`"));
}

#[tokio::test(start_paused = true)]
async fn one_tool_is_served_under_the_name_it_was_chosen_by() {
    let mut wire = wire(Some("echo"));
    assert_eq!(wire.ask(&get(1)).await[0]["data"]["name"], "echo");
    for (id, name) in [(2, "echo"), (3, "s__echo")] {
        assert_eq!(wire.ask(&call(id, name, "[]")).await[0]["data"]["response"]["error"], false);
    }
    assert_eq!(failed(&wire.ask(&call(4, "hold", "[]")).await[0]), "Tool 'hold' not found");
}

#[tokio::test(start_paused = true)]
async fn a_dispatcher_stands_for_all_tools() {
    let mut wire = wire(None);
    let tool = wire.ask(&get(1)).await[0]["data"].clone();
    let description = tool["description"].as_str().unwrap();
    assert!(
        ["s__echo()", "s__hold()", "s__panic()"].iter().all(|name| description.contains(name)),
        "{description}"
    );
    let name = tool["name"].as_str().unwrap();
    let answer = wire.ask(&call(2, name, r#"["hold","{\"n\": 1.0}"]"#)).await;
    assert_eq!(answer.len(), 0);
    let (held, exchange) = wire.fake.held().pop().unwrap();
    assert_eq!(held.params.unwrap().get("arguments").unwrap().as_str(), r#"{"n": 1.0}"#);
    exchange.finish(Ok(manifold_protocol::Raw::from_static(r#"{"content":[]}"#)));
    let answer = &wire.read().await[0]["data"];
    assert_eq!(answer["params"], serde_json::json!({"tool": "hold", "arguments": "{\"n\": 1.0}"}));
    let wrong = wire.ask(&call(3, name, r#"["hold","[1]"]"#)).await;
    assert!(failed(&wrong[0]).contains("argument 'arguments' is not of type object"));
    assert!(failed(&wire.ask(&call(4, name, "[]")).await[0]).contains("'tool' is required"));
}

#[tokio::test(start_paused = true)]
async fn the_end_of_input_lets_calls_finish() {
    let mut wire = wire(None);
    wire.send(&format!("{}{}", call(1, "hold", "[]"), get(2).trim_end())).await;
    wire.to = None;
    assert_eq!(wire.read().await[0]["id"], 2, "the last message needs no terminator");
    let (_, exchange) = wire.fake.held().pop().unwrap();
    exchange.finish(Ok(manifold_protocol::Raw::from_static(r#"{"content":[]}"#)));
    assert_eq!(wire.read().await[0]["id"], 1);
    wire.serving.join_next().await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn calls_that_outlast_the_drain_are_taken_back_and_told_so() {
    let mut wire = wire(None);
    wire.send(&call(1, "hold", "[]")).await;
    assert_eq!(wire.read().await.len(), 0);
    let (_, exchange) = wire.fake.held().pop().unwrap();
    wire.stop.take().unwrap().send(()).unwrap();
    wire.serving.join_next().await.unwrap().unwrap();
    assert!(exchange.is_cancelled());
    assert!(failed(&wire.read().await[0]).contains("shutting down"));
}

// Questions in the middle of a call are declined, with a reason.
#[tokio::test(start_paused = true)]
async fn questions_are_declined() {
    let mut wire = wire(None);
    wire.send(&call(1, "hold", "[]")).await;
    wire.read().await;
    let (_, exchange) = wire.fake.held().pop().unwrap();
    let (question, answer) = manifold_engine::Exchange::answered();
    let elicit = manifold_protocol::Call::new(manifold_protocol::Method::Elicit, None);
    exchange.asker().ask(elicit, question);
    let refused = answer.await.unwrap().unwrap_err();
    assert!(format!("{refused:?}").contains("elicitation/create"), "{refused:?}");
    assert_eq!(wire.fake.told_facts().unwrap().split(' ').next(), Some(r#"{"roots":{}}"#));
}
