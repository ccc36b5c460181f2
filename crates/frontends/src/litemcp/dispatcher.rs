//! The tool that stands for all tools of a namespace, since a LiteMCP server has but one (decision 27).

use std::fmt::Write;

use manifold_protocol::dialect::litemcp::{ArgumentError, Arguments, Parameter, Tool, ToolCall};
use manifold_protocol::{Kind, Raw};

/// What a call to it is about.
pub(super) struct DispatcherCall {
    pub(super) tool: String,
    /// An object.
    pub(super) arguments: Raw,
    pub(super) params: Raw,
}

/// Returns what its own arguments look like.
pub(super) fn schema() -> Raw {
    Raw::from_static(
        r#"{"properties":{"tool":{"type":"string"},"arguments":{"type":"object"}},"required":["tool"]}"#,
    )
}

/// Describes it by the tools of a `tools/list` result.
pub(super) fn describe(name: &str, list: &Raw) -> Tool {
    let tools = list.get(Kind::Tools.member()).and_then(|tools| tools.elements()).unwrap_or_default();
    let tools: Vec<Tool> = tools.iter().filter_map(Tool::from_mcp).collect();
    let mut description = match tools.len() {
        0 => "Calls a tool by its name; there are none at present.".to_owned(),
        count => format!("Calls one of these {count} tools by its name:"),
    };
    for tool in &tools {
        let parameters: Vec<String> =
            tool.parameters.iter().map(|one| format!("{}: {}", one.name, one.kind)).collect();
        // Writing to a string cannot fail.
        let _ = write!(description, "\n- {}({})", tool.name, parameters.join(", "));
        if let Some(text) = &tool.description {
            let _ = write!(description, ": {}", text.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }
    let parameter = |name: &str, kind: &str, description: &str, example: Option<String>| Parameter {
        name: name.to_owned(),
        kind: kind.to_owned(),
        description: Some(description.to_owned()),
        example,
    };
    Tool {
        name: name.to_owned(),
        description: Some(description),
        example: None,
        parameters: vec![
            parameter("tool", "string", "The name of the tool", tools.first().map(|tool| tool.name.clone())),
            parameter(
                "arguments",
                "object",
                "The tool's arguments as a JSON object; may be left out",
                tools.first().map(example_of),
            ),
        ],
    }
}

/// Reads a call to it.
pub(super) fn read(call: &ToolCall) -> Result<DispatcherCall, ArgumentError> {
    let Arguments { values, params } = Arguments::convert(&schema(), &call.arguments)?;
    let tool = values.get("tool").and_then(|tool| Some(tool.to_text()?.into_owned())).unwrap_or_default();
    let arguments = values.get("arguments").unwrap_or_else(|| Raw::from_static("{}"));
    Ok(DispatcherCall { tool, arguments, params })
}

/// Writes the arguments of a tool as a model might.
fn example_of(tool: &Tool) -> String {
    let mut arguments = manifold_protocol::RawObject::default();
    for parameter in &tool.parameters {
        let text = parameter.example.clone().unwrap_or_else(|| "…".to_owned());
        arguments.set(&parameter.name, Raw::string(&text));
    }
    arguments.into_raw().as_str().to_owned()
}
