use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use super::{Shared, lock};
use crate::modern::{self, Round, Speech};

const NAME: &str = "http-fake";

/// How a call is carried out, and the way back to its caller.
pub(super) struct Line<'l> {
    pub(super) speech: Speech,
    pub(super) tell: &'l dyn Fn(&Value),
    /// Tells whether the caller has closed the stream.
    pub(super) is_gone: &'l dyn Fn() -> bool,
}

impl<'l> Line<'l> {
    pub(super) fn to(speech: Speech, tell: &'l dyn Fn(&Value)) -> Self {
        Self { speech, tell, is_gone: &|| false }
    }
}

impl Shared {
    /// Carries a request out and returns the whole response.
    pub(super) fn run(&self, request: &Value, line: &Line) -> Value {
        let (id, params) = (&request["id"], &request["params"]);
        let method = request["method"].as_str().unwrap_or_default();
        let result = match (method, line.speech) {
            ("initialize", Speech::Legacy) => Ok(json!({
                "protocolVersion": params["protocolVersion"],
                "capabilities": self.capabilities(),
                "serverInfo": {"name": NAME, "version": "1.0.0"},
            })),
            ("server/discover", Speech::Modern) => {
                Ok(modern::discovered(self.era, self.capabilities(), None))
            }
            ("tools/list", _) => Ok(json!({"tools": *lock(&self.tools)})),
            ("tools/call", _) => {
                lock(&self.ran).push(params.clone());
                self.call(id, params, line)
            }
            ("ping" | "logging/setLevel", Speech::Legacy) => Ok(json!({})),
            _ if self.has_library.load(Ordering::SeqCst) => self.look_up(method, params, line.speech),
            _ => Err(unknown(method)),
        };
        match (result, line.speech) {
            (Ok(result), Speech::Legacy) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            (Ok(result), Speech::Modern) => {
                let is_marked = !result["resultType"].is_null();
                let text = result.to_string();
                let text = if is_marked { text } else { modern::complete(method, &text, NAME) };
                let result: Value = serde_json::from_str(&text).unwrap_or_default();
                json!({"jsonrpc": "2.0", "id": id, "result": result})
            }
            (Err(error), _) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
        }
    }

    fn capabilities(&self) -> Value {
        let mut capabilities = json!({"tools": {"listChanged": true}, "logging": {}});
        if self.has_library.load(Ordering::SeqCst) {
            capabilities["resources"] = json!({"subscribe": true, "listChanged": true});
            capabilities["prompts"] = json!({"listChanged": true});
            capabilities["completions"] = json!({});
        }
        capabilities
    }

    fn look_up(&self, method: &str, params: &Value, speech: Speech) -> Result<Value, Value> {
        let uri = params["uri"].as_str().unwrap_or_default();
        Ok(match (method, speech) {
            ("resources/list", _) => json!({"resources": [{"uri": "a://1", "name": "one"}]}),
            ("resources/templates/list", _) => {
                json!({"resourceTemplates": [{"uriTemplate": "b://{id}", "name": "b"}]})
            }
            ("prompts/list", _) => json!({"prompts": [{"name": "p", "arguments": [{"name": "x"}]}]}),
            ("resources/subscribe" | "resources/unsubscribe", Speech::Legacy) => json!({}),
            ("resources/read", _) if uri == "a://1" || uri.starts_with("b://") => {
                json!({"contents": [{"uri": uri, "text": format!("contents of {uri} from {NAME}")}]})
            }
            ("resources/read", _) => {
                let code = if speech == Speech::Legacy { -32002 } else { -32602 };
                return Err(json!({"code": code, "message": "Resource not found", "data": {"uri": uri}}));
            }
            ("prompts/get", _) if params["name"] == "p" => {
                let text = format!("prompt p of {NAME} with {}", params["arguments"]);
                json!({"messages": [{"role": "user", "content": {"type": "text", "text": text}}]})
            }
            ("prompts/get", _) => return Err(json!({"code": -32602, "message": "Prompt not found"})),
            ("completion/complete", _) => {
                let start = params["argument"]["value"].as_str().unwrap_or_default();
                json!({"completion": {"values": [format!("{start}-a"), format!("{start}-b")]}})
            }
            _ => return Err(unknown(method)),
        })
    }

    fn call(&self, id: &Value, params: &Value, line: &Line) -> Result<Value, Value> {
        let arguments = &params["arguments"];
        let notify = |method: &str, params: Value| {
            (line.tell)(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
        };
        let number = |key: &str, default: u64| arguments[key].as_u64().unwrap_or(default);
        let said = match params["name"].as_str().unwrap_or_default() {
            "sleep" => {
                self.pause(id, params, line, Duration::from_millis(number("ms", 1000)));
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
                    self.pause(id, params, line, Duration::from_millis(number("ms", 0)));
                }
                format!("{steps} steps")
            }
            "ask" if line.speech == Speech::Modern => {
                let raw = to_raw_value(params).expect("a value can be written");
                match modern::ask(&raw) {
                    Round::Asks(round) => return Ok(round),
                    Round::Answered(answer) => answer,
                    Round::Refused(error) => return Err(error),
                }
            }
            "ask" => {
                let answer = self.ask(id, arguments, line.tell);
                if answer["error"].is_null() {
                    answer["result"].to_string()
                } else {
                    answer["error"].to_string()
                }
            }
            "log" if line.speech == Speech::Modern && !modern::wants_log(params, "info") => {
                "not logged".to_owned()
            }
            "log" => {
                notify("notifications/message", json!({"level": "info", "data": arguments["data"]}));
                "logged".to_owned()
            }
            "big" => "x".repeat(number("bytes", 1024) as usize),
            "addtool" => {
                lock(&self.tools).push(json!({"name": arguments["name"], "inputSchema": {"type": "object"}}));
                self.tell_change("notifications/tools/list_changed", json!({}), line);
                "added".to_owned()
            }
            "update" => {
                let params = json!({"uri": arguments["uri"]});
                self.tell_change("notifications/resources/updated", params, line);
                "updated".to_owned()
            }
            "fail" => {
                let text = arguments["text"].as_str().unwrap_or("failed");
                return Ok(json!({"content": [{"type": "text", "text": text}], "isError": true}));
            }
            "rpcerror" => return Err(arguments.clone()),
            _ => arguments["text"].as_str().map_or_else(|| arguments.to_string(), str::to_owned),
        };
        Ok(json!({"content": [{"type": "text", "text": said}]}))
    }

    /// Tells of a change: the caller if it is in a session, and those who asked to hear of it.
    fn tell_change(&self, method: &str, params: Value, line: &Line) {
        self.tell_listeners(method, &params);
        if line.speech == Speech::Legacy {
            (line.tell)(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
        }
    }

    /// Sleeps, unless the call is cancelled, in the way of its era.
    fn pause(&self, id: &Value, params: &Value, line: &Line, time: Duration) {
        let id = id.to_string();
        crate::until(time, || {
            let is_gone = (line.is_gone)();
            if is_gone {
                lock(&self.hung_up).push(params.clone());
            }
            is_gone || lock(&self.cancelled).contains(&id)
        });
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

fn unknown(method: &str) -> Value {
    json!({"code": -32601, "message": format!("no {method} here")})
}
