//! What the server lists. Names, URIs and schemas are the suite's; it looks for exactly these.

use rmcp::model::{Prompt, Resource, ResourceTemplate, Tool};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

pub(super) const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNQaHgAAAJEAYFxwsaxAAAAAElFTkSuQmCC";
pub(super) const WAV: &str = "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQgAAACAgICAgICAgA==";

/// Reads a value written here in the protocol's own words as one of rmcp's types.
pub(super) fn typed<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("the catalog is written in valid MCP")
}

pub(super) fn tools() -> Vec<Tool> {
    let plain = PLAIN_TOOLS.iter().map(|(name, description)| tool(name, description, json!({})));
    let with_arguments = [
        tool("test_sampling", "Asks the client's model", string("prompt")),
        tool("test_elicitation", "Asks the user for a name and an address", string("message")),
        tool("greet", "Greets at once, never as a task", string("name")),
        tool(
            "slow_compute",
            "Sleeps, as a task if it may",
            json!({
                "properties": {"seconds": {"type": "number"}, "label": {"type": "string"}},
            }),
        ),
        tool(
            "confirm_delete",
            "Asks before it pretends to delete, always as a task",
            json!({
                "properties": {"filename": {"type": "string"}},
            }),
        ),
        header_tool(),
        schema_tool(),
    ];
    plain.chain(with_arguments).collect()
}

/// Returns the tool whose argument must also be sent as a header.
pub(super) fn header_tool() -> Tool {
    tool(
        "test_custom_header",
        "Wants its argument in a header as well",
        json!({
            "properties": {"value": {"type": "string", "x-mcp-header": "Value"}},
            "required": ["value"],
        }),
    )
}

pub(super) fn resources() -> Vec<Resource> {
    typed(json!([
        {"uri": "test://static-text", "name": "static-text", "description": "A text", "mimeType": "text/plain"},
        {"uri": "test://static-binary", "name": "static-binary", "description": "A picture", "mimeType": "image/png"},
    ]))
}

pub(super) fn templates() -> Vec<ResourceTemplate> {
    typed(json!([{
        "uriTemplate": "test://template/{id}/data", "name": "template",
        "description": "Data made up for any id", "mimeType": "application/json",
    }]))
}

/// Returns what is at `uri`, if anything is.
pub(super) fn contents(uri: &str) -> Option<Value> {
    match uri {
        "test://static-text" => {
            Some(json!({"uri": uri, "mimeType": "text/plain", "text": "A text that never changes."}))
        }
        "test://static-binary" => Some(json!({"uri": uri, "mimeType": "image/png", "blob": PNG})),
        _ => {
            let id = uri.strip_prefix("test://template/")?.strip_suffix("/data")?;
            let text =
                json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")}).to_string();
            Some(json!({"uri": uri, "mimeType": "application/json", "text": text}))
        }
    }
}

pub(super) fn prompts() -> Vec<Prompt> {
    typed(json!([
        {"name": "test_simple_prompt", "description": "One message"},
        {"name": "test_prompt_with_arguments", "description": "Its arguments, quoted", "arguments": [
            {"name": "arg1", "description": "First", "required": true},
            {"name": "arg2", "description": "Second", "required": true},
        ]},
        {"name": "test_prompt_with_embedded_resource", "description": "A resource inside", "arguments": [
            {"name": "resourceUri", "description": "The URI it shall bear", "required": true},
        ]},
        {"name": "test_prompt_with_image", "description": "A picture inside"},
        {"name": "test_input_required_result_prompt", "description": "Asks for its context first"},
    ]))
}

const PLAIN_TOOLS: &[(&str, &str)] = &[
    ("test_simple_text", "Returns a text"),
    ("test_image_content", "Returns a picture"),
    ("test_audio_content", "Returns a sound"),
    ("test_embedded_resource", "Returns a resource"),
    ("test_multiple_content_types", "Returns a text, a picture and a resource"),
    ("test_tool_with_logging", "Logs three lines while it works"),
    ("test_tool_with_progress", "Reports 0, 50 and 100 percent"),
    ("test_error_handling", "Fails"),
    ("test_reconnection", "Hangs up on its caller, then answers"),
    ("test_elicitation_sep1034_defaults", "Asks with a default in every field"),
    ("test_elicitation_sep1330_enums", "Asks with every kind of choice"),
    ("test_missing_capability", "Needs a client that can sample"),
    ("test_streaming_elicitation", "Asks for a value"),
    ("test_logging_tool", "Logs one line to those who asked for logs"),
    ("test_trigger_tool_change", "Announces that tools changed"),
    ("test_trigger_prompt_change", "Announces that prompts changed"),
    ("test_input_required_result_elicitation", "Asks the user"),
    ("test_input_required_result_sampling", "Asks the model"),
    ("test_input_required_result_list_roots", "Asks for the roots"),
    ("test_input_required_result_request_state", "Asks and wants its state back"),
    ("test_input_required_result_tampered_state", "Asks and notices a changed state"),
    ("test_input_required_result_multiple_inputs", "Asks three things at once"),
    ("test_input_required_result_multi_round", "Asks two things in turn"),
    ("test_input_required_result_capabilities", "Asks whatever the client can answer"),
    ("failing_job", "Fails after a second, always as a task"),
    ("protocol_error_job", "Breaks, as a task if it may"),
    ("multi_input", "Asks two things at once, always as a task"),
    ("test_tool_with_task", "Asks first, then goes on as a task"),
];

fn string(name: &str) -> Value {
    json!({"properties": {name: {"type": "string"}}, "required": [name]})
}

fn tool(name: &str, description: &str, mut schema: Value) -> Tool {
    schema["type"] = json!("object");
    typed(json!({"name": name, "description": description, "inputSchema": schema}))
}

fn schema_tool() -> Tool {
    tool(
        "json_schema_2020_12_tool",
        "Has a schema with everything that gets lost",
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$defs": {"address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }},
            "properties": {
                "name": {"type": "string"},
                "address": {"$ref": "#/$defs/address"},
                "contactMethod": {"type": "string", "enum": ["phone", "email"]},
                "phone": {"type": "string"},
                "email": {"type": "string"},
            },
            "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
            "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
            "then": {"required": ["phone"]},
            "else": {"required": ["email"]},
            "additionalProperties": false,
        }),
    )
}
