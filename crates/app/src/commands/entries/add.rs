//! `add`, `add-json`: from what was typed to servers with names.

use std::io::{self, IsTerminal as _, Read as _};
use std::path::Path;

use super::entry::Entry;
use super::packages;
use super::pasted::{self, Given};
use super::put::put;
use crate::cli::{AddArgs, AddJsonArgs, TransportArg};
use crate::commands::verb::Verb;
use crate::output::{Exit, Failure};

/// Nothing that is pasted is longer.
const MAX_INPUT_BYTES: u64 = 16 << 20;

pub(super) fn run(args: &AddArgs, verb: &Verb) -> Result<Exit, Failure> {
    let (name, mut given) = given(args, verb)?;
    if let Some(name) = name {
        let [one] = given.as_mut_slice() else {
            let message = format!("there are {} servers in it, which cannot all be '{name}'", given.len());
            return Err(Failure::usage(message).hint("leave the name out: they have their own"));
        };
        one.name = Some(name);
    }
    for one in &mut given {
        detail(&mut one.entry, args, verb)?;
    }
    put(given, &args.put, "add", verb)
}

pub(super) fn run_json(args: &AddJsonArgs, verb: &Verb) -> Result<Exit, Failure> {
    let text = if args.entry == "-" { from_stdin()? } else { args.entry.clone() };
    let mut given = pasted::one(&args.name, text.trim(), &verb.options.environment)?;
    given.name = Some(args.name.clone());
    put(vec![given], &args.put, "add-json", verb)
}

/// Returns what is to be added, and the name that was given to it.
fn given(args: &AddArgs, verb: &Verb) -> Result<(Option<String>, Vec<Given>), Failure> {
    let environment = &verb.options.environment;
    if let Some(name) = &args.registry {
        if args.words.len() > 1 || !args.command.is_empty() {
            return Err(Failure::usage("with `--registry` only a name of your own can be given"));
        }
        return Ok((args.words.first().cloned(), packages::from_registry(name, verb)?));
    }
    if !args.command.is_empty() {
        let name = match args.words.as_slice() {
            [] => None,
            [name] => Some(name.clone()),
            [_, more, ..] => return Err(Failure::usage(format!("`{more}` before `--` means nothing"))),
        };
        return Ok((name, pasted::of_words_as_they_are(&args.command, environment)?));
    }
    let (name, what) = match args.words.as_slice() {
        [] => return Err(Failure::usage("there is nothing to add").hint(HOW)),
        [what] => (None, what),
        [name, what] => (Some(name.clone()), what),
        [_, _, more, ..] => return Err(Failure::usage(format!("`{more}` means nothing here")).hint(HOW)),
    };
    let given = match what.as_str() {
        "-" => pasted::read(&from_stdin()?, environment)?,
        path if path.ends_with(".mcpb") => packages::from_bundle(Path::new(path), verb)?,
        word if is_bare(word) => return Err(nothing_but_a_name(word)),
        text => pasted::read(text, environment)?,
    };
    Ok((name, given))
}

const HOW: &str = "`manifold add NAME -- COMMAND…` for a program, `manifold add NAME URL` for an address";

/// Returns whether it is one word, and so neither a command nor an address.
fn is_bare(word: &str) -> bool {
    !word.contains(char::is_whitespace) && !pasted::is_url(word) && !pasted::is_json(word)
}

fn nothing_but_a_name(word: &str) -> Failure {
    match word.split_once("://") {
        Some((scheme, _)) => Failure::usage(format!("`{scheme}` addresses cannot be reached"))
            .hint("an address begins with http:// or https://"),
        None => Failure::usage(format!("what is '{word}'?")).hint(HOW),
    }
}

fn from_stdin() -> Result<String, Failure> {
    if io::stdin().is_terminal() {
        return Err(Failure::usage("there is nothing on standard input"));
    }
    let mut text = String::new();
    let read = io::stdin().take(MAX_INPUT_BYTES + 1).read_to_string(&mut text);
    match read {
        Ok(length) if length as u64 > MAX_INPUT_BYTES => {
            Err(Failure::usage("what came on standard input is longer than 16 MiB"))
        }
        Ok(_) => Ok(text),
        Err(error) => Err(Failure::usage(format!("standard input cannot be read: {error}"))),
    }
}

/// Adds to an entry what the options say.
fn detail(entry: &mut Entry, args: &AddArgs, verb: &Verb) -> Result<(), Failure> {
    let is_program = entry.has("command");
    let misplaced = |option: &str, what: &str| {
        Err(Failure::usage(format!("`{option}` is for {what}, which this server is none of")))
    };
    if !is_program && !args.env.is_empty() {
        return misplaced("--env", "programs");
    }
    if !is_program && args.cwd.is_some() {
        return misplaced("--cwd", "programs");
    }
    if is_program && !args.headers.is_empty() {
        return misplaced("--header", "addresses");
    }
    if is_program && args.transport.is_some() {
        return misplaced("--transport", "addresses");
    }
    for pair in &args.env {
        let (name, value) = match pair.split_once('=') {
            Some((name, value)) => (name, value.to_owned()),
            None => (pair.as_str(), format!("${{{pair}}}")),
        };
        if name.is_empty() {
            return Err(Failure::usage(format!("`{pair}` names no variable")).hint("write NAME=VALUE"));
        }
        entry.set_below("env", name, &value);
    }
    for pair in &args.headers {
        let cut = pair.split_once(':').filter(|(name, _)| !name.trim().is_empty());
        // It may be a secret, and is not repeated.
        let Some((name, value)) = cut else {
            return Err(Failure::usage("a header has no name").hint("write `-H 'NAME: VALUE'`"));
        };
        entry.set_below("headers", name.trim(), value.trim());
    }
    if let Some(transport) = args.transport {
        let word = match transport {
            TransportArg::Http => "http",
            TransportArg::Sse => "sse",
        };
        entry.set("type", &word);
    }
    if let Some(cwd) = &args.cwd {
        entry.set("cwd", &folder(cwd, verb));
    }
    Ok(())
}

/// Returns a folder that is the same wherever the server is started.
fn folder(cwd: &str, verb: &Verb) -> String {
    if cwd.starts_with(['~', '$', '/']) {
        return cwd.to_owned();
    }
    verb.options.environment.cwd.join(cwd).display().to_string()
}
