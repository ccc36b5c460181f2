//! A package of a public registry, turned into the command that runs it.

mod container;
mod identifier;
mod options;

use std::collections::BTreeSet;

use crate::flaw::{Flaw, Refused, Shown};
use crate::name::{check_version, is_variable_name};
use crate::plan::{Arg, Plan, Start};
use crate::server_json::{Argument, ArgumentKind, Input, KeyValue, Package};
use crate::template::{Context, Lacking, Questions, Template};
use crate::text::check_value;
use options::{Runtime, runtime_arguments};

/// Names by which programs are found, started or told where packages are: not a server's to set.
const RESERVED_NAMES: [&str; 7] = ["PATH", "HOME", "ENV", "BASH_ENV", "SHELLOPTS", "IFS", "SHELL"];
const RESERVED_STARTS: [&str; 9] =
    ["LD_", "DYLD_", "DOCKER_", "CONTAINER", "NPM_CONFIG_", "UV_", "PIP_", "MANIFOLD_", "NUGET_"];

impl Package {
    /// Returns how it would be run. Bundles have a way of their own.
    pub(crate) fn plan(&self, id: &str) -> Result<Plan, Refused> {
        let runtime = self.runtime()?;
        self.check_transport()?;
        let mut questions = Questions::default();
        let env = environment(&self.environment_variables, &mut questions)?;
        let mut remarks = Vec::new();
        let options = runtime_arguments(self, runtime, &mut questions, &mut remarks)?;
        let program_args = arguments(&self.package_arguments, "packageArguments", &mut questions)?;
        let target = self.target(runtime, &mut remarks)?;
        let mut args: Vec<Arg> = match runtime {
            Runtime::Npx => vec![Arg::text("-y")],
            Runtime::Uvx | Runtime::Dnx => Vec::new(),
            Runtime::Docker | Runtime::Podman => {
                let mut args: Vec<Arg> = ["run", "-i", "--rm"].map(Arg::text).into();
                args.push(Arg::EnvNames);
                args
            }
        };
        match runtime {
            // Its options stand behind what is run, up to the two dashes.
            Runtime::Dnx => {
                args.extend([Arg::text(target), Arg::text("--yes")]);
                args.extend(options);
                if !program_args.is_empty() {
                    args.push(Arg::text("--"));
                }
            }
            _ => {
                args.extend(options);
                args.push(Arg::text(target));
            }
        }
        args.extend(program_args);
        let start = Start::Command { command: runtime.command().to_owned(), args, env, cwd: None };
        Ok(Plan { id: id.to_owned(), questions: questions.0, remarks, start })
    }

    fn runtime(&self) -> Result<Runtime, Refused> {
        let hint = self.runtime_hint.as_deref();
        Ok(match self.registry_type.as_str() {
            "npm" => Runtime::Npx,
            "pypi" => Runtime::Uvx,
            "nuget" => Runtime::Dnx,
            "oci" if hint == Some("podman") => Runtime::Podman,
            "oci" => Runtime::Docker,
            other => return Err(Flaw::PackageKind(Shown::new(other)).at("registryType")),
        })
    }

    pub(crate) fn check_transport(&self) -> Result<(), Refused> {
        match self.transport.kind.as_str() {
            "" | "stdio" => Ok(()),
            "streamable-http" | "sse" => Err(Flaw::RunsByItself.at("transport")),
            other => Err(Flaw::Transport(Shown::new(other)).at("transport")),
        }
    }

    /// Returns what the runtime is told to run, at one version.
    fn target(&self, runtime: Runtime, remarks: &mut Vec<String>) -> Result<String, Refused> {
        let identifier = &self.identifier;
        if matches!(runtime, Runtime::Docker | Runtime::Podman) {
            return container::image(self, remarks);
        }
        identifier::check(runtime, identifier).map_err(|flaw| flaw.at("identifier"))?;
        identifier::check_base(runtime, self.registry_base_url.as_deref())
            .map_err(|flaw| flaw.at("registryBaseUrl"))?;
        let version = self.version.as_deref().ok_or_else(|| Flaw::Missing.at("version"))?;
        check_version(version).map_err(|flaw| flaw.at("version"))?;
        Ok(match runtime {
            Runtime::Uvx => format!("{identifier}=={version}"),
            _ => format!("{identifier}@{version}"),
        })
    }
}

/// Returns the variables a server is started with.
pub(crate) fn environment(
    variables: &[KeyValue],
    questions: &mut Questions,
) -> Result<Vec<(String, Template)>, Refused> {
    let mut names = BTreeSet::new();
    let mut env = Vec::new();
    for variable in variables {
        let name = &variable.name;
        let place = || format!("environmentVariables.{}", Shown::new(name));
        if !is_variable_name(name) {
            return Err(Flaw::VariableName(Shown::new(name)).at("environmentVariables"));
        }
        let upper = name.to_ascii_uppercase();
        if RESERVED_NAMES.contains(&upper.as_str())
            || RESERVED_STARTS.iter().any(|start| upper.starts_with(start))
        {
            return Err(Flaw::ReservedVariable(Shown::new(name)).at("environmentVariables"));
        }
        if !names.insert(name) {
            continue;
        }
        let context = Context { questions, place: place(), name, is_repeated: false };
        env.push((name.clone(), variable.input.template(&variable.variables, context)?));
    }
    Ok(env)
}

/// Returns the arguments for the server's own program.
pub(crate) fn arguments(
    arguments: &[Argument],
    place: &str,
    questions: &mut Questions,
) -> Result<Vec<Arg>, Refused> {
    arguments.iter().enumerate().map(|(at, given)| given.arg(&format!("{place}[{at}]"), questions)).collect()
}

impl Argument {
    fn arg(&self, place: &str, questions: &mut Questions) -> Result<Arg, Refused> {
        if self.kind == ArgumentKind::Positional {
            let name = self.value_hint.as_deref().unwrap_or("argument");
            return Ok(Arg::Value(self.template(place, name, questions)?, Lacking::LeavesItOut));
        }
        let flag = self.flag(place)?;
        if self.is_bare() {
            return Ok(Arg::text(flag));
        }
        let name = flag.trim_start_matches('-').trim_end_matches('=');
        let is_boolean = self.input.format.as_deref() == Some("boolean");
        let template = match is_boolean && !self.input.is_required && self.input.value.is_none() {
            // What is so by default need not be said, and not every switch lets itself be told.
            true => {
                let input = Input { default: None, ..self.input.clone() };
                Self { input, ..self.clone() }.template(place, name, questions)?
            }
            false => self.template(place, name, questions)?,
        };
        // `--flag=true`: a switch would take a second word for an argument of its own.
        let is_joined = flag.ends_with('=') || is_boolean;
        Ok(match is_joined {
            true => Arg::Joined(flag.trim_end_matches('=').to_owned(), template),
            false => Arg::Flag(flag.to_owned(), template),
        })
    }

    fn template(&self, place: &str, name: &str, questions: &mut Questions) -> Result<Template, Refused> {
        let context = Context { questions, place: place.to_owned(), name, is_repeated: self.is_repeated };
        self.input.template(&self.variables, context)
    }

    fn flag(&self, place: &str) -> Result<&str, Refused> {
        let flag =
            self.name.as_deref().filter(|name| !name.is_empty()).ok_or_else(|| Flaw::Missing.at(place))?;
        check_value(flag).map_err(|flaw| flaw.at(place))?;
        Ok(flag)
    }

    /// Returns whether it is a switch: nothing is said of a value.
    fn is_bare(&self) -> bool {
        let input = &self.input;
        let says_nothing = input.value.is_none()
            && input.default.is_none()
            && input.description.is_none()
            && input.format.is_none()
            && input.choices.is_empty()
            && !input.is_required
            && !input.is_secret
            && self.value_hint.is_none();
        says_nothing || input.value.as_ref().is_some_and(|value| value.0.is_empty())
    }
}

#[cfg(test)]
mod tests;
