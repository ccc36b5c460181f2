use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::*;

const MEMBERS: [&str; 12] = [
    r#""resultType":"complete""#,
    r#""content":[{"type":"text","text":"a \"b\" resultType"}]"#,
    r#""ttlMs" : 5"#,
    r#""isError":false"#,
    r#""cacheScope":"private""#,
    r#""structuredContent":{"resultType":1}"#,
    r#""_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"}}"#,
    r#""other":[1,{"ttlMs":2}]"#,
    r#""\u0072esultType":"complete""#,
    r#""content":[{"type":"hologram"},{"type":"text","text":""}]"#,
    r#""_meta":{"mine":1,"io.modelcontextprotocol/serverInfo":{}}"#,
    r#""_meta":{"mine":"serverInfo"}"#,
];

/// Some of the members, each name once, in any order and with any whitespace between them.
fn results() -> impl Strategy<Value = String> {
    let members = subsequence(&MEMBERS[..], 0..=MEMBERS.len()).prop_shuffle();
    let gaps = prop::collection::vec(select(vec!["", " ", "\n\t", "  "]), MEMBERS.len() * 2 + 2);
    (members, gaps).prop_map(|(members, gaps)| {
        let mut seen = Vec::new();
        let mut text = format!("{{{}", gaps[0]);
        for (at, member) in members.iter().enumerate() {
            let name = member.split('"').nth(1).unwrap().replace("\\u0072", "r");
            if seen.contains(&name) {
                continue;
            }
            let comma = if seen.is_empty() { "" } else { "," };
            text += &format!("{comma}{}{member}{}", gaps[at * 2 + 1], gaps[at * 2 + 2]);
            seen.push(name);
        }
        text + "}"
    })
}

proptest! {
    #[test]
    fn the_short_way_leads_where_the_long_one_does(text in results()) {
        let body = Raw::parse(text).unwrap();
        let long = edited(&body, Mark::Complete, false).unwrap().into_raw();
        if let Some(cuts) = without_marks(&body) {
            prop_assert_eq!(cuts.into_raw(), long.clone());
        }
        let answer = Answer::marked(body, Mark::Complete);
        prop_assert_eq!(result(&answer), long.clone());
        let (id, blank) = (Id::number(7), |raw: Raw| raw.as_str().replace(['\n', '\r'], " "));
        let message = super::answer(&id, &answer).into_bytes();
        prop_assert_eq!(message, format!(r#"{{"jsonrpc":"2.0","id":7,"result":{}}}"#, blank(long)));
    }
}

#[test]
fn the_short_way_is_taken_where_only_marks_go() {
    let takes = |text: &'static str| without_marks(&Raw::from_static(text)).is_some();
    assert!(takes(r#"{"content":[{"type":"text","text":"x"}],"resultType":"complete","isError":false}"#));
    assert!(takes(r#"{"_meta":{"io.modelcontextprotocol/serverInfo":{}},"structuredContent":{}}"#));
    assert!(!takes(r#"{"content":[{"text":"x","type":"text"}]}"#));
    assert!(!takes(r#"{"structuredContent":[]}"#));
}
