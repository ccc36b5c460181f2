use super::headers::{Mirror, decode, encode, mirrors};
use super::listen::{Filter, tag, tag_of, untag};
use super::rounds::{InputRequired, take_return, with_answers};
use super::*;
use crate::model::Kind as ListKind;

fn raw(text: &str) -> Raw {
    Raw::parse(text.to_owned()).unwrap()
}

const META: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}}"#;

#[test]
fn who_asks_is_read_and_taken_off_and_put_on_again() {
    let params = raw(&format!(r#"{{ "name":"a", "_meta":{{{META},"traceparent":"00-1"}}, "x":1 }}"#));
    let (left, caller) = open(Some(params)).unwrap();
    let left = left.unwrap();
    assert_eq!(left.as_str(), r#"{ "name":"a", "_meta":{"traceparent":"00-1"}, "x":1 }"#);
    assert_eq!(caller.capabilities.as_str(), r#"{"roots":{}}"#);
    assert!(caller.retries && !caller.is_retry && caller.info.is_none());

    let sealed = seal(Some(left), &caller);
    assert_eq!(version_of(Some(&sealed)).unwrap().to_text().unwrap(), REVISION);
    assert!(open(Some(sealed)).is_ok());
}

#[test]
fn what_every_request_must_say_is_insisted_on() {
    for (meta, code) in [
        ("", -32602),
        (r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#, -32602),
        (r#""io.modelcontextprotocol/clientCapabilities":{}"#, -32602),
        (
            r#""io.modelcontextprotocol/protocolVersion":7,"io.modelcontextprotocol/clientCapabilities":{}"#,
            -32602,
        ),
        (
            r#""io.modelcontextprotocol/protocolVersion":"2099-01-01","io.modelcontextprotocol/clientCapabilities":{}"#,
            -32022,
        ),
    ] {
        let fault = open(Some(raw(&format!(r#"{{"_meta":{{{meta}}}}}"#)))).unwrap_err();
        assert_eq!(fault.code(crate::fault::CodeSet::Modern), code, "{meta}");
    }
    assert!(open(None).is_err());
}

#[test]
fn results_without_marks_get_them_and_marked_ones_keep_their_bytes() {
    let info = raw(r#"{"name":"manifold","version":"1"}"#);
    let bare = Answer::from(raw(r#"{ "content":[] }"#));
    let written = result(&bare, &Method::ToolsCall, &info);
    assert_eq!(
        written.as_str(),
        r#"{ "content":[],"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"manifold","version":"1"}} }"#
    );
    let read = result(&Answer::from(raw(r#"{"contents":[]}"#)), &Method::ResourcesRead, &info);
    assert_eq!(freshness_of(&read.object().unwrap()), Freshness::default());
    assert!(read.get("ttlMs").is_some() && read.get("cacheScope").is_some());

    let marked = raw(r#"{ "resultType":"complete" , "content":[]}"#);
    let answer = Answer::marked(marked.clone(), Mark::Complete);
    assert_eq!(result(&answer, &Method::ToolsCall, &info), marked);
    assert_eq!(answer.plain().as_str(), r#"{  "content":[]}"#.replacen("  ", " ", 1));
}

#[test]
fn lists_get_head_and_tail() {
    let freshness = Freshness { ttl_ms: 7, scope: Scope::Public };
    let list = List { kind: ListKind::Tools, items: raw("[1]"), strict_items: raw("[2]"), freshness };
    let answer = Answer::List(list.into());
    let written = result(&answer, &Method::ToolsList, &raw("{}"));
    assert_eq!(written.get("tools").unwrap().as_str(), "[1]");
    assert_eq!(freshness_of(&written.object().unwrap()), freshness);
    assert_eq!(answer.plain().as_str(), r#"{"tools":[2]}"#);
}

#[test]
fn older_clients_see_no_marks_and_no_content_they_cannot_read() {
    let body = raw(
        r#"{"resultType":"complete","content":[{"type":"text","text":"a"},{"type":"video","v":1}],"structuredContent":[1],"_meta":{"io.modelcontextprotocol/serverInfo":{},"k":2}}"#,
    );
    assert_eq!(
        Answer::marked(body, Mark::Complete).plain().as_str(),
        r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"{\"type\":\"video\",\"v\":1}"}],"structuredContent":{"result":[1]},"_meta":{"k":2}}"#
    );
    // A server of their own revisions may say what it likes, unless its schema promised something odd.
    let own = raw(r#"{"content":[{"type":"video"}],"structuredContent":[1]}"#);
    assert_eq!(Answer::from(own.clone()).plain(), own);
    assert_eq!(
        Answer::from(own).allow_any_structured().plain().as_str(),
        r#"{"content":[{"type":"video"}],"structuredContent":{"result":[1]}}"#
    );
}

#[test]
fn an_output_that_is_no_object_is_wrapped_for_older_clients() {
    use crate::dialect::legacy;
    let odd = raw(
        r##"{"name":"t","outputSchema":{"type":"array","items":{"$ref":"#/$defs/a"},"$defs":{"a":{}}}}"##,
    );
    assert_eq!(
        legacy::tool(&odd).unwrap().as_str(),
        r##"{"name":"t","outputSchema":{"type":"object","$defs":{"a":{}},"properties":{"result":{"type":"array","items":{"$ref":"#/$defs/a"}}},"required":["result"]}}"##
    );
    let circular = raw(r##"{"name":"t","outputSchema":{"type":"array","items":{"$ref":"#"}}}"##);
    assert_eq!(legacy::tool(&circular).unwrap().as_str(), r#"{"name":"t"}"#);
    assert!(legacy::tool(&raw(r#"{"name":"t","outputSchema":{"type":"object"}}"#)).is_none());
    assert!(legacy::tool(&raw(r#"{"name":"t"}"#)).is_none());
}

#[test]
fn errors_cross_the_eras_with_codes_the_other_side_knows() {
    use crate::dialect::legacy;
    let gone = raw(r#"{"code":-32002,"message":"no","data":{"uri":"x"}}"#);
    assert_eq!(error(&gone).as_str(), r#"{"code":-32602,"message":"no","data":{"uri":"x"}}"#);
    for code in [-32042, -32020, -32022] {
        let ours = Raw::parse(format!(r#"{{"code":{code},"message":"no","data":1}}"#)).unwrap();
        assert_eq!(error(&ours).as_str(), r#"{"code":-32603,"message":"no","data":1}"#);
    }
    let needs = raw(r#"{"code":-32021,"message":"no"}"#);
    assert_eq!(error(&needs), needs);
    assert_eq!(legacy::error(&needs).as_str(), r#"{"code":-32603,"message":"no"}"#);
    let own = raw(r#"{ "code":-1 }"#);
    assert_eq!((error(&own), legacy::error(&own)), (own.clone(), own));
}

#[test]
fn rounds_are_read_written_and_answered() {
    let text = r#"{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"},"b":{"method":"elicitation/create","params":{"message":"?"}}},"requestState":"s"}"#;
    let round = InputRequired::read(&raw(text)).unwrap();
    assert_eq!(round.questions.len(), 2);
    assert_eq!(round.encode().as_str(), text);
    assert!(InputRequired::read(&raw(r#"{"resultType":"input_required"}"#)).is_none());
    assert!(InputRequired::read(&raw(r#"{"inputRequests":{"a":{}}}"#)).is_none());

    let call = raw(r#"{"name":"t","arguments":{"x": 1}}"#);
    let back = with_answers(Some(call.clone()), &[("a".into(), raw(r#"{"roots":[]}"#))], round.state);
    assert_eq!(
        back.as_str(),
        r#"{"name":"t","arguments":{"x": 1},"inputResponses":{"a":{"roots":[]}},"requestState":"s"}"#
    );
    let (left, brought) = take_return(Some(back));
    assert_eq!(left, Some(call));
    assert_eq!(brought.state.as_deref(), Some("s"));
    assert!(brought.answers.contains("a"));
}

#[test]
fn filters_and_tags() {
    let params = raw(
        r#"{"notifications":{"toolsListChanged":true,"promptsListChanged":false,"resourceSubscriptions":["a://b"]}}"#,
    );
    let filter = Filter::read(Some(&params)).unwrap();
    assert!(filter.tools && !filter.prompts && filter.uris == ["a://b"]);
    assert_eq!(
        filter.encode().as_str(),
        r#"{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a://b"]}}"#
    );
    assert!(Filter::read(None).is_none());

    let tagged = tag(Some(raw(r#"{"uri":"a"}"#)), raw(r#""7""#));
    assert_eq!(tag_of(Some(&tagged)), Some(raw(r#""7""#)));
    assert_eq!(untag(Some(tagged)).unwrap().as_str(), r#"{"uri":"a"}"#);
}

#[test]
fn header_values_survive_whatever_they_say() {
    for text in
        ["plain", "two words", "", " led", "trailed ", "zwölf", "a\tb", "=?base64?YQ==?=", "日本", "x\r\ny"]
    {
        let encoded = encode(text);
        assert!(encoded.bytes().all(|byte| matches!(byte, b' '..=b'~')), "{text}");
        assert_eq!(decode(encoded.as_bytes()).as_deref(), Some(text), "{encoded}");
    }
    assert_eq!(encode("plain"), "plain");
    assert_eq!(decode(b"=?base64?!!?="), None);
    assert_eq!(decode(b"\xff"), None);
}

#[test]
fn arguments_marked_for_headers_are_found_and_odd_ones_refused() {
    let schema = raw(
        r#"{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"at":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}}}}"#,
    );
    let found = mirrors(&schema).unwrap();
    assert_eq!(found.len(), 2);
    let arguments = raw(r#"{"region":"eu","at":{"n":4.0}}"#);
    let said: Vec<_> = found.iter().map(|one| (one.header_name(), one.value(Some(&arguments)))).collect();
    assert_eq!(said[0], ("mcp-param-region".to_owned(), Some("eu".to_owned())));
    assert_eq!(said[1], ("mcp-param-n".to_owned(), Some("4.0".to_owned())));
    for (said, argument, agrees) in [
        ("4", "4.0", true),
        ("4", "5", false),
        ("9007199254740993", "9007199254740992", false),
        ("a", r#""a""#, true),
        ("a", r#""A""#, false),
        ("4.0", r#""4""#, false),
        ("true", "true", true),
        ("1", "true", false),
    ] {
        assert_eq!(Mirror::agrees(said, &raw(argument)), agrees, "{said} {argument}");
    }

    for odd in [
        r#"{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}"#,
        r#"{"properties":{"a":{"type":"string","x-mcp-header":"A B"}}}"#,
        r#"{"properties":{"a":{"type":"string","x-mcp-header":""}}}"#,
        r#"{"properties":{"a":{"type":"string","x-mcp-header":"X"},"b":{"type":"string","x-mcp-header":"x"}}}"#,
        r#"{"properties":{"a":{"type":"array","items":{"type":"string","x-mcp-header":"X"}}}}"#,
        r#"{"oneOf":[{"properties":{"a":{"type":"string","x-mcp-header":"X"}}}]}"#,
    ] {
        assert!(mirrors(&raw(odd)).is_err(), "{odd}");
    }
    assert_eq!(mirrors(&raw(r#"{"type":"object"}"#)), Ok(Vec::new()));
}

#[test]
fn discovery_is_written_and_read() {
    let reply = DiscoverReply { instructions: Some("hi"), extensions: RawObject::default() }.encode();
    let facts = read_discover_result(&reply).unwrap();
    assert_eq!(facts.instructions.as_deref(), Some("hi"));
    assert!(facts.capabilities.get("extensions").unwrap().get(TASKS).is_some());
    assert!(read_discover_result(&raw(r#"{"supportedVersions":["2099-01-01"]}"#)).is_none());
    assert!(read_discover_result(&raw("{}")).is_none());
}

#[test]
fn a_progress_token_is_replaced_while_sealing() {
    let (_, caller) = open(Some(raw(&format!(r#"{{"_meta":{{{META}}}}}"#)))).unwrap();
    let params = raw(r#"{"_meta":{"progressToken":"t","x":1}}"#);
    let (sealed, token) = seal_numbered(Some(params), &caller, Some(7));
    assert_eq!(token.unwrap().as_str(), r#""t""#);
    assert_eq!(sealed.path(&["_meta", "progressToken"]).unwrap().as_str(), "7");
    assert_eq!(seal_numbered(None, &caller, Some(7)).1, None);
}

#[test]
fn only_the_want_of_tasks_can_be_met() {
    let tasks = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
    let error = |code: i32, required: &str| {
        raw(&format!(r#"{{"code":{code},"message":"m","data":{{"requiredCapabilities":{required}}}}}"#))
    };
    assert!(wants_only_tasks(&error(-32021, tasks)));
    assert!(!wants_only_tasks(&error(-32020, tasks)));
    assert!(!wants_only_tasks(&error(-32021, r#"{"sampling":{}}"#)));
    assert!(!wants_only_tasks(&error(
        -32021,
        r#"{"extensions":{"io.modelcontextprotocol/tasks":{},"x/y":{}}}"#
    )));
    assert!(!wants_only_tasks(&raw(r#"{"code":-32021,"message":"m"}"#)));

    assert_eq!(with_tasks(&raw("{}")).as_str(), tasks);
    let declared = with_tasks(&raw(r#"{"roots":{},"extensions":{"x/y":{}}}"#));
    assert_eq!(
        declared.as_str(),
        r#"{"roots":{},"extensions":{"x/y":{},"io.modelcontextprotocol/tasks":{}}}"#
    );
    assert!(declares_tasks(&declared) && !declares_tasks(&raw("{}")));
}

#[test]
fn marks_are_put_beside_what_is_there() {
    let caller = Caller {
        capabilities: raw(r#"{"roots":{}}"#),
        info: None,
        log_level: None,
        retries: false,
        is_retry: false,
        words: Default::default(),
    };
    let marks = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}}"#;
    let sealed = |params: Option<&'static str>| {
        let (sealed, token) = seal_numbered(params.map(raw), &caller, Some(7));
        (sealed.as_str().to_owned(), token.map(|token| token.as_str().to_owned()))
    };
    assert_eq!(sealed(None), (format!(r#"{{"_meta":{{{marks}}}}}"#), None));
    assert_eq!(sealed(Some("{ }")), (format!(r#"{{"_meta":{{{marks}}} }}"#), None));
    assert_eq!(sealed(Some(r#"{"a":"{}"}"#)), (format!(r#"{{"a":"{{}}","_meta":{{{marks}}}}}"#), None));
    let token = sealed(Some(r#"{"_meta":{"progressToken":"x"}}"#));
    assert_eq!(token, (format!(r#"{{"_meta":{{"progressToken":7,{marks}}}}}"#), Some("\"x\"".to_owned())));
    let escaped = sealed(Some(r#"{"\u005fmeta":{"k":1},"_metal":2}"#));
    assert_eq!(escaped.0, format!(r#"{{"\u005fmeta":{{"k":1,{marks}}},"_metal":2}}"#));
}
