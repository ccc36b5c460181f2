//! The tools, other than those that may become tasks.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, InputResponses,
    JsonObject,
};
use rmcp::service::RequestContext;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::Era;
use super::catalog::{PNG, WAV, typed};
use super::http::Hangup;
use super::questions::{
    Outcome, Retry, Script, elicit, elicit_one, incapable, is_modern, list_roots, sample,
};
use super::server::Server;

const PAUSE: Duration = Duration::from_millis(50);
/// Long enough for a client to notice a closed stream and come back before the answer is there.
const AWAY: Duration = Duration::from_millis(300);

/// The tools that ask and are from before 2026.
const OLDER: [&str; 4] = [
    "test_sampling",
    "test_elicitation",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
];

type Context = RequestContext<RoleServer>;

impl Server {
    pub(super) async fn call(
        &self,
        mut request: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.take().unwrap_or_default();
        let retried = request.input_responses.is_some() || request.request_state.is_some();
        self.runs.note(&request.name, retried);
        let retry = Retry {
            answers: request.input_responses.take().unwrap_or_default(),
            state: request.request_state.take(),
        };
        if let Some((script, read)) = interview(&request.name, &arguments, &context) {
            // Where both eras are spoken, as by rmcp's own server, the older tools know of one way to ask.
            let is_older = self.era == Era::Dual && OLDER.contains(&&*request.name);
            return Ok(match script.unaware(is_older).play(retry, &context).await? {
                Outcome::Answered(answers) => text(&read(&answers)).into(),
                Outcome::Ask(round) => round.into(),
            });
        }
        if let Some(response) = self.call_job(&request.name, &arguments, retry, &context).await {
            return response;
        }
        let result = match &*request.name {
            "test_tool_with_logging" => self.with_logging(&context).await,
            "test_logging_tool" => {
                self.log(&context, "Somebody asked for this").await;
                text("Logged, if you wanted it.")
            }
            "test_tool_with_progress" => with_progress(&context).await,
            "test_reconnection" => reconnection(&context).await,
            "test_trigger_tool_change" => {
                self.listeners.tools_changed(&context).await;
                text("Tools changed.")
            }
            "test_trigger_prompt_change" => {
                self.listeners.prompts_changed(&context).await;
                text("Prompts changed.")
            }
            "test_missing_capability" => {
                if context.client_capabilities().unwrap_or_default().sampling.is_none() {
                    return Err(incapable(&context, typed(json!({"sampling": {}}))));
                }
                text("You can sample.")
            }
            "test_input_required_result_capabilities" => text("You can answer nothing."),
            "test_custom_header" => text(string(&arguments, "value")),
            "json_schema_2020_12_tool" => text(&Value::from(arguments).to_string()),
            "test_error_handling" => failure("It failed, as it should."),
            name => match content(name) {
                Some(content) => CallToolResult::success(typed(content)),
                None => return Err(ErrorData::invalid_params(format!("Unknown tool: {name}"), None)),
            },
        };
        Ok(result.into())
    }

    async fn with_logging(&self, context: &Context) -> CallToolResult {
        for line in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
            self.log(context, line).await;
            sleep(PAUSE).await;
        }
        text("Logged three lines.")
    }
}

pub(super) fn text(text: &str) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

pub(super) fn failure(text: &str) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text)])
}

pub(super) fn string<'a>(arguments: &'a JsonObject, name: &str) -> &'a str {
    arguments.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn content(tool: &str) -> Option<Value> {
    let text = |text| json!({"type": "text", "text": text});
    let image = json!({"type": "image", "data": PNG, "mimeType": "image/png"});
    Some(match tool {
        "test_simple_text" => json!([text("A simple text.")]),
        "test_image_content" => json!([image]),
        "test_audio_content" => json!([{"type": "audio", "data": WAV, "mimeType": "audio/wav"}]),
        "test_embedded_resource" => json!([{"type": "resource", "resource": {
            "uri": "test://embedded-resource", "mimeType": "text/plain", "text": "A resource in a result.",
        }}]),
        "test_multiple_content_types" => {
            json!([text("Three kinds of content:"), image, {"type": "resource", "resource": {
                "uri": "test://mixed-content-resource", "mimeType": "application/json", "text": r#"{"test":"data","value":123}"#,
            }}])
        }
        _ => return None,
    })
}

/// How a tool puts the answers it got into words.
type Reading = fn(&InputResponses) -> String;

/// Returns the questions of an interactive tool, and how its answer reads.
fn interview(tool: &str, arguments: &JsonObject, context: &Context) -> Option<(Script, Reading)> {
    let name = || elicit_one("What is your name?", "name", "string");
    let confirm = || Script::new(json!({"confirm": elicit_one("Please confirm", "ok", "boolean")})).sealed();
    let three = || json!({"user_name": name(), "greeting": sample("Generate a greeting"), "client_roots": list_roots()});
    Some(match tool {
        "test_input_required_result_elicitation" => (Script::new(json!({"user_name": name()})), |answers| {
            format!("Hello, {}!", plain(&answers["user_name"]["content"]["name"]))
        }),
        "test_input_required_result_sampling" => {
            (Script::new(json!({"capital_question": sample("What is the capital of France?")})), |answers| {
                format!("The model says: {}", sampled(&answers["capital_question"]))
            })
        }
        "test_input_required_result_list_roots" => {
            (Script::new(json!({"client_roots": list_roots()})), |answers| {
                format!("The roots: {}", answers["client_roots"]["roots"])
            })
        }
        "test_input_required_result_request_state" => (confirm(), |_| "Confirmed: state-ok".to_owned()),
        "test_input_required_result_tampered_state" => {
            (confirm(), |_| "Confirmed with the state I gave you".to_owned())
        }
        "test_input_required_result_multiple_inputs" => (Script::new(three()).sealed(), |answers| {
            format!("Three answers, {} among them", plain(&answers["user_name"]["content"]["name"]))
        }),
        "test_input_required_result_multi_round" => {
            let first = elicit_one("Step 1: What is your name?", "name", "string");
            let second = elicit_one("Step 2: What is your favorite color?", "color", "string");
            let script = Script::new(json!({"step1": first})).then(json!({"step2": second})).sealed();
            (script, |answers| {
                format!("Two rounds, and {} at last", plain(&answers["step2"]["content"]["color"]))
            })
        }
        "test_input_required_result_capabilities" => {
            let client = context.client_capabilities().unwrap_or_default();
            let mut questions = three();
            let questions = questions.as_object_mut()?;
            questions.retain(|key, _| match &**key {
                "user_name" => client.elicitation.is_some(),
                "greeting" => client.sampling.is_some(),
                _ => client.roots.is_some(),
            });
            if questions.is_empty() {
                return None;
            }
            (Script::new(Value::from(questions.clone())), |_| "You answered what you can.".to_owned())
        }
        "test_sampling" => (Script::new(json!({"answer": sample(string(arguments, "prompt"))})), |answers| {
            format!("LLM response: {}", sampled(&answers["answer"]))
        }),
        "test_streaming_elicitation" => {
            (Script::new(json!({"value": elicit_one("A value, please", "value", "string")})), user_said)
        }
        "test_elicitation" => {
            (Script::new(json!({"answer": elicit(string(arguments, "message"), contact())})), user_said)
        }
        "test_elicitation_sep1034_defaults" => {
            (Script::new(json!({"answer": elicit("Change what you like", defaults())})), user_said)
        }
        "test_elicitation_sep1330_enums" => {
            (Script::new(json!({"answer": elicit("Choose", choices())})), user_said)
        }
        _ => return None,
    })
}

fn user_said(answers: &InputResponses) -> String {
    let answer = answers.values().next().unwrap_or(&Value::Null);
    format!("User response: action={}, content={}", plain(&answer["action"]), answer["content"])
}

fn plain(value: &Value) -> &str {
    value.as_str().unwrap_or("nothing")
}

/// Returns the text of a sampled message, whose content is one block or a list of them.
fn sampled(message: &Value) -> &str {
    let content = &message["content"];
    plain(content.get(0).unwrap_or(content).get("text").unwrap_or(&Value::Null))
}

fn contact() -> Value {
    json!({"type": "object", "required": ["username", "email"], "properties": {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    }})
}

fn defaults() -> Value {
    json!({"type": "object", "properties": {
        "name": {"type": "string", "description": "Name", "default": "John Doe"},
        "age": {"type": "integer", "description": "Age", "default": 30},
        "score": {"type": "number", "description": "Score", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "description": "Verified", "default": true},
    }})
}

fn choices() -> Value {
    let titled = |noun: &str| {
        let choice = |number: u32, ordinal: &str| json!({"const": format!("value{number}"), "title": format!("{ordinal} {noun}")});
        json!([choice(1, "First"), choice(2, "Second"), choice(3, "Third")])
    };
    let untitled = json!(["option1", "option2", "option3"]);
    json!({"type": "object", "properties": {
        "untitledSingle": {"type": "string", "enum": untitled},
        "titledSingle": {"type": "string", "oneOf": titled("Option")},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": untitled}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled("Choice")}},
    }})
}

async fn with_progress(context: &Context) -> CallToolResult {
    for percent in [0, 50, 100] {
        if let Some(token) = context.meta.get_progress_token() {
            let progress = json!({"progressToken": token, "progress": percent, "total": 100});
            // Who has gone wants no news.
            let _ = context.peer.notify_progress(typed(progress)).await;
        }
        sleep(PAUSE).await;
    }
    text("All done.")
}

/// Closes the caller's stream, as SEP-1699 allows, and answers on the one it reopens. A modern stream must not be
/// closed so: that would cancel the call.
async fn reconnection(context: &Context) -> CallToolResult {
    let parts = context.extensions.get::<axum::http::request::Parts>();
    let line = parts.and_then(|parts| parts.extensions.get::<Hangup>());
    if let Some(line) = line.filter(|_| !is_modern(context)) {
        sleep(2 * PAUSE).await;
        line.hang_up();
    }
    sleep(AWAY).await;
    text("Here is your answer, wherever you are.")
}
