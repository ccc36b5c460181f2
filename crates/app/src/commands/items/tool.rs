//! `tool`: what one tool does and what it takes.

use std::collections::BTreeMap;

use manifold_admin::{ErrorCode, ListedItem};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Verb;
use super::list::{Asked, Found, Kind, awaited};
use crate::cli::ToolArgs;
use crate::commands::source::Need;
use crate::output::{Exit, Failure, Output, escaped_json, escaped_text};

pub(super) fn run(args: &ToolArgs, verb: &Verb) -> Result<Exit, Failure> {
    verb.end_on_interrupt()?;
    let patience = verb.give_up_after(args.patience.patience());
    let source = verb.reach(Need::Servers)?;
    let namespace = verb.flags.namespace.as_deref();
    let asked = Asked { namespace, name: Some(&args.name), full: true, ..Asked::default() };
    let waiting = verb.output.progress("asking the servers");
    let is_found = |found: &Found| !found.items.is_empty();
    let found = awaited(Kind::Tools, asked, &source, args.patience.patience(), is_found);
    drop((waiting, patience));
    let found = found.map_err(|failure| failure.hint_if_unknown("tool"))?;
    let tool = found.items.first().ok_or_else(|| unknown(&args.name))?;
    let definition = tool.item.as_deref().map_or("{}", RawValue::get);
    match verb.output.is_json() {
        true => verb.output.text(&escaped_json(definition)),
        false => verb.output.text(&text(tool, definition, &verb.output)),
    };
    Ok(Exit::Ok)
}

fn unknown(name: &str) -> Failure {
    let code = ErrorCode::UnknownItem;
    Failure::new(Exit::of(code), code.as_str(), format!("there is no tool '{name}'"))
        .hint("`manifold tools` shows those there are")
}

/// As much of a definition as is shown to people.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Definition {
    title: Option<String>,
    description: Option<String>,
    input_schema: Schema,
    annotations: BTreeMap<String, Box<RawValue>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Schema {
    properties: BTreeMap<String, Box<RawValue>>,
    required: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Property {
    r#type: Option<Box<RawValue>>,
    description: Option<String>,
    r#enum: Vec<Box<RawValue>>,
    default: Option<Box<RawValue>>,
}

fn text(tool: &ListedItem, definition: &str, output: &Output) -> String {
    let Definition { title, description, input_schema, annotations } =
        serde_json::from_str(definition).unwrap_or_default();
    let paint = output.paint();
    let title = title.map_or_else(String::new, |title| format!(" ({title})"));
    let mut text = format!("{}{}\n", paint.heading(&escaped_text(&tool.name)), escaped_text(&title));
    text.push_str(&format!(
        "server: {}, there `{}`\n",
        escaped_text(&tool.server),
        escaped_text(&tool.original)
    ));
    if let Some(description) = description {
        text.push_str(&format!("\n{}\n", escaped_text(description.trim())));
    }
    if !input_schema.properties.is_empty() {
        text.push_str(&format!("\n{}\n", paint.heading("arguments:")));
    }
    for (name, schema) in &input_schema.properties {
        let is_required = input_schema.required.contains(name);
        text.push_str(&format!(
            "  {}\n",
            escaped_text(&argument(name, schema, is_required)).replace('\n', "\n    ")
        ));
    }
    let marks: Vec<String> =
        annotations.iter().map(|(name, value)| format!("{name}: {}", value.get())).collect();
    if !marks.is_empty() {
        text.push_str(&format!("\n{} {}\n", paint.heading("annotations:"), escaped_text(&marks.join(", "))));
    }
    text
}

fn argument(name: &str, schema: &RawValue, is_required: bool) -> String {
    // What is no object says nothing of its type.
    let property: Property = serde_json::from_str(schema.get()).unwrap_or_default();
    let kind = property.r#type.map_or_else(|| "any".to_owned(), |kind| kind.get().replace('"', ""));
    let mut said = vec![kind];
    if is_required {
        said.push("required".to_owned());
    }
    if !property.r#enum.is_empty() {
        let values: Vec<&str> = property.r#enum.iter().map(|value| value.get()).collect();
        said.push(format!("one of {}", values.join(", ")));
    }
    said.extend(property.default.map(|value| format!("default {}", value.get())));
    let description = property.description.map_or_else(String::new, |text| format!(": {}", text.trim()));
    format!("{name} ({}){description}", said.join(", "))
}
