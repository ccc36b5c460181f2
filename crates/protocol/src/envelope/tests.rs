use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

fn check_parse(text: &str, expected: Expect) {
    let shown = match parse(Bytes::copy_from_slice(text.as_bytes())) {
        Ok(Incoming::One(message)) => format!("{message:?}"),
        Ok(Incoming::Batch(messages)) => messages.iter().map(|message| format!("{message:?}\n")).collect(),
        Err(refusal) => format!("{refusal:?}"),
    };
    expected.assert_eq(&shown);
}

fn refused(text: &str) -> Refusal {
    parse(Bytes::copy_from_slice(text.as_bytes())).unwrap_err()
}

#[test]
fn reads_each_kind() {
    check_parse(
        r#"{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"a": 1.0 }}"#,
        expect![[r#"Request { id: 0, method: "tools/call", params: Some({"a": 1.0 }) }"#]],
    );
    check_parse(
        r#" {"method":"tools\/list","id":"","jsonrpc":"2.0"} "#,
        expect![[r#"Request { id: "", method: "tools/list", params: None }"#]],
    );
    check_parse(
        r#"{"jsonrpc":"2.0","method":"ping"}"#,
        expect![[r#"Notification { method: "ping", params: None }"#]],
    );
    check_parse(
        r#"{"jsonrpc":"2.0","id":1.0,"result":{"x":[1]}}"#,
        expect![[r#"Response { id: 1.0, outcome: Result({"x":[1]}) }"#]],
    );
    check_parse(
        r#"{"jsonrpc":"2.0","id":"a","error":{"code":1}}"#,
        expect![[r#"Response { id: "a", outcome: Error({"code":1}) }"#]],
    );
    check_parse(
        r#"{"jsonrpc":"2.0","id":3,"result":null,"x":1,"X":4}"#,
        expect!["Response { id: 3, outcome: Result(null) }"],
    );
}

#[test]
fn refuses_what_is_no_message() {
    let texts = [
        r#"{"id":1,"method":"a"}"#,
        r#"{"jsonrpc":"1.0","id":1,"method":"a"}"#,
        r#"{"jsonrpc":2.0,"id":1,"method":"a"}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"a"}"#,
        r#"{"jsonrpc":"2.0","id":{},"method":"a"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":5}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"a","params":[1]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"a","params":7}"#,
        r#"{"jsonrpc":"2.0","id":1}"#,
        r#"{"jsonrpc":"2.0","id":1,"Method":"a"}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":1,"error":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"a","result":1}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":"no"}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{}}"#,
        r#"{"jsonrpc":"2.0","result":{}}"#,
        "5",
        "[]",
        "{}",
    ];
    let lines: String = texts.iter().map(|text| format!("{text}\n  {:?}\n", refused(text))).collect();
    expect![[r#"
        {"id":1,"method":"a"}
          Refusal { id: Some(1), kind: Invalid("jsonrpc must be \"2.0\"") }
        {"jsonrpc":"1.0","id":1,"method":"a"}
          Refusal { id: Some(1), kind: Invalid("jsonrpc must be \"2.0\"") }
        {"jsonrpc":2.0,"id":1,"method":"a"}
          Refusal { id: Some(1), kind: Invalid("jsonrpc must be \"2.0\"") }
        {"jsonrpc":"2.0","id":null,"method":"a"}
          Refusal { id: None, kind: Invalid("id must be a string or a number") }
        {"jsonrpc":"2.0","id":{},"method":"a"}
          Refusal { id: None, kind: Invalid("id must be a string or a number") }
        {"jsonrpc":"2.0","id":1,"method":5}
          Refusal { id: Some(1), kind: Invalid("method must be a string") }
        {"jsonrpc":"2.0","id":1,"method":"a","params":[1]}
          Refusal { id: Some(1), kind: Invalid("params must be an object") }
        {"jsonrpc":"2.0","id":1,"method":"a","params":7}
          Refusal { id: Some(1), kind: Invalid("params must be an object") }
        {"jsonrpc":"2.0","id":1}
          Refusal { id: Some(1), kind: Invalid("there is no method") }
        {"jsonrpc":"2.0","id":1,"Method":"a"}
          Refusal { id: Some(1), kind: Variant { of: "method", in_params: false } }
        {"jsonrpc":"2.0","id":1,"result":1,"error":{}}
          Refusal { id: Some(1), kind: Invalid("a response has either a result or an error") }
        {"jsonrpc":"2.0","id":1,"method":"a","result":1}
          Refusal { id: Some(1), kind: Invalid("a request has neither result nor error") }
        {"jsonrpc":"2.0","id":1,"error":"no"}
          Refusal { id: Some(1), kind: Invalid("error must be an object") }
        {"jsonrpc":"2.0","id":null,"error":{}}
          Refusal { id: None, kind: Invalid("id must be a string or a number") }
        {"jsonrpc":"2.0","result":{}}
          Refusal { id: None, kind: Invalid("a response needs an id") }
        5
          Refusal { id: None, kind: Invalid("a message must be an object") }
        []
          Refusal { id: None, kind: Invalid("the batch is empty") }
        {}
          Refusal { id: None, kind: Invalid("jsonrpc must be \"2.0\"") }
    "#]]
    .assert_eq(&lines);
}

/// T9.
#[test]
fn refuses_keys_that_occur_twice() {
    let texts = [
        r#"{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"a","m\u0065thod":"b"}"#,
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"a"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"a","x":1,"x":2}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"name":1,"name":2}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"_meta":{"k":1,"\u006b":2}}}"#,
        r#"{"jsonrpc":"2.0","method":"a","params":{"\u005fmeta":{"k":1,"k":2}}}"#,
    ];
    let lines: String = texts.iter().map(|text| format!("{text}\n  {:?}\n", refused(text))).collect();
    expect![[r#"
        {"jsonrpc":"2.0","id":1,"method":"a","method":"b"}
          Refusal { id: Some(1), kind: Invalid("a member occurs twice") }
        {"jsonrpc":"2.0","id":1,"method":"a","m\u0065thod":"b"}
          Refusal { id: Some(1), kind: Invalid("a member occurs twice") }
        {"jsonrpc":"2.0","id":1,"id":2,"method":"a"}
          Refusal { id: None, kind: Invalid("a member occurs twice") }
        {"jsonrpc":"2.0","id":1,"method":"a","x":1,"x":2}
          Refusal { id: Some(1), kind: Invalid("a member occurs twice") }
        {"jsonrpc":"2.0","id":1,"method":"a","params":{"name":1,"name":2}}
          Refusal { id: Some(1), kind: Invalid("a member occurs twice") }
        {"jsonrpc":"2.0","id":1,"method":"a","params":{"_meta":{"k":1,"\u006b":2}}}
          Refusal { id: Some(1), kind: Invalid("a member occurs twice") }
        {"jsonrpc":"2.0","method":"a","params":{"\u005fmeta":{"k":1,"k":2}}}
          Refusal { id: None, kind: Invalid("a member occurs twice") }
    "#]]
    .assert_eq(&lines);
}

/// H2: a reader without regard to case would take them for ours.
#[test]
fn refuses_keys_that_differ_in_case_alone() {
    let texts = [
        r#"{"jsonrpc":"2.0","id":1,"method":"a","METHOD":"b"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"a","\u004dethod":"b"}"#,
        r#"{"jsonrpc":"2.0","id":1,"ID":2,"method":"a"}"#,
        r#"{"jsonrpc":"2.0","Id":2,"method":"a"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"a","Params":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"g__ok","NAME":"secret"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"NAME":"secret","name":"g__ok"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"g__ok","argument\u017f":{}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"progresstoken":1}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"ref":{"type":"ref/prompt","name":"a","NAME":"b"}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"ref":{"name":"a","n\u0061me":"b"}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"requestID":2}}"#,
        r#"{"jsonrpc":"2.0","id":1,"ID":2,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","resulttype":"input_required"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[],"tools":[]}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"Code":2}}"#,
    ];
    let lines: String = texts.iter().map(|text| format!("{text}\n  {:?}\n", refused(text))).collect();
    expect![[r#"
        {"jsonrpc":"2.0","id":1,"method":"a","METHOD":"b"}
          Refusal { id: Some(1), kind: Variant { of: "method", in_params: false } }
        {"jsonrpc":"2.0","id":1,"method":"a","\u004dethod":"b"}
          Refusal { id: Some(1), kind: Variant { of: "method", in_params: false } }
        {"jsonrpc":"2.0","id":1,"ID":2,"method":"a"}
          Refusal { id: None, kind: Variant { of: "id", in_params: false } }
        {"jsonrpc":"2.0","Id":2,"method":"a"}
          Refusal { id: None, kind: Variant { of: "id", in_params: false } }
        {"jsonrpc":"2.0","id":1,"method":"a","Params":{}}
          Refusal { id: Some(1), kind: Variant { of: "params", in_params: false } }
        {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"g__ok","NAME":"secret"}}
          Refusal { id: Some(1), kind: Variant { of: "name", in_params: true } }
        {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"NAME":"secret","name":"g__ok"}}
          Refusal { id: Some(1), kind: Variant { of: "name", in_params: true } }
        {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"g__ok","argument\u017f":{}}}
          Refusal { id: Some(1), kind: Variant { of: "arguments", in_params: true } }
        {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"progresstoken":1}}}
          Refusal { id: Some(1), kind: Variant { of: "progressToken", in_params: true } }
        {"jsonrpc":"2.0","id":1,"method":"a","params":{"ref":{"type":"ref/prompt","name":"a","NAME":"b"}}}
          Refusal { id: Some(1), kind: Variant { of: "name", in_params: true } }
        {"jsonrpc":"2.0","id":1,"method":"a","params":{"ref":{"name":"a","n\u0061me":"b"}}}
          Refusal { id: Some(1), kind: Invalid("a member occurs twice") }
        {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"requestID":2}}
          Refusal { id: None, kind: Variant { of: "requestId", in_params: true } }
        {"jsonrpc":"2.0","id":1,"ID":2,"result":{}}
          Refusal { id: None, kind: Variant { of: "id", in_params: false } }
        {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","resulttype":"input_required"}}
          Refusal { id: Some(1), kind: Variant { of: "resultType", in_params: false } }
        {"jsonrpc":"2.0","id":1,"result":{"tools":[],"tools":[]}}
          Refusal { id: Some(1), kind: Invalid("a member occurs twice") }
        {"jsonrpc":"2.0","id":1,"error":{"code":1,"Code":2}}
          Refusal { id: Some(1), kind: Variant { of: "code", in_params: false } }
    "#]]
    .assert_eq(&lines);
}

/// T9: what lies deeper passes byte for byte.
#[test]
fn the_box_is_not_unpacked() {
    check_parse(
        r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"arguments":{"k":1,"k":2,"K":3},"x":{"k":1,"k":1}}}"#,
        expect![[
            r#"Request { id: 1, method: "a", params: Some({"arguments":{"k":1,"k":2,"K":3},"x":{"k":1,"k":1}}) }"#
        ]],
    );
    check_parse(
        r#"{"jsonrpc":"2.0","id":1,"result":{"k":1,"k":2,"content":[{"k":1,"K":1}]}}"#,
        expect![[r#"Response { id: 1, outcome: Result({"k":1,"k":2,"content":[{"k":1,"K":1}]}) }"#]],
    );
}

#[test]
fn many_keys_are_compared_too() {
    let params = |last: &str| {
        let keys: String = (0..100).map(|n| format!("\"k{n}\":{n},")).collect();
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"a","params":{{{keys}"{last}":1}}}}"#)
    };
    assert!(parse(Bytes::from(params("new"))).is_ok());
    for known in ["k0", "k15", "k16", "k99", "\\u006b3"] {
        assert_eq!(refused(&params(known)).kind, RefusalKind::Invalid("a member occurs twice"), "{known}");
    }
    let keys: String = (0..70_000).map(|n| format!("\"{n}\":0,")).collect();
    let params = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"a","params":{{{keys}"a":1}}}}"#);
    assert_eq!(refused(&params).kind, RefusalKind::Invalid("too many members"));
}

/// F5, F7, F21.
#[test]
fn tells_broken_from_unfinished() {
    assert_eq!(refused("Server listening on 3000").kind, RefusalKind::Parse);
    assert_eq!(refused(r#"{"jsonrpc":"2.0","id":1,"method":"a"}}"#).kind, RefusalKind::Parse);
    assert_eq!(refused(r#"{"jsonrpc":"2.0","id":1,"id":2 "method":"a"}"#).kind, RefusalKind::Parse);
    assert_eq!(refused(&format!("{{\"params\":{}", "[".repeat(100_000))).kind, RefusalKind::Parse);
    assert_eq!(refused(r#"{"jsonrpc":"2.0","id":1,"params":{"a":{}}"#).kind, RefusalKind::Unfinished);
    assert_eq!(parse(Bytes::from_static(b"{\"a\":\"\xff\"}")).unwrap_err().kind, RefusalKind::Parse);
}

/// F7, M12: half of a surrogate pair passes as it came, in whatever is not read here.
#[test]
fn half_a_surrogate_pair_passes() {
    check_parse(
        r#"{"jsonrpc":"2.0","id":"\ud800","method":"a","params":{"\udfff":"\ud83d","\ud800":{"\ud83d":1},"x":"\ud83d\ude00"}}"#,
        expect![[
            r#"Request { id: "\ud800", method: "a", params: Some({"\udfff":"\ud83d","\ud800":{"\ud83d":1},"x":"\ud83d\ude00"}) }"#
        ]],
    );
    check_parse(
        r#"{"jsonrpc":"2.0","id":1,"result":{"t":"\ud83d"},"\ud800":1,"\udbff":2}"#,
        expect![[r#"Response { id: 1, outcome: Result({"t":"\ud83d"}) }"#]],
    );
    check_parse(
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"\udfff"}}"#,
        expect![[r#"Response { id: 1, outcome: Error({"code":1,"message":"\udfff"}) }"#]],
    );
    check_parse(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call\ud800"}"#,
        expect![[
            r#"Refusal { id: Some(1), kind: Invalid("method has half of a surrogate pair, which is no text") }"#
        ]],
    );
    check_parse(
        r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"\ud800":1,"\ud800":2}}"#,
        expect![[r#"Refusal { id: Some(1), kind: Invalid("a member occurs twice") }"#]],
    );
    check_parse(
        r#"[{"jsonrpc":"2.0","id":1,"method":"\ud800"},{"jsonrpc":"2.0","id":2,"method":"b","params":{"x":"\ud800"}}]"#,
        expect![[r#"
            Err(Refusal { id: Some(1), kind: Invalid("method has half of a surrogate pair, which is no text") })
            Ok(Request { id: 2, method: "b", params: Some({"x":"\ud800"}) })
        "#]],
    );
}

#[test]
fn depth_counts_from_the_outermost() {
    let nested = |depth: usize| {
        let value = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        format!(r#"{{"jsonrpc":"2.0","method":"a","params":{{"_meta":{{"x":{value}}}}}}}"#)
    };
    assert!(parse(Bytes::from(nested(scan::MAX_DEPTH - 3))).is_ok());
    assert_eq!(refused(&nested(scan::MAX_DEPTH - 2)).kind, RefusalKind::Parse);
}

/// F23.
#[test]
fn batches_are_read_and_capped() {
    check_parse(
        r#"[{"jsonrpc":"2.0","id":1,"method":"a"}, 5, {"jsonrpc":"2.0","id":1,"id":2}, {"jsonrpc":"2.0","method":"b"}]"#,
        expect![[r#"
            Ok(Request { id: 1, method: "a", params: None })
            Err(Refusal { id: None, kind: Invalid("a message must be an object") })
            Err(Refusal { id: None, kind: Invalid("a member occurs twice") })
            Ok(Notification { method: "b", params: None })
        "#]],
    );
    assert_eq!(refused(r#"[{"jsonrpc":"2.0","id":1,"method":"a"}, }"#).kind, RefusalKind::Parse);
    let batch = |len: usize| format!("[{}1]", "1,".repeat(len - 1));
    assert!(parse(Bytes::from(batch(MAX_BATCH))).is_ok());
    assert_eq!(refused(&batch(MAX_BATCH + 1)).kind, RefusalKind::Invalid("the batch is too long"));
    assert!(looks_like_batch(b" \n[") && !looks_like_batch(b"{[") && !looks_like_batch(b""));
}

/// F6, F22.
#[test]
fn finds_the_id_of_a_cut_message() {
    let peek = |text: &str| peek_id(text.as_bytes()).map(|id| id.to_string());
    assert_eq!(peek(r#"{"jsonrpc":"2.0","id":7,"result":{"text":"aaa"#).as_deref(), Some("7"));
    assert_eq!(peek(r#"{"result":{"id":3},"id":"x" "#).as_deref(), Some("\"x\""));
    assert_eq!(peek(r#"{"result":{"id":3},"#), None);
    assert_eq!(peek(r#"{"id":12"#), None);
    assert_eq!(peek(r#"{"id":1,"id":2,"#), None);
    assert_eq!(peek(r#"{"id":null,"#), None);
    assert_eq!(peek(r#"{"id":1,"ID":2,"#), None);
    assert_eq!(peek(r#"[{"id":1,"#), None);
    assert_eq!(peek_id(b"{\"id\":1,\"a\":\"\xf0\x9f"), Some(Id::number(1)));
    let at_end = |text: &str| peek_id_at_end(text.as_bytes()).map(|id| id.to_string());
    assert_eq!(at_end(r#"aaa"}]},"jsonrpc":"2.0","id":7}"#).as_deref(), Some("7"));
    assert_eq!(at_end(r#"aaa"}, "id" : "id" } "#).as_deref(), Some("\"id\""));
    assert_eq!(at_end(r#"aaa","id":7}}"#), None);
    assert_eq!(at_end(r#"aaa\"id":7}"#), None);
    assert_eq!(at_end(r#""id":7,"x":1}"#), None);
}

#[test]
fn writes_one_line() {
    let raw = |text: &'static str| Raw::from_static(text);
    let id = Id::number(5);
    let lines = [
        request(&id, "tools/call", Some(&raw("{\n \"a\":\r\n\"\\n\"}"))),
        request(&id, "odd \"name\"\n", None),
        notification("x", Some(&raw("{}"))).into(),
        result(&Id::from_raw(&raw("\"a\"")).unwrap(), &raw("[1]")),
        error(Some(&id), &raw("{\"code\":1}")).into(),
        error(None, &raw("{}")).into(),
        error_without_id(&raw("{}")).into(),
    ];
    let lines: String =
        lines.map(|line| format!("{}\n", std::str::from_utf8(&line.into_bytes()).unwrap())).concat();
    expect![[r#"
        {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{  "a":  "\n"}}
        {"jsonrpc":"2.0","id":5,"method":"odd \"name\"\n"}
        {"jsonrpc":"2.0","method":"x","params":{}}
        {"jsonrpc":"2.0","id":"a","result":[1]}
        {"jsonrpc":"2.0","id":5,"error":{"code":1}}
        {"jsonrpc":"2.0","id":null,"error":{}}
        {"jsonrpc":"2.0","error":{}}
    "#]]
    .assert_eq(&lines);
}

#[test]
fn payloads_are_slices_of_the_message() {
    let text = Bytes::from(r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"b":1}}"#);
    let Ok(Incoming::One(Message::Request { params: Some(params), method, .. })) = parse(text.clone()) else {
        panic!()
    };
    let within = |part: &[u8]| text.as_ptr_range().contains(&part.as_ptr());
    assert!(within(params.as_bytes()) && within(method.as_str().as_bytes()));
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(text in any::<Vec<u8>>()) {
        let _ = (peek_id(&text), peek_id_at_end(&text), parse(Bytes::from(text)));
    }

    #[test]
    fn what_is_written_is_read(id in any::<u64>(), method in any::<String>(), params in scan::tests::any_json()) {
        let id = Id::number(id);
        let params = Raw::parse(format!("{{\"a\":{params}}}")).unwrap();
        let written = request(&id, &method, Some(&params)).into_bytes();
        prop_assert!(!written.contains(&b'\n'));
        let Ok(Incoming::One(Message::Request { id: same_id, method: same_method, .. })) = parse(written) else {
            return Err(TestCaseError::fail("not read"));
        };
        prop_assert_eq!(same_id, id);
        prop_assert_eq!(same_method.as_str(), method.as_str());
    }

    #[test]
    fn a_broken_message_is_refused_like_its_text(text in scan::tests::any_json(), cut in any::<prop::sample::Index>()) {
        let text = format!(r#"{{"jsonrpc":"2.0","method":"a","params":{{"x":{text}}}}}"#);
        prop_assert!(parse(Bytes::from(text.clone())).is_ok());
        let cut = text.as_bytes()[..cut.index(text.len())].to_vec();
        prop_assert_eq!(parse(Bytes::from(cut)).unwrap_err().kind, RefusalKind::Unfinished);
    }
}
