use expect_test::{Expect, expect};
use manifold_protocol::CodeSet;

use super::*;
use crate::fake::raw;

const TOOL: &str = r#"{"name":"search","inputSchema":{"type":"object",
    "properties":{"query":{"type":"string"},"limit":{"type":"integer","minimum":1},
        "filter":{"type":"object","properties":{"tags":{"type":"array","items":{"type":"string"}}}}},
    "required":["query","limit"]}}"#;

#[track_caller]
fn check(validate: ValidateArguments, tool: &str, arguments: Option<&str>, expected: Expect) {
    let params = arguments.map(|arguments| raw(&format!(r#"{{"arguments":{arguments}}}"#)));
    let checked =
        Arguments::of(validate, raw(tool).get("inputSchema").as_ref()).check("s__search", params.as_ref());
    expected.assert_eq(&match checked {
        Ok(()) => "fine".to_owned(),
        Err(fault) => fault.to_error(CodeSet::Own).as_str().to_owned(),
    });
}

// F7, M12: half of a surrogate pair is judged as a character like any other.
#[test]
fn what_is_no_text_is_judged_all_the_same() {
    let full = ValidateArguments::Full;
    check(full, TOOL, Some(r#"{"query":"\ud83d","limit":1}"#), expect!["fine"]);
    let odd = r#"{"inputSchema":{"type":"object","description":"\udc00","properties":{"a":{"type":"string","maxLength":1}}}}"#;
    check(full, odd, Some(r#"{"a":"\ud83d"}"#), expect!["fine"]);
    check(
        full,
        odd,
        Some(r#"{"a":"\ud83dx"}"#),
        expect![[
            r#"{"code":-32602,"message":"Invalid params: 'a' of 's__search': \"�x\" is longer than 1 character","data":{"parameter":"a","field":"a","issue":"\"�x\" is longer than 1 character","toolName":"s__search"}}"#
        ]],
    );
}

#[test]
fn off_leaves_everything_to_the_server() {
    check(ValidateArguments::Off, TOOL, None, expect!["fine"]);
    check(ValidateArguments::Off, TOOL, Some("[1]"), expect!["fine"]);
}

// S3-12, decision 13
#[test]
fn a_missing_required_argument_is_named() {
    let required = ValidateArguments::Required;
    check(
        required,
        TOOL,
        Some(r#"{"limit":1}"#),
        expect![[
            r#"{"code":-32602,"message":"Invalid params: Missing required parameter 'query'","data":{"parameter":"query","field":"query","issue":"Required field missing"}}"#
        ]],
    );
    check(
        required,
        TOOL,
        Some(r#"{"query":"x"}"#),
        expect![[
            r#"{"code":-32602,"message":"Invalid params: Missing required parameter 'limit'","data":{"parameter":"limit","field":"limit","issue":"Required field missing"}}"#
        ]],
    );
    check(
        required,
        TOOL,
        None,
        expect![[
            r#"{"code":-32602,"message":"Invalid params: Missing required parameter 'query'","data":{"parameter":"query","field":"query","issue":"Required field missing"}}"#
        ]],
    );
    check(
        required,
        TOOL,
        Some("null"),
        expect![[
            r#"{"code":-32602,"message":"Invalid params: Missing required parameter 'query'","data":{"parameter":"query","field":"query","issue":"Required field missing"}}"#
        ]],
    );
    check(
        required,
        TOOL,
        Some(r#"["query","limit"]"#),
        expect![[
            r#"{"code":-32602,"message":"Invalid params: Missing required parameter 'query'","data":{"parameter":"query","field":"query","issue":"Required field missing"}}"#
        ]],
    );
    check(
        required,
        TOOL,
        Some(r#"{"nested":{"query":1,"limit":1}}"#),
        expect![[
            r#"{"code":-32602,"message":"Invalid params: Missing required parameter 'query'","data":{"parameter":"query","field":"query","issue":"Required field missing"}}"#
        ]],
    );
}

#[test]
fn required_looks_at_names_only() {
    let required = ValidateArguments::Required;
    check(required, TOOL, Some(r#"{"query":null,"limit":"many"}"#), expect!["fine"]);
    check(required, TOOL, Some(r#"{"limit":0,"\u0071uery":1}"#), expect!["fine"]);
    check(required, r#"{"name":"x"}"#, None, expect!["fine"]);
    check(required, r#"{"name":"x","inputSchema":{"required":"query"}}"#, None, expect!["fine"]);
    check(required, r#"{"name":"x","inputSchema":{"required":[1,null]}}"#, None, expect!["fine"]);
}

#[test]
fn full_checks_the_schema() {
    let full = ValidateArguments::Full;
    check(full, TOOL, Some(r#"{"query":"x","limit":3,"filter":{"tags":["a"]},"more":1}"#), expect!["fine"]);
    check(
        full,
        TOOL,
        Some(r#"{"query":"x"}"#),
        expect![[
            r#"{"code":-32602,"message":"Invalid params: Missing required parameter 'limit'","data":{"parameter":"limit","field":"limit","issue":"Required field missing"}}"#
        ]],
    );
    check(
        full,
        TOOL,
        Some(r#"{"query":"x","limit":"3"}"#),
        expect![[
            r#"{"code":-32602,"message":"Invalid params: 'limit' of 's__search': \"3\" is not of type \"integer\"","data":{"parameter":"limit","field":"limit","issue":"\"3\" is not of type \"integer\"","toolName":"s__search"}}"#
        ]],
    );
    check(
        full,
        TOOL,
        Some(r#"{"query":"x","limit":3,"filter":{"tags":["a",2]}}"#),
        expect![[
            r#"{"code":-32602,"message":"Invalid params: 'filter.tags.1' of 's__search': 2 is not of type \"string\"","data":{"parameter":"filter.tags.1","field":"filter.tags.1","issue":"2 is not of type \"string\"","toolName":"s__search"}}"#
        ]],
    );
    check(
        full,
        r#"{"name":"x","inputSchema":{"type":"object"}}"#,
        Some("[]"),
        expect![[
            r#"{"code":-32602,"message":"Invalid params: arguments of 's__search': [] is not of type \"object\"","data":{"parameter":"","field":"","issue":"[] is not of type \"object\"","toolName":"s__search"}}"#
        ]],
    );
    check(full, r#"{"name":"x","inputSchema":{"type":"object"}}"#, None, expect!["fine"]);
}

// T34: nothing is ever fetched, and a schema that is wrong is the server's own affair.
#[test]
fn a_schema_that_cannot_be_used_is_left_to_the_server() {
    let full = ValidateArguments::Full;
    check(full, r#"{"name":"x","inputSchema":{"type":"no such type"}}"#, Some("{}"), expect!["fine"]);
    let elsewhere = r#"{"name":"x","inputSchema":{"$ref":"https://example.com/schema.json"}}"#;
    check(full, elsewhere, Some("{}"), expect!["fine"]);
}
