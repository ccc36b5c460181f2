use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

fn raw(text: &str) -> Raw {
    Raw::parse(text.to_owned()).unwrap()
}

fn check_edit(text: &str, edit: impl FnOnce(&mut RawObject), expected: Expect) {
    let mut object = raw(text).object().unwrap();
    edit(&mut object);
    let edited = object.into_raw();
    assert_eq!(scan::validate(edited.as_bytes()), Ok(()));
    expected.assert_eq(edited.as_str());
}

#[test]
fn setting_keeps_everything_else() {
    check_edit(
        "{ \"new\" : 1.0,\n  \"name\":\t\"fs__read\" , \"z\":[ ] }",
        |object| object.set("name", Raw::string("read")),
        expect![[r#"
            { "new" : 1.0,
              "name":	"read" , "z":[ ] }"#]],
    );
}

#[test]
fn setting_an_unknown_member_appends() {
    check_edit("{}", |object| object.set("a\"b", Raw::number(1)), expect![[r#"{"a\"b":1}"#]]);
    check_edit("{ }", |object| object.set("a", Raw::null()), expect![[r#"{"a":null }"#]]);
    check_edit(
        "{\n  \"a\": 1\n}",
        |object| object.set("b", Raw::boolean(true)),
        expect![[r#"
        {
          "a": 1,"b":true
        }"#]],
    );
}

#[test]
fn removing_takes_the_comma_along() {
    let text = r#"{ "a":1, "b":2 ,"c":3 }"#;
    check_edit(text, |object| object.remove("a"), expect![[r#"{ "b":2 ,"c":3 }"#]]);
    check_edit(text, |object| object.remove("b"), expect![[r#"{ "a":1 ,"c":3 }"#]]);
    check_edit(text, |object| object.remove("c"), expect![[r#"{ "a":1, "b":2 }"#]]);
    check_edit(text, |object| ["a", "b", "c"].iter().for_each(|key| object.remove(key)), expect!["{  }"]);
    check_edit(text, |object| object.remove("A"), expect![[r#"{ "a":1, "b":2 ,"c":3 }"#]]);
}

#[test]
fn editing_removed_and_added_members() {
    check_edit(
        r#"{"a":1}"#,
        |object| {
            object.remove("a");
            object.set("a", Raw::number(2));
            object.set("b", Raw::number(3));
            object.set("b", Raw::number(4));
            object.set("c", Raw::number(5));
            object.remove("b");
        },
        expect![[r#"{"a":2,"c":5}"#]],
    );
}

/// T9.
#[test]
fn keys_compare_decoded_and_none_is_left_behind() {
    let text = r#"{"n\u0061me":1,"name":2,"Name":3}"#;
    assert_eq!(raw(text).object().unwrap().duplicate().as_deref(), Some("name"));
    assert_eq!(raw(text).get("name"), Some(Raw::number(1)));
    check_edit(text, |object| object.set("name", Raw::null()), expect![[r#"{"n\u0061me":null,"Name":3}"#]]);
    check_edit(text, |object| object.remove("name"), expect![[r#"{"Name":3}"#]]);
}

#[test]
fn an_unedited_object_is_the_same_bytes() {
    let text = raw("{ \"a\" : [1] }");
    let back = text.object().unwrap().into_raw();
    assert_eq!(back.as_bytes().as_ptr(), text.as_bytes().as_ptr());
    assert_eq!(RawObject::new().into_raw().as_str(), "{}");
}

#[test]
fn reads_members() {
    let text = raw(r#" {"a":{"b":[1, "x\n", {}]},"c":true,"d":-1,"e":18446744073709551615} "#);
    let list = text.path(&["a", "b"]).unwrap();
    assert_eq!(format!("{:?}", list.elements().unwrap()), r#"[1, "x\n", {}]"#);
    assert_eq!(list.elements().unwrap()[1].to_text().as_deref(), Some("x\n"));
    assert_eq!(text.get("c").and_then(|raw| raw.bool()), Some(true));
    assert_eq!(text.get("d").and_then(|raw| raw.u64()), None);
    assert_eq!(text.get("e").and_then(|raw| raw.u64()), Some(u64::MAX));
    assert_eq!(text.path(&["a", "x", "y"]), None);
    assert_eq!(text.elements(), None);
    assert!(list.object().is_none());
    assert_eq!(raw("[]").elements(), Some(vec![]));
    let object = text.object().unwrap();
    assert_eq!(object.keys().collect::<Vec<_>>(), ["a", "c", "d", "e"]);
    assert!(object.contains("a") && !object.contains("b"));
}

/// F7, M12: a string with half of a surrogate pair is no text, and still differs from every other.
#[test]
fn half_a_surrogate_pair_is_no_text() {
    let odd =
        [r#""\ud83d""#, r#""\udc00""#, r#""a\ud83d\ud83d\ude00""#, r#""\ude00\ud83d""#, r#""\\\ud800""#];
    for text in odd.map(raw) {
        assert_eq!(text.to_text(), None, "{text}");
        assert!(text.to_lossy_text().unwrap().contains('\u{fffd}'), "{text}");
        assert_eq!(odd.iter().filter(|one| raw(one).to_decoded() == text.to_decoded()).count(), 1, "{text}");
        assert!(serde_json::from_slice::<serde_json::Value>(text.as_bytes()).is_err());
        assert!(serde_json::from_slice::<serde_json::Value>(&text.mended()).is_ok(), "{text}");
    }
    assert_eq!(raw(odd[2]).to_lossy_text().as_deref(), Some("a\u{fffd}\u{1f600}"));
    assert_eq!(raw(odd[0]).to_decoded().as_deref(), Some(&b"\xed\xa0\xbd"[..]));
    for fine in [r#""\ud83d\ude00""#, r#""\\ud83d""#, r#""\\\\ud83d\n""#, r#""\uFFFD""#] {
        assert!(raw(fine).to_text().is_some(), "{fine}");
        assert!(matches!(raw(fine).mended(), Cow::Borrowed(_)), "{fine}");
    }
    let object = raw(r#"{"\ud83d":1,"\udc00":2,"name":3}"#).object().unwrap();
    assert_eq!(object.duplicate(), None);
    assert_eq!(
        (object.get("name"), object.get("\u{fffd}"), object.get("")),
        (Some(Raw::number(3)), None, None)
    );
    check_edit(
        r#"{"\ud83d":"\udc00","name":"a"}"#,
        |object| object.set("name", Raw::string("b")),
        expect![[r#"{"\ud83d":"\udc00","name":"b"}"#]],
    );
}

#[test]
fn a_prefix_leaves_the_spelling_alone() {
    let prefixed = |text: &str| raw(text).prefixed("[\"é\"] ").as_str().to_owned();
    assert_eq!(prefixed(r#""a\u00e9\/\ud83d""#), r#""[\"é\"] a\u00e9\/\ud83d""#);
    assert_eq!((prefixed(r#""""#), prefixed("7")), (r#""[\"é\"] ""#.to_owned(), r#""[\"é\"] ""#.to_owned()));
}

#[test]
fn debug_is_short() {
    let text = format!("{:?}", Raw::string(&"é".repeat(10_000)));
    assert_eq!(text.chars().count(), 201);
}

/// T28: a list of millions is not unpacked.
#[test]
fn too_many_items_are_not_listed() {
    let list = raw(&format!("[{}1]", "1,".repeat(MAX_ITEMS)));
    assert_eq!(list.elements(), None);
    let object = raw(&format!("{{{}\"b\":1}}", "\"a\":1,".repeat(MAX_ITEMS)));
    assert!(object.object().is_none());
}

#[derive(Debug, Clone)]
enum Op {
    Set(String, u64),
    Remove(String),
}

fn any_op() -> impl Strategy<Value = Op> {
    prop_oneof![
        ("[abcdé\"]", any::<u64>()).prop_map(|(key, value)| Op::Set(key, value)),
        "[abcdé\"]".prop_map(Op::Remove),
    ]
}

proptest! {
    #[test]
    fn edits_equal_those_of_a_plain_map(
        members in prop::collection::vec(("[abcdé\"]", "[ \n]{0,2}", any::<u64>()), 0..6),
        ops in prop::collection::vec(any_op(), 0..8),
    ) {
        let mut plain: Vec<(String, u64)> = Vec::new();
        let mut text = Vec::new();
        for (key, blank, value) in members {
            if plain.iter().all(|(known, _)| *known != key) {
                text.push(format!("{blank}{}{blank}:{blank}{value}{blank}", Raw::string(&key)));
                plain.push((key, value));
            }
        }
        let mut object = raw(&format!("{{{}}}", text.join(","))).object().unwrap();
        for op in ops {
            match op {
                Op::Set(key, value) => {
                    object.set(&key, Raw::number(value));
                    match plain.iter_mut().find(|(known, _)| *known == key) {
                        Some(member) => member.1 = value,
                        None => plain.push((key, value)),
                    }
                }
                Op::Remove(key) => {
                    object.remove(&key);
                    plain.retain(|(known, _)| *known != key);
                }
            }
        }
        let listed = |object: &RawObject| -> Vec<_> {
            object.iter().map(|(key, value)| (key.into_owned(), value.u64().unwrap())).collect()
        };
        prop_assert_eq!(listed(&object), plain.clone());
        let written = Raw::parse(object.into_raw().bytes()).unwrap();
        prop_assert_eq!(listed(&written.object().unwrap()), plain);
    }

    #[test]
    fn text_survives(text in any::<String>()) {
        let quoted = Raw::string(&text);
        prop_assert_eq!(quoted.to_text().unwrap(), text.as_str());
    }
}
