//! S2-7 to S2-12 and S2-21: the seed's own clients and `curl` lines, unchanged.

use std::fs;
use std::process::Command;

use super::*;

/// Runs a `curl` line of the seed as it stands; only where port 3095 is comes from the sandbox's `.curlrc`.
fn curl(sandbox: &Sandbox, port: u16, line: &str) -> Value {
    let rc = format!("connect-to = \"localhost:3095:127.0.0.1:{port}\"\nsilent\nshow-error\nmax-time = 20\n");
    sandbox.write(".curlrc", &rc);
    let mut command = sandbox.command("bash");
    command.args(["-c", line]);
    let ran = run(command);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{line}");
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("no JSON: {}", ran.stdout))
}

// S2-7 to S2-12: the six `curl` lines of the seed, and the shapes it shows for their answers
#[test]
fn s2_7_to_12_the_curl_lines_of_the_seed() {
    let sandbox = Sandbox::new();
    let gateway = mcps_proxy(&sandbox, &schema(json!({"filesystem": filesystem(&sandbox)})));
    let text = fs::read_to_string(seed("curl.sh")).unwrap();
    let lines: Vec<&str> = text.split("\n\n").collect();
    assert_eq!(lines.len(), 6);
    let answers: Vec<Value> = lines.iter().map(|line| curl(&sandbox, gateway.port, line)).collect();
    let path = json!({"type": "string", "description": "文件路径"});
    let expected = [
        // S2-7
        json!({"tools": [{"name": "filesystem-read_file", "description": "读取文件内容",
            "inputSchema": {"type": "object", "properties": {"path": path}, "required": ["path"]}}]}),
        // S2-8: the arguments as `curl` sent them, spaces included
        json!({"content": [{"type": "text", "text": "{         \"path\": \"./package.json\"       }"}]}),
        // S2-9
        json!({"resources": [{"uri": "file://./README.md", "name": "README", "description": "项目说明文档", "mimeType": "text/markdown"}]}),
        // S2-10
        json!({"contents": [{"uri": "file://./README.md", "mimeType": "text/plain", "text": "contents of file://./README.md from filesystem"}]}),
        // S2-11
        json!({"prompts": [{"name": "code-review", "description": "代码审查提示",
            "arguments": [{"name": "language", "description": "编程语言", "required": true}]}]}),
        // S2-12
        json!({"messages": [{"role": "user", "content": {"type": "text",
            "text": r#"prompt code-review of filesystem with {"language":"typescript"}"#}}]}),
    ];
    for (at, (answer, result)) in answers.into_iter().zip(expected).enumerate() {
        assert_eq!(answer, json!({"jsonrpc": "2.0", "id": at + 1, "result": result}));
    }
    end_quietly(gateway.client);
}

/// Whether a program can be run here.
fn has(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

// S2-21: the JavaScript sample client, unchanged
#[test]
fn s2_21_the_seed_s_javascript_client() {
    assert!(has("node"), "this test needs node");
    let sandbox = Sandbox::new();
    let gateway = mcps_proxy(&sandbox, &schema(json!({"filesystem": filesystem(&sandbox)})));
    let mut command = sandbox.command("node");
    command.arg("--require").arg(seed("port.cjs")).arg(seed("client.js"));
    command.env("SEED_PORT", gateway.port.to_string());
    let ran = run(command);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        ran.stdout.contains("可用工具:") && ran.stdout.contains("'filesystem-read_file'"),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains(r#"文件内容: {"path":"./package.json"}"#), "{}", ran.stdout);
    end_quietly(gateway.client);
}

// S2-21: the Python sample client, unchanged
#[test]
fn s2_21_the_seed_s_python_client() {
    let sandbox = Sandbox::new();
    let gateway = mcps_proxy(&sandbox, &schema(json!({"filesystem": filesystem(&sandbox)})));
    let mut real = sandbox.command("python3");
    real.args(["-c", "import requests"]);
    let stubs = [Some(seed("stub")), (run(real).code == Some(0)).then(PathBuf::new)];
    for stub in stubs.into_iter().flatten() {
        let mut command = sandbox.command("python3");
        command.arg(seed("client.py")).env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONIOENCODING", "utf-8");
        command.env("PYTHONPATH", &stub);
        // A proxy is asked for the whole URL, port 3095 included, and here it is we who are asked.
        command.env("http_proxy", format!("http://127.0.0.1:{}", gateway.port));
        let ran = run(command);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(
            ran.stdout.contains("可用工具:") && ran.stdout.contains("'filesystem-read_file'"),
            "{}",
            ran.stdout
        );
        assert!(
            ran.stdout.contains(r#"文件内容: {"path": "./package.json"}"#)
                || ran.stdout.contains(r#"文件内容: {"path":"./package.json"}"#),
            "{}",
            ran.stdout
        );
    }
    end_quietly(gateway.client);
}

// S2-21: nothing is needed but a POST: no handshake, no session, no `Accept`, and the answer is plain
#[test]
fn s2_21_a_plain_post_gets_a_plain_answer() {
    let sandbox = Sandbox::new();
    let gateway = mcps_proxy(&sandbox, &schema(json!({"s": fake(json!({"tools": [{"name": "progress"}]}))})));
    let call = calling(
        1,
        "tools/call",
        json!({"name": "s-progress", "arguments": {"steps": 3}, "_meta": {"progressToken": 1}}),
    );
    for accept in [None, Some("*/*"), Some("text/event-stream"), Some("text/html")] {
        let headers: Vec<_> = accept.map(|accept| ("Accept", accept)).into_iter().collect();
        let answer = gateway.ask("POST", "/api/default/mcp", &headers, &call);
        assert_eq!(answer.header("content-type"), Some("application/json; charset=utf-8"));
        assert_eq!(answer.header("mcp-session-id"), None);
        assert_eq!(answer.json()["result"]["content"][0]["text"], "3 steps");
    }
    end_quietly(gateway.client);
}
