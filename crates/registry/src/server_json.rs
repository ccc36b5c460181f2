//! `server.json` as the registry has it (schema 2025-12-11). Only what we use is read; what has the wrong type is refused.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

use crate::flaw::{Flaw, Refused};
use crate::name::{check_name, check_version};
use crate::text::{check_plain, described};

const MAX_CHOICES: usize = 32;
const MAX_INPUTS: usize = 256;
const MAX_VARIABLES: usize = 64;

/// A server as its publisher describes it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerJson {
    pub name: String,
    pub version: String,
    #[serde(default, deserialize_with = "nullable")]
    pub description: String,
    #[serde(default)]
    pub title: Option<String>,
    #[serde(default)]
    pub website_url: Option<String>,
    #[serde(default)]
    pub repository: Option<Repository>,
    #[serde(default, deserialize_with = "nullable")]
    pub(crate) packages: Vec<Package>,
    #[serde(default, deserialize_with = "nullable")]
    pub(crate) remotes: Vec<Transport>,
}

/// Where its source is.
#[derive(Debug, Clone, Deserialize)]
pub struct Repository {
    #[serde(default, deserialize_with = "nullable")]
    pub url: String,
}

/// A package that has it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Package {
    pub(crate) registry_type: String,
    #[serde(default)]
    pub(crate) registry_base_url: Option<String>,
    pub(crate) identifier: String,
    #[serde(default)]
    pub(crate) version: Option<String>,
    #[serde(default)]
    pub(crate) file_sha256: Option<String>,
    #[serde(default)]
    pub(crate) runtime_hint: Option<String>,
    #[serde(default)]
    pub(crate) transport: Transport,
    #[serde(default, deserialize_with = "nullable")]
    pub(crate) runtime_arguments: Vec<Argument>,
    #[serde(default, deserialize_with = "nullable")]
    pub(crate) package_arguments: Vec<Argument>,
    #[serde(default, deserialize_with = "nullable")]
    pub(crate) environment_variables: Vec<KeyValue>,
}

/// How it speaks.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Transport {
    #[serde(rename = "type", default)]
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) url: Option<String>,
    #[serde(default, deserialize_with = "nullable")]
    pub(crate) headers: Vec<KeyValue>,
    #[serde(default, deserialize_with = "nullable")]
    pub(crate) variables: BTreeMap<String, Input>,
}

/// A value that is given, or asked for.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Input {
    #[serde(default)]
    pub(crate) description: Option<String>,
    #[serde(default, deserialize_with = "nullable")]
    pub(crate) is_required: bool,
    #[serde(default, deserialize_with = "nullable")]
    pub(crate) is_secret: bool,
    #[serde(default)]
    pub(crate) format: Option<String>,
    #[serde(default)]
    pub(crate) value: Option<Plain>,
    #[serde(default)]
    pub(crate) default: Option<Plain>,
    #[serde(default)]
    pub(crate) placeholder: Option<String>,
    #[serde(default, deserialize_with = "nullable")]
    pub(crate) choices: Vec<Plain>,
}

/// An environment variable or a header.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct KeyValue {
    pub(crate) name: String,
    #[serde(flatten)]
    pub(crate) input: Input,
    #[serde(default, deserialize_with = "nullable")]
    pub(crate) variables: BTreeMap<String, Input>,
}

/// A part of a command line.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Argument {
    #[serde(rename = "type")]
    pub(crate) kind: ArgumentKind,
    #[serde(default)]
    pub(crate) name: Option<String>,
    #[serde(default)]
    pub(crate) value_hint: Option<String>,
    #[serde(default, deserialize_with = "nullable")]
    pub(crate) is_repeated: bool,
    #[serde(flatten)]
    pub(crate) input: Input,
    #[serde(default, deserialize_with = "nullable")]
    pub(crate) variables: BTreeMap<String, Input>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ArgumentKind {
    Positional,
    Named,
}

/// A text; publishers also write numbers and booleans where the schema wants one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plain(pub(crate) String);

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Text(String),
            Boolean(bool),
            Number(serde_json::Number),
        }
        Ok(Self(match Written::deserialize(deserializer)? {
            Written::Text(text) => text,
            Written::Boolean(boolean) => boolean.to_string(),
            Written::Number(number) => number.to_string(),
        }))
    }
}

/// Registries written in Go say `null` for what is empty.
fn nullable<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

impl ServerJson {
    /// Checks what holds for the whole; single packages and remotes are checked when they are chosen.
    pub(crate) fn checked(mut self) -> Result<Self, Refused> {
        check_name(&self.name).map_err(|flaw| flaw.at("name"))?;
        // The version of a server goes into paths and addresses as well, so it must be a plain one.
        check_version(&self.version).map_err(|flaw| flaw.at("version"))?;
        at_most(self.packages.len(), MAX_CHOICES, "packages")?;
        at_most(self.remotes.len(), MAX_CHOICES, "remotes")?;
        self.packages.iter().try_for_each(Package::check_counts)?;
        self.remotes.iter().try_for_each(Transport::check_counts)?;
        self.description = described(&self.description);
        self.title = self.title.map(|title| described(&title));
        self.website_url = self.website_url.filter(|url| check_plain(url, 2048).is_ok());
        self.repository = self.repository.filter(|repository| check_plain(&repository.url, 2048).is_ok());
        Ok(self)
    }
}

impl Package {
    fn check_counts(&self) -> Result<(), Refused> {
        at_most(self.runtime_arguments.len(), MAX_INPUTS, "runtimeArguments")?;
        at_most(self.package_arguments.len(), MAX_INPUTS, "packageArguments")?;
        at_most(self.environment_variables.len(), MAX_INPUTS, "environmentVariables")?;
        for argument in self.runtime_arguments.iter().chain(&self.package_arguments) {
            check_input_counts(&argument.input, &argument.variables)?;
        }
        self.environment_variables
            .iter()
            .try_for_each(|variable| check_input_counts(&variable.input, &variable.variables))?;
        self.transport.check_counts()
    }
}

impl Transport {
    fn check_counts(&self) -> Result<(), Refused> {
        at_most(self.headers.len(), MAX_INPUTS, "headers")?;
        at_most(self.variables.len(), MAX_VARIABLES, "variables")?;
        self.headers.iter().try_for_each(|header| check_input_counts(&header.input, &header.variables))
    }
}

fn check_input_counts(input: &Input, variables: &BTreeMap<String, Input>) -> Result<(), Refused> {
    at_most(input.choices.len(), MAX_INPUTS, "choices")?;
    at_most(variables.len(), MAX_VARIABLES, "variables")?;
    variables.values().try_for_each(|variable| at_most(variable.choices.len(), MAX_INPUTS, "choices"))
}

fn at_most(count: usize, most: usize, place: &str) -> Result<(), Refused> {
    if count <= most { Ok(()) } else { Err(Flaw::TooMany(most).at(place)) }
}
