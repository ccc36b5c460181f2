//! `call`, `read`, `prompt` and `complete`: from what was typed to what is sent.

use std::collections::BTreeMap;

use manifold_admin::{CallRequest, CompleteRequest, ListedItem, PromptRequest, ReadRequest};
use manifold_protocol::Raw;
use serde_json::value::RawValue;

use super::address::Address;
use super::arguments::pair::{Given, Pair};
use super::arguments::schema::Schema;
use super::arguments::{ArgumentError, Typed, build};
use super::asker::{Asker, read_file};
use super::find::{Sought, find, suggested, unknown};
use super::show::{Answer, Shown};
use super::signature::{example, signature};
use crate::cli::{AskCommand, CallArgs, CompleteArgs, CompleteOf, PromptArgs, ReadArgs};
use crate::output::{Exit, Failure};

/// Carries out one of them.
pub(crate) fn run(command: &AskCommand, asker: &mut Asker<'_>) -> Result<Shown, Failure> {
    match command {
        AskCommand::Call(args) => call(args, asker),
        AskCommand::Read(args) => read(args, asker),
        AskCommand::Prompt(args) => prompt(args, asker),
        AskCommand::Complete(args) => complete(args, asker),
    }
}

fn call(args: &CallArgs, asker: &mut Asker<'_>) -> Result<Shown, Failure> {
    let address = Address::parse(&args.address).map_err(|error| Failure::usage(error.to_string()))?;
    let (gateway, namespace) = (asker.gateway, asker.namespace);
    let found = find(gateway, Sought::Tool, &address, namespace, asker.deadline)
        .map_err(|failure| suggested(failure, gateway, Sought::Tool, &address, namespace))?;
    let (schema, is_known) = (input_schema(found.as_ref()), found.is_some());
    let name = found.map_or_else(|| address.name.clone(), |item| item.name);
    let typed = Typed { function: &address.arguments, pairs: &args.arguments, args: args.args.as_deref() };
    let arguments = build(&typed, &schema, &read_file).map_err(|error| match is_known {
        true => misused("call", &name, &schema, &error),
        // What it would be called with is not the matter.
        false => suggested(unknown(Sought::Tool, &address), gateway, Sought::Tool, &address, namespace),
    })?;
    let arguments = RawValue::from_string(arguments);
    let arguments = arguments.map_err(|error| Failure::new(Exit::Failed, "failed", error.to_string()))?;
    let request = CallRequest { name, arguments: Some(arguments), how: asker.options()? };
    asker
        .ask("/v1/call", &request, (Answer::Call, &request.name), &args.how)
        .map_err(|failure| suggested(failure, gateway, Sought::Tool, &address, namespace))
}

fn read(args: &ReadArgs, asker: &mut Asker<'_>) -> Result<Shown, Failure> {
    let request = ReadRequest { uri: args.uri.clone(), how: asker.options()? };
    let read = asker.ask("/v1/read", &request, (Answer::Read, "resource"), &args.how);
    read.map_err(|failure| failure.hint_if_unknown("resource"))
}

fn prompt(args: &PromptArgs, asker: &mut Asker<'_>) -> Result<Shown, Failure> {
    let address = Address { name: args.name.clone(), arguments: Vec::new() };
    let (gateway, namespace) = (asker.gateway, asker.namespace);
    let found = find(gateway, Sought::Prompt, &address, namespace, asker.deadline)
        .map_err(|failure| suggested(failure, gateway, Sought::Prompt, &address, namespace))?;
    let (schema, is_known) = (prompt_schema(found.as_ref()), found.is_some());
    let name = found.map_or_else(|| address.name.clone(), |item| item.name);
    let typed = Typed { function: &[], pairs: &args.arguments, args: None };
    let arguments = build(&typed, &schema, &read_file).map_err(|error| match is_known {
        true => misused("prompt", &name, &schema, &error),
        // What it would be called with is not the matter.
        false => suggested(unknown(Sought::Prompt, &address), gateway, Sought::Prompt, &address, namespace),
    })?;
    let only_texts = |_| Failure::usage("a prompt takes texts alone: write `name=text`");
    let arguments: BTreeMap<String, String> = serde_json::from_str(&arguments).map_err(only_texts)?;
    let request = PromptRequest { name, arguments, how: asker.options()? };
    asker
        .ask("/v1/prompt", &request, (Answer::Prompt, &request.name), &args.how)
        .map_err(|failure| suggested(failure, gateway, Sought::Prompt, &address, namespace))
}

fn complete(args: &CompleteArgs, asker: &mut Asker<'_>) -> Result<Shown, Failure> {
    let mut given: Vec<(String, String)> = Vec::new();
    for argument in &args.arguments {
        let pair = Pair::parse(argument, &read_file).map_err(|error| Failure::usage(error.to_string()))?;
        match pair.value {
            Given::Text(text) => given.push((pair.steps.join("."), text)),
            Given::Json(_) | Given::Typed(_) => {
                return Err(Failure::usage("only texts are completed: write `name=text`"));
            }
        }
    }
    let Some((argument, value)) = given.pop() else {
        return Err(Failure::usage("name the argument to complete: `name=text`"));
    };
    let (prompt, uri) = match args.of {
        CompleteOf::Prompt => (Some(args.name.clone()), None),
        CompleteOf::Uri => (None, Some(args.name.clone())),
    };
    let given = given.into_iter().collect();
    let request = CompleteRequest { prompt, uri, argument, value, given, how: asker.options()? };
    let word = match args.of {
        CompleteOf::Prompt => "prompt",
        CompleteOf::Uri => "resource",
    };
    let completed = asker.ask("/v1/complete", &request, (Answer::Complete, &args.name), &args.how);
    completed.map_err(|failure| failure.hint_if_unknown(word))
}

/// Says what is wrong with arguments, and how they are given.
fn misused(verb: &str, name: &str, schema: &Schema, error: &ArgumentError) -> Failure {
    let (signature, example) = (signature(name, schema), example(verb, name, schema));
    Failure::usage(error.to_string()).hint(format!("it is called so:\n  {signature}\n  {example}"))
}

fn definition(item: Option<&ListedItem>) -> Option<Raw> {
    Raw::parse(item?.item.as_ref()?.get().to_owned()).ok()
}

fn input_schema(tool: Option<&ListedItem>) -> Schema {
    definition(tool).and_then(|tool| tool.get("inputSchema")).map_or_else(Schema::silent, Schema::new)
}

/// Returns the arguments of a prompt as a schema: texts, of which some must be there.
fn prompt_schema(prompt: Option<&ListedItem>) -> Schema {
    let Some(prompt) = definition(prompt) else { return Schema::silent() };
    let arguments = prompt.get("arguments").and_then(|arguments| arguments.elements()).unwrap_or_default();
    let (mut properties, mut required) = (Vec::new(), Vec::new());
    for argument in &arguments {
        let Some(name) = argument.get("name") else { continue };
        properties.push(format!("{name}:{{\"type\":\"string\"}}"));
        if argument.get("required").and_then(|required| required.bool()) == Some(true) {
            required.push(name.as_str().to_owned());
        }
    }
    let schema =
        format!("{{\"properties\":{{{}}},\"required\":[{}]}}", properties.join(","), required.join(","));
    Raw::parse(schema).map_or_else(|_| Schema::silent(), Schema::new)
}
