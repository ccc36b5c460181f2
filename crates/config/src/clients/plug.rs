//! What a program is told about us, and how its variables are written.

use std::fmt;
use std::path::PathBuf;

use super::table::Client;
use crate::edit::EditError;
use crate::environment::Environment;
use crate::expand::Variables;

/// The one server that a client gets: us. `${VAR}` in a value refers to a variable of the client's environment, however
/// the client writes that.
#[derive(Clone, PartialEq, Eq)]
pub enum Plug {
    Stdio { command: String, args: Vec<String>, env: Vec<(String, String)> },
    Http { url: String, headers: Vec<(String, String)> },
}

/// The values of a plug as one program writes them, sorted by how it takes them.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) command: String,
    pub(super) args: Vec<String>,
    pub(super) env: Vec<(String, String)>,
    /// Variables that are passed on by name.
    pub(super) env_names: Vec<String>,
    pub(super) url: String,
    pub(super) headers: Vec<(String, String)>,
    /// The variable whose value is sent as `Authorization: Bearer`.
    pub(super) bearer_variable: Option<String>,
    /// Headers whose value is that of a variable, by its name.
    pub(super) header_variables: Vec<(String, String)>,
}

/// What a program's entries have keys for, beside plain values.
#[derive(Clone, Copy)]
pub(super) struct Takes {
    pub(super) env_names: bool,
    pub(super) bearer_variable: bool,
    pub(super) header_variables: bool,
}

impl Parts {
    pub(super) fn of(plug: &Plug, client: &Client, takes: Takes) -> Result<Self, EditError> {
        let mut parts = Self::default();
        match plug {
            Plug::Stdio { command, args, env } => {
                parts.command = translated(command, "the command", client)?;
                let args = args.iter().map(|arg| translated(arg, "an argument", client));
                parts.args = args.collect::<Result<_, _>>()?;
                for (name, value) in env {
                    if takes.env_names && reference(value) == Some(name) {
                        parts.env_names.push(name.clone());
                    } else {
                        parts.env.push((name.clone(), translated(value, name, client)?));
                    }
                }
            }
            Plug::Http { url, headers } => {
                parts.url = translated(url, "the URL", client)?;
                for (name, value) in headers {
                    parts.add_header(name, value, client, takes)?;
                }
            }
        }
        Ok(parts)
    }

    fn add_header(
        &mut self,
        name: &str,
        value: &str,
        client: &Client,
        takes: Takes,
    ) -> Result<(), EditError> {
        let bearer = value.strip_prefix("Bearer ").and_then(reference);
        match (bearer, reference(value)) {
            (Some(variable), _)
                if takes.bearer_variable
                    && self.bearer_variable.is_none()
                    && name.eq_ignore_ascii_case("authorization") =>
            {
                self.bearer_variable = Some(variable.to_owned());
            }
            (_, Some(variable)) if takes.header_variables => {
                self.header_variables.push((name.to_owned(), variable.to_owned()));
            }
            _ => self.headers.push((name.to_owned(), translated(value, name, client)?)),
        }
        Ok(())
    }
}

/// Returns the variable a value is nothing but a reference to.
pub(super) fn reference(value: &str) -> Option<&str> {
    let (name, rest) = leading_reference(value)?;
    rest.is_empty().then_some(name)
}

/// Returns the variable a text begins with a reference to, and what follows.
fn leading_reference(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.strip_prefix("${")?.split_once('}')?;
    let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_');
    is_name.then_some((name, rest))
}

/// Writes the references of a value as the program does. What would be one to the program and is none of ours is
/// refused: it could not be written.
fn translated(value: &str, what: &str, client: &Client) -> Result<String, EditError> {
    let (mut written, mut rest) = (String::new(), value);
    loop {
        let start =
            rest.match_indices("${").map(|(at, _)| at).find(|at| leading_reference(&rest[*at..]).is_some());
        let plain = &rest[..start.unwrap_or(rest.len())];
        if has_reference(plain, client) {
            let title = &client.title;
            return Err(EditError::BadEntry(format!("{title} would take a part of {what} for a variable")));
        }
        written.push_str(plain);
        let Some((name, after)) = start.and_then(|start| leading_reference(&rest[start..])) else {
            return Ok(written);
        };
        let Some(form) = &client.reference else {
            let title = &client.title;
            let said = format!(
                "{what} refers to the variable {name}, which {title} cannot do; give the value itself"
            );
            return Err(EditError::BadEntry(said));
        };
        written.push_str(&form.replacen("VAR", name, 1));
        rest = after;
    }
}

/// Tells whether the program would fill in something here.
fn has_reference(text: &str, client: &Client) -> bool {
    let environment = Environment::default();
    let variables = Variables {
        environment: &environment,
        forms: client.forms,
        folder: PathBuf::new(),
        workspace: PathBuf::new(),
    };
    let text = variables.expand(text);
    !text.names.is_empty() || text.value != text.raw
}

/// Names only: the values may hold secrets.
impl fmt::Debug for Plug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names =
            |pairs: &[(String, String)]| pairs.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        match self {
            Self::Stdio { command, args, env } => f
                .debug_struct("Stdio")
                .field("command", command)
                .field("args", args)
                .field("env", &names(env))
                .finish(),
            Self::Http { headers, .. } => {
                f.debug_struct("Http").field("headers", &names(headers)).finish_non_exhaustive()
            }
        }
    }
}
