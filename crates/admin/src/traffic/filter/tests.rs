use serde_json::value::RawValue;

use super::super::{Direction, Frame, FrameClient, FrameKind, FrameStatus, Hop};
use super::{Filter, Matcher};

const NOW: u64 = 600_000_000_000;

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

fn frame() -> Frame {
    Frame {
        n: 9,
        t: NOW - 1_000_000_000,
        hop: Hop::Client,
        dir: Direction::Out,
        kind: FrameKind::Error,
        client: Some(FrameClient { id: Some(3), name: Some("Cursor".to_owned()), version: None }),
        server: Some("git".to_owned()),
        method: Some("tools/call".to_owned()),
        tool: Some("git__read_file".to_owned()),
        id: Some(raw("\"a7\"")),
        call: Some(17),
        status: Some(FrameStatus::Error),
        code: Some(-32603),
        bytes: 2_000_000,
        took: Some(250_000_000),
        body: Some(raw(r#"{"error":{"message":"No such File"}}"#)),
        ..Frame::default()
    }
}

fn check(filter: &str, expected: bool) {
    let fits = Filter::parse(filter).unwrap().matches(&frame(), NOW);
    assert_eq!(fits, expected, "{filter}");
}

fn check_error(filter: &str, column: usize, part: &str) {
    let error = Filter::parse(filter).unwrap_err();
    assert_eq!(error.column, column, "{filter}: {error}");
    assert!(error.message.contains(part), "{filter}: {error}");
    assert!(error.to_string().starts_with(&format!("column {column}: ")));
}

#[test]
fn each_key_asks_for_one_thing() {
    for filter in [
        "",
        "  ",
        "server:git",
        "server:g*",
        "server:hub|git",
        "tool:git__read_file",
        "tool:read_file",
        "tool:*file",
        "method:tools/call",
        "method:tools/*",
        "client:Cursor",
        "client:3",
        "hop:client",
        "dir:out",
        "kind:error",
        "kind:request|error",
        "status:error",
        "status:-32603",
        "took:>200ms",
        "took:250ms",
        "took:<=0.25s",
        "size:>1MB",
        "size:=2000000",
        "size:<2MiB",
        "call:17",
        "call:16|17",
        "id:a7",
        r#"id:"\"a7\"""#,
        "since:5m",
        "file",
        "no|such",
        "\"such file\"",
        "/[Nn]o +such/",
        "tool:/^git__/",
        "server:git tool:read_file status:error",
    ] {
        check(filter, true);
        if !filter.trim().is_empty() && !filter.contains(' ') {
            check(&format!("!{filter}"), false);
        }
    }
    for filter in [
        "server:gi",
        "tool:file",
        "tool:read_file dir:in",
        "client:cursor",
        "status:ok",
        "status:pending",
        "took:>250ms",
        "size:>2MB",
        "call:7",
        "id:7",
        "since:500ms",
        "absent",
        "file|x !error",
    ] {
        check(filter, false);
    }
}

#[test]
fn errors_name_the_column() {
    check_error("toool:x", 1, "there is no `toool:`");
    check_error("server:git toool:x", 12, "tool:");
    check_error("!kind:reqest", 7, "none of request");
    check_error("hop:client|serve", 12, "none of client, server");
    check_error("status:maybe", 8, "nor a code");
    check_error("took:>fast", 7, "a time");
    check_error("size:1XB", 6, "a size");
    check_error("since:", 7, "missing");
    check_error("took:1s|2s", 9, "only one");
    check_error("a \"b c", 3, "not closed");
    check_error("tool:/x", 6, "no `/`");
    check_error("/(/", 1, "regular expression");
    check_error("ä \"b\"c", 6, "put a blank");
    check_error("call:x", 6, "no number");
    check_error("took:>99999999999999d", 7, "more than can be compared");
    check_error("size:>99999999999999gb", 7, "more than can be compared");
    check_error("!", 2, "missing");
    check_error("a||b", 3, "missing");
}

fn hop_frame(call: u64, hop: Hop, dir: Direction, kind: FrameKind, tool: Option<&str>) -> Frame {
    let tool = tool.map(str::to_owned);
    Frame { call: Some(call), hop, dir, kind, tool, ..Frame::default() }
}

/// The four frames of a call, the answers without a name.
fn call(number: u64, shown: &str, own: &str) -> [Frame; 4] {
    use {Direction as D, FrameKind as K, Hop as H};
    let mut request = hop_frame(number, H::Client, D::In, K::Request, Some(shown));
    request.method = Some("tools/call".to_owned());
    let mut sent = hop_frame(number, H::Server, D::Out, K::Request, Some(own));
    sent.method.clone_from(&request.method);
    sent.server = Some("fx".to_owned());
    let came = hop_frame(number, H::Server, D::In, K::Response, None);
    [request, sent, came, hop_frame(number, H::Client, D::Out, K::Response, None)]
}

fn count(matcher: &mut Matcher, frames: &[Frame]) -> usize {
    frames.iter().filter(|frame| matcher.matches(frame, 0)).count()
}

#[test]
fn all_hops_of_a_call_fit_by_either_name_of_its_tool() {
    for filter in
        ["tool:fx__echo", "tool:echo", "tool:echo method:tools/call", "method:tools/call tool:*echo"]
    {
        let mut matcher = Filter::parse(filter).unwrap().matcher();
        assert_eq!(count(&mut matcher, &call(1, "fx__echo", "echo")), 4, "{filter}");
        assert_eq!(count(&mut matcher, &call(2, "fx__fail", "fail")), 0, "{filter}");
    }
    let mut matcher = Filter::parse("!tool:echo").unwrap().matcher();
    assert_eq!(count(&mut matcher, &call(1, "fx__echo", "echo")), 0);
    assert_eq!(count(&mut matcher, &call(2, "fx__fail", "fail")), 4);
}

#[test]
fn all_hops_of_a_call_fit_by_the_server_it_goes_to() {
    let elsewhere = |number| {
        let mut frames = call(number, "other__echo", "echo");
        frames[1].server = Some("other".to_owned());
        frames
    };
    for (filter, here, there) in [("server:fx", 4, 0), ("!server:fx", 0, 4), ("server:fx tool:echo", 4, 0)] {
        let mut matcher = Filter::parse(filter).unwrap().matcher();
        assert_eq!(count(&mut matcher, &call(1, "fx__echo", "echo")), here, "{filter}");
        assert_eq!(count(&mut matcher, &elsewhere(2)), there, "{filter}");
    }
    // Where the name does not tell, the first call does.
    let mut matcher = Filter::parse("server:fx").unwrap().matcher();
    assert_eq!(count(&mut matcher, &call(1, "say", "echo")), 3);
    assert_eq!(count(&mut matcher, &call(2, "say", "echo")), 4);
}

#[test]
fn other_prefixes_are_learnt() {
    let mut matcher = Filter::parse("tool:echo").unwrap().matcher();
    assert_eq!(count(&mut matcher, &call(1, "fx-echo", "echo")), 3);
    assert_eq!(count(&mut matcher, &call(2, "fx-echo", "echo")), 4);
    let mut matcher = Filter::parse("tool:echo").unwrap().matcher();
    matcher.learn("fx-echo", "echo");
    assert_eq!(count(&mut matcher, &call(1, "fx-echo", "echo")), 4);
}

#[test]
fn what_is_remembered_has_a_bound() {
    let mut matcher = Filter::parse("tool:echo").unwrap().matcher();
    for number in 0..20_000 {
        count(&mut matcher, &call(number, "fx__echo", "echo"));
    }
    assert_eq!(matcher.remembered(), 16_384);
}
