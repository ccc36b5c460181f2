//! What comes on the stream of a call: progress, questions, and the rest after a lost connection.

use manifold_testkit::Sandbox;
use serde_json::{Value, json};

use crate::http_lifecycle::{Gateway, NEW, OLD, calling, end_quietly, one};

// Progress comes on the stream of its call, under the client's own token, whatever that is
#[test]
fn progress_comes_with_its_call() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &one(&sandbox), &[]);
    let session = gateway.session("/mcp", OLD, json!({}));
    for token in [json!("a"), json!(0), json!(7), json!("")] {
        let mut call = session.call(2, "s__progress", json!({"steps": 3, "ms": 1}), Some(token.clone()));
        let mut events = call.response().events();
        for step in 1..=3 {
            let params = json!({"progressToken": token, "progress": step, "total": 3});
            assert_eq!(
                events.message(),
                json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
            );
        }
        assert_eq!(events.message()["result"]["content"][0]["text"], "3 steps");
        assert_eq!(events.next(), None);
    }
    end_quietly(gateway.client);
}

// Resumption: the client lost the connection, not the call
#[test]
fn a_stream_is_taken_up_where_it_was_cut() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &one(&sandbox), &[]);
    for version in [OLD, NEW] {
        let session = gateway.session("/mcp", version, json!({}));
        let mut call = session.call(2, "s__progress", json!({"steps": 20, "ms": 30}), Some(json!(5)));
        let mut events = call.response().events();
        let mut last = String::new();
        let mut seen = 0;
        while seen < 3 {
            let event = events.next().unwrap();
            last = event.id.clone().unwrap();
            if !event.data.is_empty() {
                seen = event.json()["params"]["progress"].as_u64().unwrap();
            }
        }
        drop(events);
        drop(call);
        // Twice, so that what was delivered to nobody is not lost either.
        for cut in [Some(8), None] {
            let mut again = session.listen(Some(&last));
            let mut events = again.response().events();
            loop {
                let event = events.next().expect("the rest of the stream");
                if event.data.is_empty() {
                    continue;
                }
                last = event.id.clone().unwrap();
                let message = event.json();
                if message["id"] == 2 {
                    assert_eq!(message["result"]["content"][0]["text"], "20 steps");
                    assert_eq!(seen, 20, "the answer comes last");
                    seen += 1;
                    break;
                }
                assert_eq!(message["params"]["progress"], seen + 1, "each event once, in order");
                seen += 1;
                if cut == Some(seen) {
                    break;
                }
            }
        }
        assert_eq!(seen, 21);
    }
    assert!(
        sandbox.received("s.log", "notifications/cancelled").is_empty(),
        "a lost connection cancels nothing"
    );
    end_quietly(gateway.client);
}

// An answer that came while nobody listened is kept
#[test]
fn an_answer_waits_for_the_client_to_come_back() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &one(&sandbox), &["--log-level", "debug"]);
    let session = gateway.session("/mcp", NEW, json!({}));
    let mut call = session.call(2, "s__sleep", json!({"ms": 400}), None);
    let primed = call.response().events().next().unwrap();
    assert_eq!(primed.data, "");
    drop(call);
    // Another session's answer, asked for later and as long, is there: so is this one.
    let other = gateway.session("/mcp", NEW, json!({}));
    assert_eq!(other.call(2, "s__sleep", json!({"ms": 500}), None).answer().status, 200);
    let mut again = session.listen(primed.id.as_deref());
    let mut events = again.response().events();
    let answer = events.message();
    assert_eq!((&answer["id"], &answer["result"]["content"][0]["text"]), (&json!(2), &json!("slept")));
    end_quietly(gateway.client);
}

// Questions go out on the stream of the call they belong to; their answers come by POST
#[test]
fn questions_come_with_their_call() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &one(&sandbox), &[]);
    let all = json!({"sampling": {}, "elicitation": {}, "roots": {}});
    for version in [OLD, NEW] {
        let session = gateway.session("/mcp", version, all.clone());
        let cases = [
            (
                "sampling/createMessage",
                json!({"messages": [], "maxTokens": 5}),
                json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "4"}}),
            ),
            (
                "elicitation/create",
                json!({"message": "?", "requestedSchema": {"type": "object", "properties": {}}}),
                json!({"action": "accept", "content": {"n": 1}}),
            ),
            ("roots/list", json!({}), json!({"roots": [{"uri": "file:///x"}]})),
        ];
        for (method, params, result) in cases {
            let mut call = session.call(2, "s__ask", json!({"method": method, "params": params}), None);
            let mut events = call.response().events();
            let question = events.message();
            assert_eq!((&question["method"], &question["params"]), (&json!(method), &params), "{question}");
            session.reply(&question["id"], result.clone());
            let answer = events.message();
            assert_eq!(answer["id"], 2, "{answer}");
            let said = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
            assert_eq!(serde_json::from_str::<Value>(said).unwrap(), result);
        }
    }
    // Decision 29: one that cannot be asked is not asked.
    let session = gateway.session("/mcp", NEW, json!({}));
    let answer =
        session.call(2, "s__ask", json!({"method": "sampling/createMessage", "params": {}}), None).answer();
    assert!(answer.text().contains(r#""isError":true"#), "{}", answer.text());
    end_quietly(gateway.client);
}

// A client that reads no stream in answer is asked on the one it listens to
#[test]
fn questions_find_a_client_that_takes_plain_answers() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &one(&sandbox), &[]);
    let session = gateway.session("/mcp", OLD, json!({"sampling": {}}));
    let mut listening = session.listen(None);
    let mut events = listening.response().events();
    let ask = calling(
        2,
        "tools/call",
        json!({"name": "s__ask", "arguments": {"method": "sampling/createMessage", "params": {}}}),
    );
    let mut call = session.send("POST", &[("Accept", "application/json")], &ask);
    let question = events.message();
    assert_eq!(question["method"], "sampling/createMessage");
    session.reply(&question["id"], json!({"x": 1}));
    assert_eq!(call.answer().json()["result"]["content"][0]["text"], r#"{"x":1}"#);
    end_quietly(gateway.client);
}
