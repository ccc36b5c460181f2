//! Checking a call's arguments before anything is sent (decision 13).

use std::borrow::Cow;
use std::sync::OnceLock;

use manifold_config::ValidateArguments;
use manifold_protocol::{Fault, Raw};
use tracing::warn;

/// What a tool's arguments are held to.
pub(crate) enum Arguments {
    Anything,
    /// These names must be there.
    Required(Vec<String>),
    /// The whole schema, compiled at the first call.
    Schema {
        schema: Raw,
        required: Vec<String>,
        compiled: OnceLock<Option<jsonschema::Validator>>,
    },
}

impl Arguments {
    pub(crate) fn of(validate: ValidateArguments, input_schema: Option<&Raw>) -> Self {
        let schema = || input_schema.cloned().unwrap_or_else(|| Raw::from_static("{}"));
        match validate {
            ValidateArguments::Off => Self::Anything,
            ValidateArguments::Required => Self::Required(required(&schema())),
            ValidateArguments::Full => {
                let schema = schema();
                Self::Schema { required: required(&schema), schema, compiled: OnceLock::new() }
            }
        }
    }

    /// Checks the arguments among these parameters.
    pub(crate) fn check(&self, tool: &str, params: Option<&Raw>) -> Result<(), Fault> {
        // Most are not looked at at all.
        if let Self::Anything = self {
            return Ok(());
        }
        let arguments = params.and_then(|params| params.get("arguments"));
        let arguments = arguments.as_ref();
        match self {
            Self::Anything => Ok(()),
            Self::Required(names) => check_required(names, arguments),
            Self::Schema { schema, required, compiled } => {
                check_required(required, arguments)?;
                match compiled.get_or_init(|| compile(tool, schema)) {
                    Some(validator) => check_schema(validator, tool, arguments),
                    None => Ok(()),
                }
            }
        }
    }
}

fn required(schema: &Raw) -> Vec<String> {
    let names = schema.get("required").and_then(|list| list.elements()).unwrap_or_default();
    names.iter().filter_map(|name| Some(name.to_text()?.into_owned())).collect()
}

fn check_required(names: &[String], arguments: Option<&Raw>) -> Result<(), Fault> {
    let present = |name: &str| arguments.is_some_and(|arguments| arguments.get(name).is_some());
    match names.iter().find(|name| !present(name)) {
        Some(missing) => Err(Fault::MissingParameter(missing.clone())),
        None => Ok(()),
    }
}

/// Compiles a schema. One we cannot compile (or that points outside itself: nothing is ever fetched) is left to
/// the server.
fn compile(tool: &str, schema: &Raw) -> Option<jsonschema::Validator> {
    let schema = serde_json::from_slice(&schema.mended()).ok()?;
    match jsonschema::validator_for(&schema) {
        Ok(validator) => Some(validator),
        Err(problem) => {
            warn!(tool, %problem, "the tool's inputSchema cannot be used for checking; its server will check");
            None
        }
    }
}

// The one place where arguments become a value: a copy, for judging. What is sent keeps its bytes.
fn check_schema(validator: &jsonschema::Validator, tool: &str, arguments: Option<&Raw>) -> Result<(), Fault> {
    let text = arguments.map_or(Cow::Borrowed(&b"{}"[..]), |arguments| arguments.mended());
    let Ok(value) = serde_json::from_slice(&text) else {
        return Err(Fault::InvalidParams("arguments are nested too deeply to be checked".to_owned()));
    };
    validator.validate(&value).map_err(|problem| Fault::ArgumentMismatch {
        tool: tool.to_owned(),
        field: problem.instance_path().to_string().trim_start_matches('/').replace('/', "."),
        issue: problem.to_string(),
    })
}

#[cfg(test)]
mod tests;
