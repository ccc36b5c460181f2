use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use serde_json::{Value, json};

use super::{Shared, lock};

impl Shared {
    /// Carries a request out and returns the whole response; `tell` sends something else on the way.
    pub(super) fn run(&self, request: &Value, tell: &dyn Fn(&Value)) -> Value {
        let (id, params) = (&request["id"], &request["params"]);
        let result = match request["method"].as_str().unwrap_or_default() {
            "initialize" => Ok(json!({
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {"listChanged": true}, "logging": {}},
                "serverInfo": {"name": "http-fake", "version": "1.0.0"},
            })),
            "tools/list" => Ok(json!({"tools": *lock(&self.tools)})),
            "tools/call" => {
                lock(&self.ran).push(params.clone());
                self.call(id, params, tell)
            }
            "ping" | "logging/setLevel" => Ok(json!({})),
            method => Err(json!({"code": -32601, "message": format!("no {method} here")})),
        };
        match result {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
        }
    }

    fn call(&self, id: &Value, params: &Value, tell: &dyn Fn(&Value)) -> Result<Value, Value> {
        let arguments = &params["arguments"];
        let notify = |method: &str, params: Value| {
            tell(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
        };
        let number = |key: &str, default: u64| arguments[key].as_u64().unwrap_or(default);
        let said = match params["name"].as_str().unwrap_or_default() {
            "sleep" => {
                self.pause(id, Duration::from_millis(number("ms", 1000)));
                "slept".to_owned()
            }
            "progress" => {
                let steps = number("steps", 3);
                for step in 1..=steps {
                    let token = &params["_meta"]["progressToken"];
                    if !token.is_null() {
                        notify(
                            "notifications/progress",
                            json!({"progressToken": token, "progress": step, "total": steps}),
                        );
                    }
                    self.pause(id, Duration::from_millis(number("ms", 0)));
                }
                format!("{steps} steps")
            }
            "ask" => {
                let answer = self.ask(id, arguments, tell);
                if answer["error"].is_null() {
                    answer["result"].to_string()
                } else {
                    answer["error"].to_string()
                }
            }
            "log" => {
                notify("notifications/message", json!({"level": "info", "data": arguments["data"]}));
                "logged".to_owned()
            }
            "big" => "x".repeat(number("bytes", 1024) as usize),
            "addtool" => {
                lock(&self.tools).push(json!({"name": arguments["name"], "inputSchema": {"type": "object"}}));
                notify("notifications/tools/list_changed", json!({}));
                "added".to_owned()
            }
            "rpcerror" => return Err(arguments.clone()),
            _ => arguments["text"].as_str().map_or_else(|| arguments.to_string(), str::to_owned),
        };
        Ok(json!({"content": [{"type": "text", "text": said}]}))
    }

    /// Sleeps, unless the call is cancelled.
    fn pause(&self, id: &Value, time: Duration) {
        let id = id.to_string();
        crate::until(time, || lock(&self.cancelled).contains(&id));
    }

    fn ask(&self, id: &Value, arguments: &Value, tell: &dyn Fn(&Value)) -> Value {
        let question = self.next();
        let (sender, answers) = channel();
        lock(&self.questions).insert(question, sender);
        let method = &arguments["method"];
        tell(&json!({"jsonrpc": "2.0", "id": question, "method": method, "params": arguments["params"]}));
        loop {
            match answers.recv_timeout(Duration::from_millis(20)) {
                Ok(answer) => return answer,
                Err(RecvTimeoutError::Timeout) if !lock(&self.cancelled).contains(&id.to_string()) => {}
                Err(_) => return Value::Null,
            }
        }
    }
}
