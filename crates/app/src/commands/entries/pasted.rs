//! What people copy from somewhere and hand to `add`: a line of a shell, another program's command for adding servers, an
//! address, or an entry of some program's file.

mod client_line;
mod json;
mod shell_words;
mod tables;
#[cfg(test)]
mod tests;

use manifold_config::Environment;

use super::entry::Entry;
use super::name;
use crate::output::Failure;
pub(super) use json::one;

/// A server as it was given.
#[derive(Debug, Clone, Default)]
pub(super) struct Given {
    /// The name that came with it, else one that can be found in it.
    pub(super) name: Option<String>,
    pub(super) entry: Entry,
    /// What is to be said about it.
    pub(super) remarks: Vec<String>,
}

impl Given {
    /// Takes the words of a command as they are.
    pub(super) fn of_command(words: &[String]) -> Self {
        let mut entry = Entry::of_command(words);
        let mut remarks = Vec::new();
        if let [docker, run, arguments @ ..] = words
            && ["docker", "podman"].contains(&docker.as_str())
            && run == "run"
        {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            for variable in name::passed_on(&arguments) {
                // It is passed on only if the one who starts the container has it.
                entry.set_below("env", variable, &format!("${{{variable}}}"));
            }
            if !is_interactive(&arguments) {
                remarks.push(format!("`{docker} run` without `-i` closes a server's standard input"));
            }
        }
        Self { name: name::of_command(words), entry, remarks }
    }

    pub(super) fn of_url(url: &str) -> Self {
        Self { name: name::of_url(url), entry: Entry::of_url(url), remarks: Vec::new() }
    }
}

/// Reads what was pasted.
pub(super) fn read(text: &str, environment: &Environment) -> Result<Vec<Given>, Failure> {
    let text = text.trim();
    if is_json(text) {
        return json::read(text, environment);
    }
    if is_url(text) {
        return Ok(vec![Given::of_url(text)]);
    }
    if let Some(given) = tables::read(text, environment) {
        return given;
    }
    of_words(shell_words::split(text)?, environment)
}

/// Takes a command word for word, unless it is another program's for adding servers.
pub(super) fn of_words_as_they_are(
    words: &[String],
    environment: &Environment,
) -> Result<Vec<Given>, Failure> {
    Ok(client_line::read(words, environment)?.unwrap_or_else(|| vec![Given::of_command(words)]))
}

/// Reads a line: another program's command for adding servers, or that of a server.
fn of_words(mut words: Vec<String>, environment: &Environment) -> Result<Vec<Given>, Failure> {
    // What shells show before the cursor is copied along.
    if words.first().is_some_and(|word| ["$", "%", ">", "#"].contains(&word.as_str())) {
        words.remove(0);
    }
    if let Some(given) = client_line::read(&words, environment)? {
        return Ok(given);
    }
    let is_variable = |word: &String| {
        word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        })
    };
    let variables = words.iter().take_while(|word| is_variable(word)).count();
    let command = words.split_off(variables);
    if command.is_empty() {
        return Err(Failure::usage("there is no command in what was pasted"));
    }
    let mut given = Given::of_command(&command);
    for (name, value) in words.iter().filter_map(|word| word.split_once('=')) {
        given.entry.set_below("env", name, value);
    }
    Ok(vec![given])
}

pub(super) fn is_url(text: &str) -> bool {
    let is_address = ["http://", "https://"].iter().any(|scheme| {
        text.get(..scheme.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(scheme))
            && text.len() > scheme.len()
    });
    is_address && !text.contains(char::is_whitespace)
}

/// Returns whether a text is meant as JSON: an object, or a member that was cut out of one.
pub(super) fn is_json(text: &str) -> bool {
    ["{", "//", "/*"].iter().any(|begin| text.starts_with(begin))
        || text.starts_with('"') && text.contains(':') && text.contains('{')
}

/// Returns whether a `docker run` keeps its standard input open.
fn is_interactive(arguments: &[&str]) -> bool {
    arguments.iter().any(|word| {
        *word == "--interactive"
            || word.starts_with('-') && !word.starts_with("--") && word.len() <= 4 && word.contains('i')
    })
}
