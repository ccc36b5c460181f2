use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::wire::{Cancel, Incoming, Reply};
use super::{Server, lists, lock, spy, wire};
use crate::modern::{self, Round, Speech};

#[derive(Deserialize)]
struct Call {
    name: String,
    arguments: Option<Box<RawValue>>,
    #[serde(rename = "_meta", default)]
    meta: Value,
}

/// Tells whether a request waits for something, and so needs a thread.
pub(super) fn blocks(method: &str, message: &Incoming) -> bool {
    let name = || message.params.as_ref().map(|params| lists::member(params, "name"));
    method == "tools/call" && name().is_some_and(|name| matches!(name.as_str(), "sleep" | "progress" | "ask"))
}

impl Server {
    /// Calls a built-in tool by its name; `None` means that nothing more is to be sent.
    pub(super) fn call_tool(
        &self,
        id: &str,
        message: &Incoming,
        cancel: &Arc<Cancel>,
        speech: Speech,
    ) -> Option<Reply> {
        let reply = self.run_tool(id, message, cancel, speech)?;
        let is_finished = match &reply {
            Reply::Result(result) => !result.contains(r#""resultType""#),
            Reply::Error(_) => true,
        };
        match speech {
            Speech::Modern if is_finished => Some(reply.completed("tools/call", &self.knobs.name)),
            _ => Some(reply),
        }
    }

    fn run_tool(&self, id: &str, message: &Incoming, cancel: &Arc<Cancel>, speech: Speech) -> Option<Reply> {
        let call = message.params.as_ref().and_then(|params| serde_json::from_str::<Call>(params.get()).ok());
        let Some(call) = call else { return Some(Reply::error(-32602, "Invalid params")) };
        if !lock(&self.tools).iter().any(|tool| tool_name(tool) == call.name) {
            return Some(Reply::error(-32602, &format!("Tool {} not found", call.name)));
        }
        let params = message.params_value();
        if let Some(path) = &self.knobs.runs {
            let is_retry = !params["requestState"].is_null() || !params["inputResponses"].is_null();
            let kind = if is_retry { "retry" } else { "run" };
            wire::append(path, &format!("{} {kind}\n", call.name));
        }
        let raw = call.arguments.as_ref().map_or("{}", |arguments| arguments.get());
        let args: Value = serde_json::from_str(raw).unwrap_or_default();
        let text = |key: &str| args[key].as_str().map(str::to_owned);
        let number = |key: &str, default: u64| args[key].as_u64().unwrap_or(default);
        Some(match call.name.as_str() {
            "sleep" => {
                cancel.sleep(Duration::from_millis(number("ms", 1000))).ok()?;
                Reply::text("slept")
            }
            "progress" => return self.progress(&call, &args, cancel),
            "ask" => match (speech, &message.params) {
                (Speech::Modern, Some(params)) => match modern::ask(params) {
                    Round::Asks(round) => Reply::Result(round.to_string()),
                    Round::Answered(answer) => Reply::text(&answer),
                    Round::Refused(error) => Reply::Error(error.to_string()),
                },
                _ => return self.ask(&call, &args, cancel),
            },
            "log" => {
                let level = text("level").unwrap_or_else(|| "info".to_owned());
                if speech == Speech::Modern && !modern::wants_log(&params, &level) {
                    return Some(Reply::text("not logged"));
                }
                let data = json!({
                    "level": level,
                    "logger": self.knobs.name,
                    "data": args["data"],
                });
                self.wire.notify("notifications/message", &data.to_string());
                Reply::text("logged")
            }
            "big" => Reply::text(&"x".repeat(number("bytes", 1024) as usize)),
            "fail" => Reply::failed(&text("text").unwrap_or_else(|| "failed".to_owned())),
            "rpcerror" => Reply::Error(rpc_error(&args)),
            "crash" => {
                wire::complain("crashing in a call");
                std::process::exit(7);
            }
            "pid" => Reply::text(&std::process::id().to_string()),
            "cwd" => Reply::text(&std::env::current_dir().unwrap_or_default().to_string_lossy()),
            "env" => match std::env::var(text("name").unwrap_or_default()) {
                Ok(value) => Reply::text(&value),
                Err(_) => Reply::failed("unset"),
            },
            "complain" => {
                wire::complain(&text("text").unwrap_or_default());
                Reply::text("complained")
            }
            "spy" => {
                let list = |key: &str| args[key].as_array().cloned().unwrap_or_default();
                let pids: Vec<u64> = list("pids").iter().filter_map(Value::as_u64).collect();
                let texts: Vec<String> =
                    list("texts").iter().filter_map(|text| Some(text.as_str()?.to_owned())).collect();
                Reply::text(&spy::spy(&pids, &texts).to_string())
            }
            "emit" => {
                self.emit(&args);
                Reply::text("emitted")
            }
            "addtool" => {
                let tool = if args["tool"].is_object() { args["tool"].to_string() } else { raw.to_owned() };
                lock(&self.tools).push(lists::listed_tool(&tool));
                self.tell("notifications/tools/list_changed", &json!({}));
                Reply::text("added")
            }
            "droptool" => {
                lock(&self.tools).retain(|tool| args["name"] != tool_name(tool));
                self.tell("notifications/tools/list_changed", &json!({}));
                Reply::text("dropped")
            }
            "update" => {
                self.tell("notifications/resources/updated", &json!({"uri": args["uri"]}));
                Reply::text("updated")
            }
            "endlisten" => {
                for listener in lock(&self.listeners).drain(..) {
                    self.wire.send(&listener.end().to_string());
                }
                Reply::text("ended")
            }
            "flood" => {
                let method = text("method").unwrap_or_else(|| "notifications/message".to_owned());
                for n in 0..number("n", 1000) {
                    let params = match args["params"] {
                        Value::Null => json!({"level": "info", "data": n}),
                        ref params => params.clone(),
                    };
                    self.wire.notify(&method, &params.to_string());
                }
                Reply::text("flooded")
            }
            "twice" => {
                self.wire.reply(id, &Reply::text("first"));
                Reply::text("second")
            }
            "Calculator" => {
                let sum =
                    json!(args["a"].as_i64().unwrap_or(0) + args["b"].as_i64().unwrap_or(0)).to_string();
                let item = json!({"type": "text", "text": sum, "_meta": {"litemcp/type": "number"}});
                Reply::Result(json!({"content": [item]}).to_string())
            }
            "weird" => Reply::Result(text("raw").unwrap_or_else(|| "{}".to_owned())),
            _ => Reply::text(&text("text").unwrap_or_else(|| raw.to_owned())),
        })
    }

    fn progress(&self, call: &Call, args: &Value, cancel: &Arc<Cancel>) -> Option<Reply> {
        let steps = args["steps"].as_u64().unwrap_or(3);
        for step in 1..=steps {
            if call.meta["progressToken"] != Value::Null {
                let token = &call.meta["progressToken"];
                let params = json!({"progressToken": token, "progress": step, "total": steps});
                self.wire.notify("notifications/progress", &params.to_string());
            }
            cancel.sleep(Duration::from_millis(args["ms"].as_u64().unwrap_or(0))).ok()?;
        }
        Some(Reply::text(&format!("{steps} steps")))
    }

    /// Asks the client and says what it answered, in the client's own bytes.
    fn ask(&self, call: &Call, args: &Value, cancel: &Arc<Cancel>) -> Option<Reply> {
        #[derive(Deserialize)]
        struct Question {
            params: Option<Box<RawValue>>,
        }
        let raw = call.arguments.as_ref().map_or("{}", |arguments| arguments.get());
        let params = serde_json::from_str::<Question>(raw).ok().and_then(|question| question.params);
        let method = args["method"].as_str().unwrap_or("roots/list");
        let answers = self.wire.ask(method, params.as_ref().map(|params| params.get()));
        loop {
            match answers.recv_timeout(Duration::from_millis(20)) {
                Ok(Incoming { result: Some(result), .. }) => return Some(Reply::text(result.get())),
                Ok(Incoming { error, .. }) => {
                    return Some(Reply::failed(error.as_ref().map_or("null", |error| error.get())));
                }
                Err(RecvTimeoutError::Timeout) if !cancel.is_cancelled() => {}
                Err(_) => return None,
            }
        }
    }

    /// Writes to stdout exactly what is asked, be it ever so wrong.
    fn emit(&self, args: &Value) {
        let unit = match args["bytesHex"].as_str() {
            Some(hex) => bytes_of(hex),
            None => args["line"].as_str().unwrap_or_default().as_bytes().to_vec(),
        };
        let mut left = args["repeat"].as_u64().unwrap_or(1) as usize;
        // Made once and written in large pieces: a line may be of many gigabytes (F6).
        let per_write = ((1 << 20) / unit.len().max(1) + 1).min(left);
        let block = unit.repeat(per_write);
        while left > 0 {
            let now = left.min(per_write);
            self.wire.write(&block[..now * unit.len()], false);
            left -= now;
        }
        self.wire.write(b"", args["newline"] != json!(false));
    }
}

fn rpc_error(args: &Value) -> String {
    let code = args["code"].as_i64().unwrap_or(-32050);
    let mut error = json!({"code": code, "message": args["message"].as_str().unwrap_or("as asked")});
    if args["data"] != Value::Null {
        error["data"] = args["data"].clone();
    }
    error.to_string()
}

fn tool_name(text: &str) -> String {
    let tool: Value = serde_json::from_str(text).unwrap_or_default();
    tool["name"].as_str().unwrap_or_default().to_owned()
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        hex.chars().filter_map(|digit| digit.to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect()
}
