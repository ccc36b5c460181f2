use expect_test::{Expect, expect};

use super::*;

/// The messages of the seed, as it has them.
const GET: &str = r#"{
    "version": [1, 0, 0],
    "id": 1,
    "type": "get",
    "data": {}
}"#;
const CALL: &str = r#"{
    "version": [1, 0, 0],
    "id": 2,
    "type": "call",
    "data": {
        "version": [1, 0, 0],
        "tool": "Calculator",
        "arguments": [
          "2",
          "3"
        ]
    }
}"#;
const INFO: &str = r#"{
    "version": [1, 0, 0],
    "id": 1,
    "type": "info",
    "data": {
        "version": [1, 0, 0],
        "name": "Calculator",
        "description": "A simple calculator",
        "example": "Calculate the sum of 2 and 3",
        "parameters": [
          {
            "name": "a",
            "type": "number",
            "description": "The first number",
            "example": "2"
          },
          {
            "name": "b",
            "type": "number",
            "description": "The second number",
            "example": "3"
          }
        ]
    }
}"#;
const RESULT: &str = r#"{
    "version": [1, 0, 0],
    "id": 2,
    "type": "result",
    "data": {
        "version": [1, 0, 0],
        "params": {
          "a": "2",
          "b": "3"
        },
        "response": {
          "content": [
            {
              "type": "number",
              "data": "5"
            }
          ],
          "error": false
        }
    }
}"#;

fn raw(text: &str) -> Raw {
    Raw::parse(text.to_owned()).expect("a test writes JSON")
}

fn message(text: &str) -> Message {
    Message::parse(text.to_owned()).expect("a message")
}

fn data(text: &str) -> Raw {
    message(text).data.expect("data")
}

fn value(raw: &Raw) -> serde_json::Value {
    serde_json::from_slice(raw.as_bytes()).expect("JSON")
}

// S4-7
#[test]
fn the_seeds_messages_read_and_write_back() {
    for (text, word, id) in
        [(GET, Word::Get, 1), (INFO, Word::Info, 1), (CALL, Word::Call, 2), (RESULT, Word::Result, 2)]
    {
        let read = message(text);
        assert_eq!((read.word, read.id.clone()), (word, Id::number(id)));
        assert!(read.is_spoken());
        assert_eq!(value(&read.encode()), value(&raw(text)));
    }
}

// S4-8, S4-9
#[test]
fn the_seeds_data_reads_and_writes_back() {
    let tool = Tool::parse(&data(INFO)).expect("a tool");
    assert_eq!(tool.parameters.len(), 2);
    assert_eq!(value(&tool.encode()), value(&data(INFO)));
    let call = ToolCall::parse(&data(CALL)).expect("a call");
    assert_eq!(call.arguments, [raw(r#""2""#), raw(r#""3""#)]);
    assert_eq!(value(&call.encode()), value(&data(CALL)));
    let result = CallResult::parse(&data(RESULT)).expect("a result");
    assert_eq!(value(&result.encode()), value(&data(RESULT)));
}

// S4-8
#[test]
fn data_may_be_null_empty_or_absent() {
    for data in ["", r#","data":null"#, r#","data":{}"#] {
        let read = message(&format!(r#"{{"version":[1,0,0],"id":1,"type":"get"{data}}}"#));
        assert_eq!(read.word, Word::Get);
    }
}

#[test]
fn versions_are_tuples_or_objects_of_our_major() {
    let spoken =
        |version: &str| message(&format!(r#"{{"version":{version},"id":1,"type":"get"}}"#)).is_spoken();
    for version in ["[1,0,0]", "[1,9,3]", r#"{"major":1,"minor":2,"patch":0}"#, r#"{"major":1}"#] {
        assert!(spoken(version), "{version}");
    }
    for version in
        ["[2,0,0]", "[0,9,0]", "[1,0]", r#""1.0.0""#, "null", r#"{"major":2}"#, r#"{"minor":1}"#, "[-1,0,0]"]
    {
        assert!(!spoken(version), "{version}");
    }
    assert!(!message(r#"{"id":1,"type":"get"}"#).is_spoken());
}

#[test]
fn a_calls_own_version_counts_where_it_is_there() {
    let spoken = |text: &str| ToolCall::parse(&raw(text)).expect("a call").is_spoken;
    assert!(spoken(r#"{"tool":"a"}"#));
    assert!(spoken(r#"{"version":{"major":1},"tool":"a","arguments":null}"#));
    assert!(!spoken(r#"{"version":[2,0,0],"tool":"a"}"#));
}

#[test]
fn what_is_no_message_says_why() {
    let check = |text: &str, expected: Expect| {
        expected.assert_eq(&Message::parse(text.to_owned()).expect_err("no message").to_string());
    };
    check("{", expect!["the JSON ends too early"]);
    check("{a}", expect!["not JSON at byte 1"]);
    check("[1]", expect!["not a JSON object"]);
    check(r#"{"version":[1,0,0],"type":"get"}"#, expect!["`id` is not an integer"]);
    check(r#"{"id":1.5,"type":"get"}"#, expect!["`id` is not an integer"]);
    check(r#"{"id":"1","type":"get"}"#, expect!["`id` is not an integer"]);
    check(r#"{"id":1}"#, expect!["`type` is missing, not one of get, info, call and result"]);
    check(
        r#"{"id":1,"type":"list"}"#,
        expect![[r#"`type` is "list", not one of get, info, call and result"#]],
    );
}

// S4-10
#[test]
fn ids_are_whole_numbers_of_any_size() {
    for id in ["0", "-7", "123456789012345678901234567890"] {
        let read = message(&format!(r#"{{"version":[1,0,0],"id":{id},"type":"get"}}"#));
        assert_eq!(read.encode().get("id"), Some(raw(id)));
    }
}

/// Returns what a tool gets for strings.
fn converted(schema: &str, given: &[&str]) -> String {
    let given: Vec<Raw> = given.iter().map(|text| Raw::string(text)).collect();
    match Arguments::convert(&raw(schema), &given) {
        Ok(arguments) => arguments.values.to_string(),
        Err(error) => error.to_string(),
    }
}

// S4-9
#[test]
fn strings_become_values_in_the_order_of_the_properties() {
    let schema = r#"{"properties":{"z":{"type":"integer"},"a":{"type":"string"},"m":{"type":"boolean"},
        "o":{"type":"object"},"l":{"type":"array"},"n":{"type":"null"},"f":{"type":"number"}},"required":["z","a"]}"#;
    let all = ["7", "08", "true", r#"{"k": [1.0]}"#, "[1,\"2\"]", "null", " -1.50e3 "];
    expect![[r#"{"z":7,"a":"08","m":true,"o":{"k": [1.0]},"l":[1,"2"],"n":null,"f":-1.50e3}"#]]
        .assert_eq(&converted(schema, &all));
    expect![[r#"{"z":12345678901234567890123,"a":"true","m":false}"#]]
        .assert_eq(&converted(schema, &["12345678901234567890123", "true", "False"]));
}

#[test]
fn params_echo_the_strings_by_name() {
    let schema = raw(r#"{"properties":{"b":{"type":"number"},"a":{"type":"string"}},"required":["b","a"]}"#);
    let given = [Raw::string(" 2 "), Raw::string("\"\n")];
    let arguments = Arguments::convert(&schema, &given).expect("arguments");
    assert_eq!(arguments.params.as_str(), r#"{"b":" 2 ","a":"\"\n"}"#);
}

#[test]
fn a_type_may_be_one_of_several_or_elsewhere() {
    let schema = r##"{"properties":{"a":{"type":["string","null"]},"b":{"anyOf":[{"type":"integer"},{"type":"null"}]},
        "c":{"$ref":"#/$defs/C"},"d":{},"e":{"enum":[1,"x"]},"f":{"$ref":"#/properties/f"}},
        "$defs":{"C":{"type":"array"}}}"##;
    expect![[r#"{"a":"5","b":5,"c":[5],"d":5,"e":5,"f":5}"#]]
        .assert_eq(&converted(schema, &["5", "5", "[5]", "5", "5", "5"]));
    expect![[r#"{"a":null,"b":null,"c":[],"d":"five","e":"x","f":"{"}"#]]
        .assert_eq(&converted(schema, &["null", "null", "[]", "five", "x", "{"]));
    expect!["argument 'b' is not of type integer or null"].assert_eq(&converted(schema, &["", "x"]));
}

#[test]
fn wrong_counts_and_types_are_named() {
    let schema = r#"{"properties":{"a":{"type":"number"},"b":{"type":"number"},"c":{"type":"number"}},
        "required":["a","b"]}"#;
    expect!["only 1 arguments were given, and 'b' is required; the parameters are: a, b, c"]
        .assert_eq(&converted(schema, &["2"]));
    expect!["4 arguments were given, but there are 3 parameters: a, b, c"]
        .assert_eq(&converted(schema, &["2", "3", "4", "5"]));
    expect!["argument 'b' is not of type number"].assert_eq(&converted(schema, &["2", "three"]));
    expect![[r#"{"a":2,"b":3}"#]].assert_eq(&converted(schema, &["2", "3"]));
    expect![[r#"{"a":2,"b":3}"#]].assert_eq(&converted(schema, &["2", "3", ""]));
    expect!["1 arguments were given, but there are 0 parameters: "].assert_eq(&converted("{}", &["2"]));
}

#[test]
fn an_mcp_tool_becomes_a_tool() {
    let tool = raw(r#"{"name":"fs__read","title":"Read","inputSchema":{"type":"object","properties":{
        "path":{"type":"string","description":"Which file","examples":["/tmp/a"]},
        "mode":{"enum":["text","bytes"],"default":"text"},
        "lines":{"anyOf":[{"type":"integer"},{"type":"null"}],"default":null}},"required":["path"]}}"#);
    let tool = Tool::from_mcp(&tool).expect("a tool");
    expect![[r#"{"version":[1,0,0],"name":"fs__read","description":"Read","parameters":[{"name":"path","type":"string","description":"Which file","example":"/tmp/a"},{"name":"mode","type":"string","description":"(one of [\"text\",\"bytes\"]) (optional)","example":"text"},{"name":"lines","type":"integer or null","description":"(optional)"}]}"#]]
    .assert_eq(tool.encode().as_str());
}

#[test]
fn a_tool_becomes_an_mcp_tool_and_the_same_again() {
    let tool = Tool::parse(&data(INFO)).expect("a tool");
    let mut mcp = tool.to_mcp().object().expect("an object");
    let schema = mcp.get("inputSchema").expect("a schema");
    expect![[r#"{"type":"object","properties":{"a":{"type":"string","description":"The first number (type: number; example: 2)"},"b":{"type":"string","description":"The second number (type: number; example: 3)"}},"required":["a","b"]}"#]]
    .assert_eq(schema.as_str());
    expect![[r#""A simple calculator (example: Calculate the sum of 2 and 3)""#]]
        .assert_eq(mcp.get("description").expect("a description").as_str());
    mcp.set("name", Raw::string("calc__Calculator"));
    let again = Tool::from_mcp(&mcp.into_raw()).expect("a tool");
    assert_eq!(again, Tool { name: "calc__Calculator".to_owned(), ..tool });
}

#[test]
fn the_arguments_of_an_mcp_call_become_strings() {
    let tool = Tool::parse(&data(INFO)).expect("a tool");
    let call = |arguments: &str| ToolCall::positional(&tool, Some(&raw(arguments)));
    let made = call(r#"{"b":{"k": 1.0},"a":"2"}"#).expect("a call");
    assert_eq!(made.arguments, [raw(r#""2""#), raw(r#""{\"k\": 1.0}""#)]);
    assert_eq!(call(r#"{"a":"2"}"#), Err(ArgumentError::Missing("b".to_owned())));
}

/// Shows the items an MCP result becomes.
fn check_items(result: &str, expected: Expect) {
    let result = CallResult::from_mcp(raw("{}"), &raw(result));
    let items = result.content.iter().map(|item| format!("{}: {}\n", item.kind, item.data));
    expected.assert_eq(&items.chain([format!("error: {}\n", result.error)]).collect::<String>());
}

// S4-9
#[test]
fn every_kind_of_content_becomes_an_item() {
    check_items(
        r#"{"content":[{"type":"text","text":"a\u00e9\n"},
        {"type":"image","data":"aGk=","mimeType":"image/png"},
        {"type":"audio","data":"aGk=","mimeType":"audio/wav"},
        {"type":"resource","resource":{"uri":"file:///a","text":"hi"}},
        {"type":"resource_link","uri":"file:///a","name":"a"},
        {"type":"hologram","x":1}],
        "structuredContent":{"sum": 5.0}}"#,
        expect![[r#"
            text: "a\u00e9\n"
            image: "data:image/png;base64,aGk="
            audio: "data:audio/wav;base64,aGk="
            resource: "{\"uri\":\"file:///a\",\"text\":\"hi\"}"
            resource_link: "{\"type\":\"resource_link\",\"uri\":\"file:///a\",\"name\":\"a\"}"
            hologram: "{\"type\":\"hologram\",\"x\":1}"
            structured: "{\"sum\": 5.0}"
            error: false
        "#]],
    );
}

// S4-11
#[test]
fn a_failed_call_has_the_same_shape() {
    check_items(
        r#"{"content":[{"type":"text","text":"no"}],"isError":true}"#,
        expect![[r#"
            text: "no"
            error: true
        "#]],
    );
    expect![[r#"{"version":[1,0,0],"params":{},"response":{"content":[{"type":"text","data":"why"}],"error":true}}"#]]
        .assert_eq(CallResult::failure(None, "why").encode().as_str());
}

#[test]
fn the_type_of_an_item_survives_mcp() {
    let result = CallResult::parse(&data(RESULT)).expect("a result");
    let mcp = result.to_mcp();
    expect![[
        r#"{"content":[{"type":"text","text":"5","_meta":{"litemcp/type":"number"}}],"isError":false}"#
    ]]
    .assert_eq(mcp.as_str());
    assert_eq!(CallResult::from_mcp(result.params.clone(), &mcp), result);
}
