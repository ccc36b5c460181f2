//! Answers, progress and notifications: what the server says finds whom it is for, byte for byte.

use expect_test::expect;
use manifold_protocol::Kind;

use super::*;

#[tokio::test(start_paused = true)]
async fn results_and_errors_keep_their_bytes() {
    let wire = wire("");
    let (first, second) = (wire.ask(r#"{ "name":"x","n":1.0 }"#), wire.ask("{}"));
    let lines = written(&wire.connection);
    assert!(lines[0].ends_with(r#","method":"tools/call","params":{ "name":"x","n":1.0 }}"#), "{}", lines[0]);
    wire.answer(&id_of(&lines[0]).to_string(), r#"{ "a" : 1.0 }"#);
    let error = r#"{ "code":-1.0, "message":"m" }"#;
    wire.receive(&format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, id_of(&lines[1])));
    assert_eq!(first.answered().await, r#"{ "a" : 1.0 }"#);
    assert_eq!(second.answered().await, format!("peer {error}"));
}

// Decision 33
#[tokio::test(start_paused = true)]
async fn an_over_long_answer_fails_its_call() {
    let wire = wire("");
    let (mut by_head, mut by_tail, mut other) = (wire.ask("{}"), wire.ask("{}"), wire.ask("{}"));
    let ids = wire.ids();
    let too_long =
        |head: String, tail: String| Line::TooLong { head: head.into(), tail: tail.into(), bytes: 99 };
    wire.connection.receive(too_long(
        format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"x":"aaa"#, ids[0]),
        "aaa\"}}".to_owned(),
    ));
    wire.connection.receive(too_long(
        r#"{"jsonrpc":"2.0","result":{"x":"aa"#.to_owned(),
        format!(r#"aa"}},"id":{}}}"#, ids[1]),
    ));
    wire.connection.receive(too_long("{\"result\":\"aaa".to_owned(), "aaa\"}".to_owned()));
    let expected = "fault -32603 The answer of server 's' is larger than 1048576 bytes (limits.messageBytes)";
    assert_eq!(by_head.answer().as_deref(), Some(expected));
    assert_eq!(by_tail.answer().as_deref(), Some(expected));
    assert_eq!(other.answer(), None);
}

#[tokio::test(start_paused = true)]
async fn a_malformed_answer_fails_its_call() {
    let wire = wire("");
    let mut asked: Vec<Asked> = (0..4).map(|_| wire.ask("{}")).collect();
    let ids = wire.ids();
    wire.receive(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":1,"error":{{}}}}"#, ids[0]));
    wire.receive(&format!(r#"{{"id":{},"result":1}}"#, ids[1]));
    wire.receive(&format!(r#"{{"jsonrpc":"2.0","id":{},"error":"oops"}}"#, ids[2]));
    let answers: Vec<String> = asked.iter_mut().take(3).map(|one| one.answer().unwrap()).collect();
    expect![[r#"
        fault -32603 Server 's' sent an answer that is not a valid message: a response has either a result or an error
        fault -32603 Server 's' sent an answer that is not a valid message: jsonrpc must be "2.0"
        fault -32603 Server 's' sent an answer that is not a valid message: error must be an object"#]].assert_eq(&answers.join("\n"));
    for noise in [
        "Listening on stdio…",
        "",
        "null",
        "[]",
        r#"{"jsonrpc":"2.0"}"#,
        "{\"jsonrpc\":",
        r#"{"jsonrpc":"2.0","id":null,"result":1}"#,
    ] {
        wire.receive(noise);
    }
    assert_eq!(asked[3].answer(), None, "noise is no answer");
    wire.receive(&format!(r#"[{{"jsonrpc":"2.0","id":{},"result":"in a batch"}},7]"#, ids[3]));
    assert_eq!(asked[3].answer().as_deref(), Some(r#""in a batch""#));
}

#[tokio::test(start_paused = true)]
async fn progress_tokens_are_ours_there_and_the_client_s_back() {
    for token in [r#""t""#, "7", "1.50", r#""\u00e9""#, r#""""#, "18446744073709551616"] {
        let wire = wire("");
        let asked = wire.ask(&format!(r#"{{"name":"x","_meta":{{"a":1,"progressToken":{token},"z":2}}}}"#));
        let line = written(&wire.connection).remove(0);
        let id = id_of(&line);
        assert!(
            line.ends_with(&format!(
                r#""params":{{"name":"x","_meta":{{"a":1,"progressToken":{id},"z":2}}}}}}"#
            )),
            "{line}"
        );
        wire.receive(&format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progress":0.50,"progressToken":{id},"x":[ ]}}}}"#
        ));
        assert_eq!(asked.progress(), [format!(r#"{{"progress":0.50,"progressToken":{token},"x":[ ]}}"#)]);
    }
}

#[tokio::test(start_paused = true)]
async fn progress_of_nobody_s_call_is_dropped() {
    let wire = wire("");
    let asked = wire.ask("{}");
    let id = wire.ids().remove(0);
    wire.progress(&id);
    wire.progress("99");
    wire.progress(&format!(r#""{id}""#));
    wire.receive(r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#);
    assert_eq!(asked.progress(), [""; 0], "it gave no token");
}

#[tokio::test(start_paused = true)]
async fn notifications_go_where_they_belong() {
    let wire = wire("");
    for method in ["tools", "prompts", "resources", "tools"] {
        wire.receive(&format!(r#"{{"jsonrpc":"2.0","method":"notifications/{method}/list_changed"}}"#));
    }
    assert_eq!(
        wire.connection.lists.stale.take(),
        [Kind::Tools, Kind::Prompts, Kind::Resources, Kind::Templates]
    );
    wire.receive(r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":1}}"#);
    wire.receive(r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x://1"}}"#);
    assert_eq!(
        wire.host.notices(),
        [
            r#"Only { last_caller: None } notifications/message {"data":1}"#,
            r#"notifications/resources/updated {"uri":"x://1"}"#
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn only_work_proves_a_server() {
    let wire = wire("");
    wire.connection.order(Method::SetLevel, raw("{}"));
    wire.answer(&wire.ids()[0], "{}");
    assert!(!wire.connection.has_answered(), "what it told us of itself");
    let _asked = wire.ask("{}");
    wire.answer(&wire.ids()[0], "{}");
    assert!(wire.connection.has_answered());
}

// H2: an answer that could be read in two ways is refused for its call alone, if it can be told which that is.
#[tokio::test(start_paused = true)]
async fn an_answer_with_doubles_is_malformed() {
    let wire = wire("");
    let mut asked = [wire.ask("{}"), wire.ask("{}"), wire.ask("{}"), wire.ask("{}")];
    let ids = wire.ids();
    let [first, second, third, fourth] = ids.as_slice() else { panic!("{ids:?}") };
    wire.receive(&format!(r#"{{"jsonrpc":"2.0","id":{first},"ID":{second},"result":{{}}}}"#));
    wire.receive(&format!(r#"{{"jsonrpc":"2.0","id":{third},"result":{{}},"Result":{{"x":1}}}}"#));
    wire.receive(&format!(
        r#"{{"jsonrpc":"2.0","id":{fourth},"result":{{"nextCursor":"a","NEXTCURSOR":"b"}}}}"#
    ));
    assert_eq!((asked[0].answer(), asked[1].answer()), (None, None), "nobody can tell whose it is");
    for refused in &mut asked[2..] {
        let answer = refused.answer().unwrap();
        assert!(
            answer.starts_with("fault -32603 Server 's' sent an answer that is not a valid message"),
            "{answer}"
        );
    }
    wire.answer(first, "{}");
    wire.answer(second, r#"{"a":1,"A":2}"#);
    assert_eq!(
        (asked[0].answer().as_deref(), asked[1].answer().as_deref()),
        (Some("{}"), Some(r#"{"a":1,"A":2}"#))
    );
}
