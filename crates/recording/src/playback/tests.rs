use std::time::Duration;

use manifold_admin::TrafficItem;
use serde_json::value::RawValue;

use super::{Playback, PlaybackError, PlaybackOptions, Step};
use crate::testing::{Script, conversation, recorded};

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

fn playback() -> Playback {
    Playback::new(&conversation(), PlaybackOptions::default()).unwrap()
}

fn ask(playback: &mut Playback, method: &str, params: &str) -> Vec<Step> {
    let raw = RawValue::from_string(params.to_owned()).unwrap();
    playback.steps(method, Some(&raw))
}

fn answer(playback: &mut Playback, method: &str, params: &str) -> String {
    match ask(playback, method, params).pop() {
        Some(Step::Answer(result) | Step::Fail(result)) => result,
        other => panic!("{other:?}"),
    }
}

#[test]
fn equal_calls_are_answered_in_their_order_and_the_last_again() {
    let mut playback = playback();
    let call = r#"{"arguments":{ "text":"a" },"name":"fx__echo","_meta":{"progressToken":9}}"#;
    let texts: Vec<String> = (0..4).map(|_| answer(&mut playback, "tools/call", call)).collect();
    let expected = ["first", "second", "second", "second"]
        .map(|text| format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#));
    assert_eq!(texts, expected);
}

#[test]
fn what_was_not_recorded_names_the_nearest() {
    let mut playback = playback();
    let said = answer(&mut playback, "tools/call", r#"{"name":"fx__echo","arguments":{"text":"b"}}"#);
    assert!(said.contains("-32602") && said.contains(r#"{\"text\":\"a\"}"#), "{said}");
    let said = answer(&mut playback, "tools/call", r#"{"name":"other"}"#);
    assert!(said.contains("no call of 'other'") && said.contains("fx__ask, fx__echo"), "{said}");
    let said = answer(&mut playback, "prompts/get", r#"{"name":"p"}"#);
    assert!(said.contains("no answer to `prompts/get`"), "{said}");
}

#[test]
fn questions_and_progress_come_at_their_place() {
    let mut playback = playback();
    let steps = ask(
        &mut playback,
        "tools/call",
        r#"{"name":"fx__ask","arguments":{},"_meta":{"progressToken":"new"}}"#,
    );
    let progress = Some(r#"{"progressToken":"new","progress":1}"#.to_owned());
    assert_eq!(steps[0], Step::Notify { method: "notifications/progress".to_owned(), params: progress });
    assert_eq!(steps[1], Step::Ask { method: "roots/list".to_owned(), params: None });
    assert!(matches!(&steps[2], Step::Answer(text) if text.contains("asked")));
    let untold = ask(&mut playback, "tools/call", r#"{"name":"fx__ask","arguments":{}}"#);
    assert_eq!(untold.len(), 2, "nobody waits for progress: {untold:?}");
}

#[test]
fn a_legacy_recording_is_served_to_modern_clients() {
    let mut playback = playback();
    let said = answer(&mut playback, "server/discover", &format!("{{{META}}}"));
    for part in [
        r#""supportedVersions":["2026-07-28"]"#,
        r#""capabilities":{"tools":{}}"#,
        r#""resultType":"complete""#,
    ] {
        assert!(said.contains(part), "{said}");
    }
    let listed = answer(&mut playback, "tools/list", &format!("{{{META}}}"));
    assert!(
        listed.starts_with(r#"{"tools":[{"name":"fx__echo","inputSchema":{"type":"object"}}],"resultType":"#)
    );
    let call = format!(r#"{{"name":"fx__echo","arguments":{{"text":"a"}},{META}}}"#);
    let said = answer(&mut playback, "tools/call", &call);
    assert_eq!(said, r#"{"content":[{"type":"text","text":"first"}],"resultType":"complete"}"#);
}

fn modern() -> Playback {
    let asks =
        r#"{"resultType":"input_required","inputRequests":{"q":{"method":"roots/list"}},"requestState":"s"}"#;
    let script = Script::default()
        .exchange(
            "server/discover",
            &format!("{{{META}}}"),
            r#"{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"resultType":"complete","ttlMs":0,"cacheScope":"private"}"#,
        )
        .call("t", "{}", r#"{"content":[],"resultType":"complete"}"#)
        .exchange("tools/call", &format!(r#"{{"name":"a",{META}}}"#), asks)
        .exchange(
            "tools/call",
            &format!(r#"{{"name":"a","inputResponses":{{"q":{{"roots":[]}}}},"requestState":"s",{META}}}"#),
            r#"{"content":[{"type":"text","text":"end"}],"resultType":"complete"}"#,
        );
    Playback::new(&recorded(script), PlaybackOptions::default()).unwrap()
}

#[test]
fn a_modern_recording_is_served_to_clients_with_sessions() {
    let mut playback = modern();
    let said = answer(&mut playback, "initialize", r#"{"protocolVersion":"2025-06-18","capabilities":{}}"#);
    assert!(
        said.starts_with(r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":"#),
        "{said}"
    );
    assert_eq!(answer(&mut playback, "tools/call", r#"{"name":"t","arguments":{}}"#), r#"{"content":[]}"#);
    let steps = ask(&mut playback, "tools/call", r#"{"name":"a"}"#);
    assert_eq!(steps[0], Step::Ask { method: "roots/list".to_owned(), params: None });
    assert_eq!(steps[1], Step::Answer(r#"{"content":[{"type":"text","text":"end"}]}"#.to_owned()));
}

#[test]
fn a_retry_is_answered_as_it_was_whatever_the_answers() {
    let mut playback = modern();
    let first = answer(&mut playback, "tools/call", &format!(r#"{{"name":"a",{META}}}"#));
    assert!(first.contains("input_required"));
    let retry =
        format!(r#"{{"name":"a","inputResponses":{{"q":{{"roots":[1]}}}},"requestState":"x",{META}}}"#);
    assert!(answer(&mut playback, "tools/call", &retry).contains("end"));
}

#[test]
fn lists_that_nobody_asked_for_are_made_of_what_is_known() {
    let script = Script::default().call("b", "{}", "{}").call("a", "{}", "{}");
    let mut playback = Playback::new(&recorded(script), PlaybackOptions::default()).unwrap();
    let listed = answer(&mut playback, "tools/list", "{}");
    assert_eq!(
        listed,
        r#"{"tools":[{"name":"a","inputSchema":{"type":"object"}},{"name":"b","inputSchema":{"type":"object"}}]}"#
    );
    assert_eq!(answer(&mut playback, "prompts/list", "{}"), r#"{"prompts":[]}"#);
    assert_eq!(answer(&mut playback, "ping", "{}"), "{}");
}

#[test]
fn a_redacted_file_is_served_only_if_wanted() {
    let mut recording = conversation();
    if let Some(TrafficItem::Frame(frame)) = recording.items.last_mut() {
        frame.redacted = true;
    }
    let refused = Playback::new(&recording, PlaybackOptions::default()).unwrap_err();
    assert_eq!(refused, PlaybackError::Redacted(1));
    assert!(refused.to_string().contains("--allow-redacted"));
    let allowed = PlaybackOptions { allow_redacted: true, ..PlaybackOptions::default() };
    assert!(Playback::new(&recording, allowed).is_ok());
}

#[test]
fn with_a_pace_it_waits_as_long_as_it_took() {
    let options = PlaybackOptions { pace: Some(2.0), ..PlaybackOptions::default() };
    let mut playback = Playback::new(&conversation(), options).unwrap();
    let steps = ask(&mut playback, "tools/call", r#"{"name":"fx__echo","arguments":{"text":"a"}}"#);
    assert_eq!(steps[0], Step::Wait(Duration::from_millis(2)));
}
