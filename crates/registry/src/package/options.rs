//! What a server may ask of the program that runs it. Everything else is for the user to add by hand: an option can open
//! this machine to a container, or fetch another package than the one that is named.

use super::container::{check_mount, is_bare_env, is_local_port, judged};
use crate::flaw::{Flaw, Refused, Shown};
use crate::plan::Arg;
use crate::server_json::{Argument, ArgumentKind, Package};
use crate::template::{Lacking, Questions, Template};

/// A program that runs packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runtime {
    Npx,
    Uvx,
    Dnx,
    Docker,
    Podman,
}

/// What becomes of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    /// We say it, or it does not fit; left out.
    Ours,
    /// A switch.
    Switch,
    /// With any value.
    Value,
    /// With the very package that is named.
    SamePackage,
    Mount,
    Env,
    Network,
    LocalPort,
}

const NPX: &[(&str, Use)] = &[
    ("-y", Use::Ours),
    ("--yes", Use::Ours),
    ("-q", Use::Ours),
    ("--quiet", Use::Ours),
    ("-p", Use::SamePackage),
    ("--package", Use::SamePackage),
];
const UVX: &[(&str, Use)] = &[
    ("--from", Use::SamePackage),
    ("-q", Use::Ours),
    ("--quiet", Use::Ours),
    ("--python", Use::Value),
    ("-p", Use::Value),
    ("--prerelease", Use::Value),
    ("--isolated", Use::Switch),
    ("--refresh", Use::Switch),
    ("--no-cache", Use::Switch),
];
const DNX: &[(&str, Use)] = &[("--yes", Use::Ours), ("-y", Use::Ours), ("--prerelease", Use::Switch)];
const CONTAINER: &[(&str, Use)] = &[
    ("-i", Use::Ours),
    ("--interactive", Use::Ours),
    ("--rm", Use::Ours),
    ("-t", Use::Ours),
    ("--tty", Use::Ours),
    ("-it", Use::Ours),
    ("-q", Use::Ours),
    ("--quiet", Use::Ours),
    ("-v", Use::Mount),
    ("--volume", Use::Mount),
    ("--mount", Use::Mount),
    ("-e", Use::Env),
    ("--env", Use::Env),
    ("--network", Use::Network),
    ("--net", Use::Network),
    ("-p", Use::LocalPort),
    ("--publish", Use::LocalPort),
    ("--name", Use::Value),
    ("-u", Use::Value),
    ("--user", Use::Value),
    ("-w", Use::Value),
    ("--workdir", Use::Value),
    ("--entrypoint", Use::Value),
    ("-m", Use::Value),
    ("--memory", Use::Value),
    ("--cpus", Use::Value),
    ("--shm-size", Use::Value),
    ("--platform", Use::Value),
    ("--pull", Use::Value),
    ("--hostname", Use::Value),
    ("--add-host", Use::Value),
    ("--tmpfs", Use::Value),
    ("-l", Use::Value),
    ("--label", Use::Value),
    ("--init", Use::Switch),
    ("--read-only", Use::Switch),
];

impl Runtime {
    pub(crate) fn command(self) -> &'static str {
        match self {
            Self::Npx => "npx",
            Self::Uvx => "uvx",
            Self::Dnx => "dnx",
            Self::Docker => "docker",
            Self::Podman => "podman",
        }
    }

    fn options(self) -> &'static [(&'static str, Use)] {
        match self {
            Self::Npx => NPX,
            Self::Uvx => UVX,
            Self::Dnx => DNX,
            Self::Docker | Self::Podman => CONTAINER,
        }
    }
}

/// Returns the options a server asks for, if all of them are its to ask for.
pub(super) fn runtime_arguments(
    package: &Package,
    runtime: Runtime,
    questions: &mut Questions,
    remarks: &mut Vec<String>,
) -> Result<Vec<Arg>, Refused> {
    let mut args = Vec::new();
    let mut given = package.runtime_arguments.iter().enumerate();
    while let Some((at, argument)) = given.next() {
        let place = format!("runtimeArguments[{at}]");
        let (option, mut value) = option_of(argument, &place, questions)?;
        let refuse = || {
            let option = Shown::new(&option);
            Flaw::RuntimeOption { runtime: runtime.command().to_owned(), option }.at(place.clone())
        };
        if is_said_by_us(&option, package) {
            continue;
        }
        let known = runtime.options().iter().find(|(name, _)| *name == option);
        let (_, allowed) = *known.ok_or_else(refuse)?;
        if !matches!(allowed, Use::Ours | Use::Switch) && value.is_none() {
            let (_, next) = given.next().ok_or_else(refuse)?;
            value = Some(next.template(&place, option.trim_start_matches('-'), questions)?);
        }
        let judge = Judge { package, allowed, questions, remarks };
        match judge.arg(&option, value).map_err(|flaw| flaw.at(place.clone()))? {
            Judged::Taken(arg) => args.push(arg),
            Judged::LeftOut => {}
            Judged::Refused => return Err(refuse()),
        }
    }
    Ok(args)
}

/// Returns an option and its value, however they are written: in two arguments, with `=`, or as a named one.
fn option_of(
    argument: &Argument,
    place: &str,
    questions: &mut Questions,
) -> Result<(String, Option<Template>), Refused> {
    if argument.kind == ArgumentKind::Named {
        let flag = argument.flag(place)?;
        let value = match argument.is_bare() {
            true => None,
            false => Some(argument.template(place, flag.trim_start_matches('-'), questions)?),
        };
        return Ok((flag.trim_end_matches('=').to_owned(), value));
    }
    let template = argument.template(place, "option", questions)?;
    let text = judged(&template);
    if template.has_answers() {
        return Ok((text, Some(template)));
    }
    Ok(match text.split_once('=') {
        Some((option, value)) if option.starts_with("--") => (option.to_owned(), Some(Template::text(value))),
        _ => (text, None),
    })
}

fn is_said_by_us(text: &str, package: &Package) -> bool {
    let identifier = package.identifier.as_str();
    let version = package.version.as_deref().unwrap_or_default();
    text == "run" && package.registry_type == "oci"
        || text == identifier
        || text == format!("{identifier}@{version}")
        || text == format!("{identifier}=={version}")
}

/// What it takes to judge one option.
struct Judge<'a> {
    package: &'a Package,
    allowed: Use,
    questions: &'a mut Questions,
    remarks: &'a mut Vec<String>,
}

enum Judged {
    Taken(Arg),
    LeftOut,
    Refused,
}

impl Judge<'_> {
    fn arg(self, option: &str, value: Option<Template>) -> Result<Judged, Flaw> {
        let value = match (self.allowed, value) {
            (Use::Ours, _) => return Ok(Judged::LeftOut),
            (Use::Switch, None) => {
                return Ok(Judged::Taken(Arg::Value(Template::text(option), Lacking::IsEmpty)));
            }
            (Use::Switch, Some(_)) | (_, None) => return Ok(Judged::Refused),
            (_, Some(value)) => value,
        };
        match self.allowed {
            Use::SamePackage => {
                let text = judged(&value);
                // What is left out here is said by us, with its version.
                return Ok(if is_said_by_us(&text, self.package) {
                    Judged::LeftOut
                } else {
                    Judged::Refused
                });
            }
            Use::Mount => {
                check_mount(&value, &mut self.questions.0)?;
                self.remarks.push(format!("its container sees {}", value.shown(&self.questions.0)));
            }
            Use::Env if is_bare_env(&value, self.package)? => return Ok(Judged::LeftOut),
            Use::Network => match judged(&value).as_str() {
                "none" | "bridge" => {}
                "host" => self.remarks.push("its container shares the network of this machine".to_owned()),
                _ => return Ok(Judged::Refused),
            },
            Use::LocalPort if !is_local_port(&value) => return Ok(Judged::Refused),
            _ => {}
        }
        Ok(Judged::Taken(Arg::Flag(option.to_owned(), value)))
    }
}
