#![allow(clippy::unwrap_used, reason = "this is a test")]

use bytes::Bytes;
use manifold_protocol::envelope::{self, Incoming, Message};

use super::*;
use crate::in_flight::read_id;

/// What is seen at a glance is what reading finds.
#[test]
fn a_plain_request_is_known_at_a_glance() {
    let requests = [
        r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":"a b","method":"tools/call","params":{"name":"x","arguments":{"t":"}]\"{"}}}"#,
        r#"{"method":"tools/call","params":{"a":[1,{"b":"\\\\"}]},"jsonrpc":"2.0","id":0}"#,
        r#"{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "x", "arguments": {"t": [1, 2]}}}"#,
        "{ \"jsonrpc\" : \"2.0\" ,\t\"id\"\t: \"a\" , \"method\" :\"ping\" }",
    ];
    for request in requests {
        let seen = glance(request.as_bytes()).unwrap();
        let read = envelope::parse(Bytes::copy_from_slice(request.as_bytes()));
        let Ok(Incoming::One(Message::Request { id, method, .. })) = read else { panic!("{request}") };
        assert_eq!(
            (read_id(&request.as_bytes()[seen.id]), seen.method),
            (Some(id), method.as_str().as_bytes()),
            "{request}"
        );
    }
}

#[test]
fn anything_else_must_be_read() {
    let others = [
        "",
        "{}",
        "{",
        r#"{"jsonrpc":"2.0","id":7,"method":"ping""#,
        r#"{"jsonrpc":"2.0","id":7,"method":"ping"} "#,
        r#" {"jsonrpc":"2.0","id":7,"method":"ping"}"#,
        "{\"jsonrpc\":\"2.0\",\r\n\"id\":7,\"method\":\"ping\"}",
        r#"{"jsonrpc":"2.0","id":7 8,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"ping",}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"ping", }"#,
        r#"{"jsonrpc":"2.0","id":7,"id":8,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"pi\u006eg"}"#,
        r#"{"jsonrpc":"2.0","id":"\n","method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":-7,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":07,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":7.5,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1234567890123456,"method":"ping"}"#,
        "{\"jsonrpc\":\"2.0\",\"id\":\"\t\",\"method\":\"ping\"}",
        r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":7,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":{}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":"}}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"x","params":[1]}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"x","params":{}}}"#,
        r#"[{"jsonrpc":"2.0","id":7,"method":"ping"}]"#,
    ];
    for other in others {
        assert_eq!(glance(other.as_bytes()), None, "{other}");
    }
}

/// However a request is spoilt, whoever only glances at it takes it for no other than one who reads it.
#[test]
fn a_spoilt_request_is_never_taken_for_another() {
    let requests = [
        r#"{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"n":"x\"y","m":[{}]}}"#,
        r#"{"jsonrpc": "2.0", "id": 17, "method": "tools/call", "params": {"n": "x\"y", "m": [{}]}}"#,
    ];
    for request in requests {
        for at in 0..request.len() {
            for byte in *b"\"{}[],:\\ 0x\n\xff" {
                let mut spoilt = request.as_bytes().to_vec();
                spoilt[at] = byte;
                taken_for_no_other(&spoilt);
            }
        }
    }
}

fn taken_for_no_other(spoilt: &[u8]) {
    let Some(seen) = glance(spoilt) else { return };
    let read = envelope::parse(Bytes::copy_from_slice(spoilt));
    if let Ok(Incoming::One(Message::Request { id, method, .. })) = read {
        let said = String::from_utf8_lossy(spoilt);
        assert_eq!(
            (read_id(&spoilt[seen.id]), seen.method),
            (Some(id), method.as_str().as_bytes()),
            "{said}"
        );
    }
}
