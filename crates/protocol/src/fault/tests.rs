use expect_test::{Expect, expect};

use super::*;

fn text(text: &str) -> String {
    text.to_owned()
}

/// One of each.
fn faults() -> Vec<Fault> {
    let (server, tool, reason) = (|| text("s"), || text("t"), || text("why"));
    let exists = || vec![text("a"), text("b")];
    vec![
        Fault::Parse,
        Fault::InvalidRequest(reason()),
        Fault::UnknownMethod(text("x/y")),
        Fault::InvalidParams(reason()),
        Fault::MissingParameter(text("query")),
        Fault::ArgumentMismatch { tool: tool(), field: text("a.b"), issue: text("is wrong") },
        Fault::ArgumentMismatch { tool: tool(), field: String::new(), issue: text("is wrong") },
        Fault::UnknownTool(tool()),
        Fault::UnknownServer { server: server(), tool: tool() },
        Fault::UnknownToolOf { server: server(), tool: tool() },
        Fault::UnknownPrompt(text("p")),
        Fault::UnknownResource(text("x://y")),
        Fault::UnknownNamespace { requested: text("n"), exists: exists() },
        Fault::UnknownNamespace { requested: text("n"), exists: Vec::new() },
        Fault::NamespaceNotChosen { exists: exists() },
        Fault::FailedToStart { server: server(), reason: reason() },
        Fault::NotRunning { server: server(), reason: reason() },
        Fault::TimedOut { server: server(), tool: Some(tool()), after: Duration::from_millis(1500) },
        Fault::TimedOut { server: server(), tool: None, after: Duration::from_secs(2) },
        Fault::Died { server: server(), tool: Some(tool()), reason: reason() },
        Fault::Died { server: server(), tool: None, reason: reason() },
        Fault::TooLarge { server: Some(server()), limit_bytes: 10 },
        Fault::TooLarge { server: None, limit_bytes: 10 },
        Fault::Busy { server: server(), reason: reason() },
        Fault::OverLimit { what: text("things are open"), limit: 7, setting: "things" },
        Fault::Malformed { server: server(), reason: reason() },
        Fault::Authentication { server: server(), variable: text("Z_AI_API_KEY") },
        Fault::ClientCannot { what: text("sampling") },
        Fault::ShuttingDown,
        Fault::Internal(reason()),
    ]
}

fn name(fault: &Fault) -> String {
    format!("{fault:?}").chars().take_while(char::is_ascii_alphanumeric).collect()
}

// S1-55, S3-16, decisions 12, 14, 15: own, standard, modern.
#[test]
fn every_fault_has_its_code_in_every_set() {
    let mut table = String::new();
    for fault in faults() {
        let codes = [CodeSet::Own, CodeSet::Standard, CodeSet::Modern].map(|codes| fault.code(codes));
        table += &format!("{} {codes:?}\n", name(&fault));
    }
    expect![[r#"
        Parse [-32700, -32700, -32700]
        InvalidRequest [-32600, -32600, -32600]
        UnknownMethod [-32601, -32601, -32601]
        InvalidParams [-32602, -32602, -32602]
        MissingParameter [-32602, -32602, -32602]
        ArgumentMismatch [-32602, -32602, -32602]
        ArgumentMismatch [-32602, -32602, -32602]
        UnknownTool [-32601, -32601, -32602]
        UnknownServer [-32000, -32601, -32602]
        UnknownToolOf [-32601, -32601, -32602]
        UnknownPrompt [-32602, -32602, -32602]
        UnknownResource [-32002, -32002, -32602]
        UnknownNamespace [-32004, -32603, -32004]
        UnknownNamespace [-32004, -32603, -32004]
        NamespaceNotChosen [-32600, -32600, -32600]
        FailedToStart [-32001, -32603, -32001]
        NotRunning [-32003, -32603, -32003]
        TimedOut [-32002, -32603, -32603]
        TimedOut [-32603, -32603, -32603]
        Died [-32603, -32603, -32603]
        Died [-32603, -32603, -32603]
        TooLarge [-32603, -32603, -32603]
        TooLarge [-32600, -32600, -32600]
        Busy [-32603, -32603, -32603]
        OverLimit [-32603, -32603, -32603]
        Malformed [-32603, -32603, -32603]
        Authentication [-32603, -32603, -32603]
        ClientCannot [-32601, -32601, -32601]
        ShuttingDown [-32600, -32600, -32600]
        Internal [-32603, -32603, -32603]
    "#]]
    .assert_eq(&table);
}

#[test]
fn standard_codes_are_json_rpc_s_and_modern_ones_are_not_retired() {
    for fault in faults() {
        let standard = fault.code(CodeSet::Standard);
        // Decision 14, and MCP's own number up to 2025-11-25.
        let is_resource = matches!(fault, Fault::UnknownResource(_));
        assert!(matches!(standard, -32700 | -32603..=-32600) || is_resource, "{fault:?}: {standard}");
        assert_ne!(fault.code(CodeSet::Modern), -32002, "{fault:?}");
    }
}

#[track_caller]
fn check(fault: &Fault, expected: Expect) {
    let error = fault.to_error(CodeSet::Own);
    let error = error.as_str().split_once(',').map_or("", |(_, rest)| rest);
    expected.assert_eq(error);
}

// S1-56, S1-60, S3-10 to S3-13: what the user reads, and the facts a program can use.
#[test]
fn every_fault_says_what_and_whose_it_is() {
    let mut text = String::new();
    for fault in faults() {
        text += &fault.message();
        text += &fault.data().map_or(String::new(), |data| format!("\n    {data}"));
        text += "\n";
    }
    expect![[r#"
        Parse error: the message is not valid JSON
        Invalid request: why
        Method 'x/y' not found
        Invalid params: why
        Invalid params: Missing required parameter 'query'
            {"parameter":"query","field":"query","issue":"Required field missing"}
        Invalid params: 'a.b' of 't': is wrong
            {"parameter":"a.b","field":"a.b","issue":"is wrong","toolName":"t"}
        Invalid params: arguments of 't': is wrong
            {"parameter":"","field":"","issue":"is wrong","toolName":"t"}
        Tool 't' not found
        Server 's' not found: no configured server offers 't'
            {"serverId":"s","toolName":"t"}
        Tool 't' not found on server 's'
            {"serverId":"s","service":"s","toolName":"t"}
        Prompt 'p' not found
        Resource 'x://y' not found
            {"uri":"x://y"}
        Namespace 'n' not found; the config has: a, b
            {"namespaceId":"n","namespaces":["a","b"]}
        Namespace 'n' not found; the config has: none
            {"namespaceId":"n","namespaces":[]}
        Several namespaces are configured and none is selected; start with --namespace and one of: a, b
            {"namespaces":["a","b"]}
        Server 's' failed to start: why
            {"serverId":"s","service":"s","reason":"why"}
        Server 's' is not running: why
            {"serverId":"s","service":"s","reason":"why"}
        Tool 't' of server 's' did not answer within 1500 ms; raise the server's `timeout` if it needs longer
            {"serverId":"s","service":"s","toolName":"t","timeoutMs":1500}
        Server 's' did not answer within 2000 ms
            {"serverId":"s","service":"s","timeoutMs":2000}
        Server 's' went away during the call: why
            {"serverId":"s","service":"s","toolName":"t","reason":"why"}
        Server 's' went away during the call: why
            {"serverId":"s","service":"s","reason":"why"}
        The answer of server 's' is larger than 10 bytes (limits.messageBytes)
            {"serverId":"s","service":"s","limitBytes":10}
        Invalid request: the message is larger than 10 bytes (limits.requestBytes)
            {"limitBytes":10}
        Server 's' is busy: why
            {"serverId":"s","service":"s","reason":"why","retryable":true}
        Too many things are open: 7 at once are allowed (limits.things); try again in a moment
            {"setting":"limits.things","limit":7,"retryable":true}
        Server 's' sent an answer that is not a valid message: why
            {"serverId":"s","service":"s","reason":"why"}
        Authentication failed: Invalid or missing Z_AI_API_KEY
            {"service":"s"}
        The client does not support sampling
        Invalid request: the server is shutting down
        Internal error: why
    "#]]
    .assert_eq(&text);
}

#[test]
fn whatever_a_name_holds_the_error_is_json() {
    let odd = "a\"b\\c\n\u{1b}\u{2028}é";
    check(
        &Fault::UnknownToolOf { server: odd.to_owned(), tool: odd.to_owned() },
        expect![[
            r#""message":"Tool 'a\"b\\c\n\u001b é' not found on server 'a\"b\\c\n\u001b é'","data":{"serverId":"a\"b\\c\n\u001b é","service":"a\"b\\c\n\u001b é","toolName":"a\"b\\c\n\u001b é"}}"#
        ]],
    );
    for fault in faults() {
        let error = fault.to_error(CodeSet::Own);
        assert!(Raw::parse(error.bytes()).is_ok(), "{error}");
    }
}
