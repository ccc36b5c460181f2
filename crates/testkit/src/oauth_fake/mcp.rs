//! The protected server: two tools, for whoever shows a token.

use serde_json::{Value, json};

use super::http::{Answer, Request};
use super::{Misbehaviour, OAuthFake};

impl OAuthFake {
    pub(super) fn mcp(&self, request: &Request) -> Answer {
        if request.method == "DELETE" {
            return Answer::status(200);
        }
        let token =
            request.header("authorization").and_then(|value| value.strip_prefix("Bearer ")).unwrap_or("");
        let mut state = self.state();
        let is_open = state.misbehaviour == Some(Misbehaviour::Open);
        let anybody = is_open.then(|| ("anybody".to_owned(), String::new()));
        let Some((user, scope)) = state.access.get(token).cloned().or(anybody) else {
            state.note("unauthorized");
            return self.challenge(401, "mcp:basic", "");
        };
        let message: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let method = message["method"].as_str().unwrap_or_default();
        if method == "tools/call" {
            state.note("call");
            if state.misbehaviour == Some(Misbehaviour::WantsScope) && !scope.contains("mcp:write") {
                return self.challenge(403, "mcp:write", "error=\"insufficient_scope\", ");
            }
        }
        drop(state);
        if request.method != "POST" {
            return Answer::status(405);
        }
        let Some(id) = message.get("id") else { return Answer::status(202) };
        let result = match method {
            "initialize" => json!({
                "protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": true}},
                "serverInfo": {"name": "protected", "version": "1"},
            }),
            "tools/list" => json!({"tools": [
                {"name": "whoami", "inputSchema": {"type": "object"}},
                {"name": "echo", "inputSchema": {"type": "object"}},
            ]}),
            "tools/call" => {
                let text = match message["params"]["name"].as_str() {
                    Some("whoami") => user,
                    _ => message["params"]["arguments"]["text"].as_str().unwrap_or_default().to_owned(),
                };
                json!({"content": [{"type": "text", "text": text}]})
            }
            "ping" => json!({}),
            _ => {
                let error = json!({"code": -32601, "message": "no such method"});
                return Answer::json(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
            }
        };
        Answer::json(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
    }

    fn challenge(&self, status: u16, scope: &str, error: &str) -> Answer {
        let metadata = format!("{}/.well-known/oauth-protected-resource/mcp", self.issuer());
        let challenge = format!("Bearer {error}resource_metadata=\"{metadata}\", scope=\"{scope}\"");
        Answer { headers: vec![("WWW-Authenticate".to_owned(), challenge)], ..Answer::status(status) }
    }
}
