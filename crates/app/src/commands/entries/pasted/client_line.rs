//! Other programs' commands for adding servers, such as `claude mcp add`.

use manifold_config::Environment;

use super::{Given, is_url, json};
use crate::output::Failure;

/// Programs that have a command `mcp add`.
const PROGRAMS: [&str; 9] = ["claude", "codex", "gemini", "amp", "droid", "qwen", "kimi", "grok", "copilot"];

/// Options whose value says nothing of the server, each with one.
const IGNORED: [&str; 10] = [
    "-s",
    "--scope",
    "--timeout",
    "--description",
    "--include-tools",
    "--exclude-tools",
    "--callback-port",
    "--client-id",
    "--oauth-resource",
    "--scopes",
];

/// Reads the command of another program; `None` where it is none.
pub(super) fn read(words: &[String], environment: &Environment) -> Result<Option<Vec<Given>>, Failure> {
    let plain: Vec<&str> = words.iter().map(String::as_str).collect();
    match plain.as_slice() {
        [program, "mcp", "add", rest @ ..] if PROGRAMS.contains(program) => {
            Ok(Some(vec![of_add(program, rest)?]))
        }
        [program, "mcp", "add-json", rest @ ..] if PROGRAMS.contains(program) => {
            let mut rest = Words { rest };
            let mut found = Vec::new();
            while let Some(word) = rest.next_word() {
                match word {
                    option if IGNORED.contains(&option) => drop(rest.next_word()),
                    option if option.starts_with("--") => {}
                    word => found.push(word),
                }
            }
            let [name, entry] = found.as_slice() else { return Err(odd(program)) };
            json::one(name, entry, environment).map(|given| Some(vec![given]))
        }
        ["code" | "code-insiders", "--add-mcp", entry] => json::read(entry, environment).map(Some),
        _ => Ok(None),
    }
}

struct Words<'a, 'w> {
    rest: &'a [&'w str],
}

impl<'w> Words<'_, 'w> {
    fn next_word(&mut self) -> Option<&'w str> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    /// Takes the values of an option that may have several: those that look like one.
    fn values(&mut self, cut: char) -> Vec<&'w str> {
        let mut values = Vec::from_iter(self.next_word());
        while let Some(next) = self.rest.first().filter(|next| !next.starts_with('-') && next.contains(cut)) {
            if is_url(next) {
                break;
            }
            values.push(next);
            self.next_word();
        }
        values
    }
}

#[derive(Default)]
struct Options<'w> {
    env: Vec<&'w str>,
    headers: Vec<&'w str>,
    transport: Option<&'w str>,
    url: Option<&'w str>,
    token_variable: Option<&'w str>,
}

fn of_add(program: &str, rest: &[&str]) -> Result<Given, Failure> {
    let mut words = Words { rest };
    let mut options = Options::default();
    let mut named: Vec<&str> = Vec::new();
    while let Some(word) = words.next_word() {
        match word {
            "--" => {
                named.extend(words.rest);
                break;
            }
            "-e" | "--env" => options.env.extend(words.values('=')),
            "-H" | "--header" => options.headers.extend(words.values(':')),
            "-t" | "--transport" => options.transport = words.next_word(),
            "--url" => options.url = words.next_word(),
            "--bearer-token-env-var" => options.token_variable = words.next_word(),
            option if IGNORED.contains(&option) => drop(words.next_word()),
            option if option.starts_with('-') => match option.split_once('=') {
                Some(("--env", value)) => options.env.push(value),
                Some(("--header", value)) => options.headers.push(value),
                Some(("--transport", value)) => options.transport = Some(value),
                Some(("--url", value)) => options.url = Some(value),
                _ => {}
            },
            word => {
                named.push(word);
                // After its name comes an address, and more options; or a command, whose options are its own.
                if named.len() == 2 && !is_url(word) {
                    named.extend(words.rest);
                    break;
                }
            }
        }
    }
    given(program, &named, &options)
}

fn given(program: &str, named: &[&str], options: &Options) -> Result<Given, Failure> {
    let (name, server) = named.split_first().ok_or_else(|| odd(program))?;
    let url = options.url.or_else(|| server.first().copied().filter(|word| is_url(word)));
    let mut given = match (url, server) {
        (Some(url), _) => Given::of_url(url),
        (None, []) => return Err(odd(program)),
        (None, command) => {
            let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
            Given::of_command(&command)
        }
    };
    for pair in &options.env {
        let (name, value) = pair.split_once('=').ok_or_else(|| odd(program))?;
        given.entry.set_below("env", name, value);
    }
    for pair in &options.headers {
        let (name, value) = pair.split_once(':').ok_or_else(|| odd(program))?;
        given.entry.set_below("headers", name.trim(), value.trim());
    }
    if let Some(variable) = options.token_variable {
        given.entry.set_below("headers", "Authorization", &format!("Bearer ${{{variable}}}"));
    }
    if let (Some(_), Some(transport)) = (url, options.transport) {
        given.entry.set("type", &transport);
    }
    given.name = Some((*name).to_owned());
    Ok(given)
}

fn odd(program: &str) -> Failure {
    Failure::usage(format!("what was pasted is no whole `{program} mcp add` command"))
        .hint("write it as `manifold add NAME -- COMMAND…` or `manifold add NAME URL`")
}
