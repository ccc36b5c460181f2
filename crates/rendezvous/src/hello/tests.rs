#![allow(clippy::unwrap_used, reason = "this is a test")]

use super::*;

fn hello() -> Hello {
    Hello {
        words: [1, 1],
        version: "0.1.0".to_owned(),
        identity: Identity { config: "/c.json".to_owned(), profile: "manifold".to_owned() },
        namespace: None,
        eager: false,
        transport: Transport::Mcp,
        tool: None,
        cwd: "/work".to_owned(),
        pid: 7,
        sandbox: SandboxMarks::default(),
        resume: None,
    }
}

/// The words are for ever: an old shim must be understood by a new daemon, and the other way round (A11).
#[test]
fn the_line_stays_as_it_is() {
    let line = String::from_utf8(hello().to_line()).unwrap();
    let expected = concat!(
        r#"MANIFOLD 1 {"words":[1,1],"version":"0.1.0","config":"/c.json","profile":"manifold","eager":false,"#,
        r#""transport":"mcp","cwd":"/work","pid":7,"sandbox":{"noNewPrivileges":false,"seccomp":0,"#,
        r#""userNamespace":0,"pidNamespace":0}}"#,
        "\n"
    );
    assert_eq!(line, expected);
    assert_eq!(Hello::from_line(line.trim_end().as_bytes()).unwrap(), hello());
}

#[test]
fn what_is_missing_or_new_does_no_harm() {
    let older = r#"MANIFOLD 1 {"version":"0","config":"c","profile":"p","cwd":"/","pid":1}"#;
    assert_eq!(Hello::from_line(older.as_bytes()).unwrap().words, [1, 1]);
    let newer = r#"MANIFOLD 2 {"words":[1,2],"version":"9","config":"c","profile":"p","cwd":"/","pid":1,"mood":"fine"}"#;
    assert_eq!(Hello::from_line(newer.as_bytes()).unwrap().version, "9");
    let refused = r#"{"refused":{"code":"somethingNew","message":"no","more":1}}"#;
    let Answer::Refused(refused) = Answer::from_line(refused.as_bytes()).unwrap() else { panic!() };
    assert_eq!(refused.code, RefusalCode::Other);
    let going = Answer::from_line(br#"{"going":{"retryMs":20}}"#).unwrap();
    assert_eq!(going.to_line(), b"{\"going\":{}}\n");
}

#[test]
fn what_is_no_hello_is_refused() {
    for line in ["", "GET / HTTP/1.1", "MANIFOLD", "MANIFOLD x {}", "MANIFOLD 1 {}", "MANIFOLD 1 [1]"] {
        assert!(Hello::from_line(line.as_bytes()).is_err(), "{line}");
    }
}

#[test]
fn versions_meet_where_both_understand_one() {
    assert!(meet([1, 1], [1, 3]) && meet([2, 3], [1, 2]));
    assert!(!meet([1, 1], [2, 3]) && !meet([3, 4], [1, 2]));
}

#[test]
fn values_do_not_print() {
    let values = Values { values: BTreeMap::from([("TOKEN".to_owned(), "secret".to_owned())]) };
    assert_eq!(format!("{values:?}"), r#"["TOKEN"]"#);
}
