//! `add`, `add-json`: from what was typed to servers with names.

use std::io::{self, IsTerminal as _, Read as _};
use std::path::Path;

use manifold_registry::check_name;
use manifold_setup::StoredSecret;

use super::entry::Entry;
use super::packages::{self, Package};
use super::pasted::{self, Given};
use super::put::put;
use crate::cli::{AddArgs, AddJsonArgs, TransportArg};
use crate::commands::verb::Verb;
use crate::output::{Exit, Failure};

/// Nothing that is pasted is longer.
const MAX_INPUT_BYTES: u64 = 16 << 20;

pub(super) fn run(args: &AddArgs, verb: &Verb) -> Result<Exit, Failure> {
    let what = what(args, verb)?;
    if let (Some(option), false) = (args.package.of_registry(), matches!(what, What::Registry { .. })) {
        return Err(Failure::usage(format!("`{option}` is for servers of the registry"))
            .hint("`manifold add --registry NAME` adds one, `manifold search WORDS` finds its name"));
    }
    let package = match what {
        What::Registry { own, name } => packages::from_registry(name, own, args, verb)?,
        What::Bundle { own, path } => packages::from_bundle(path, own, args, verb)?,
        What::Pasted { own, given } => {
            if !args.package.set.is_empty() {
                return Err(Failure::usage("`--set` is for servers of the registry and for bundles")
                    .hint("`-e NAME=VALUE` sets a variable of a program"));
            }
            return add(own, given, (&args.env, Vec::new()), args, verb);
        }
    };
    let Package { given, env, made } = package;
    let done = add(None, vec![given], (&env, made.stored()), args, verb);
    made.settle(done.is_ok() && !args.put.dry_run, verb);
    done
}

/// Adds what was found, with what the options say of it and the secrets that were stored for it.
fn add(
    name: Option<&str>,
    mut given: Vec<Given>,
    (env, stored): (&[String], Vec<StoredSecret>),
    args: &AddArgs,
    verb: &Verb,
) -> Result<Exit, Failure> {
    if let Some(name) = name {
        let [one] = given.as_mut_slice() else {
            let message = format!("there are {} servers in it, which cannot all be '{name}'", given.len());
            return Err(Failure::usage(message).hint("leave the name out: they have their own"));
        };
        one.name = Some(name.to_owned());
    }
    for one in &mut given {
        detail(&mut one.entry, env, args, verb)?;
    }
    put(given, &args.put, "add", stored, verb)
}

pub(super) fn run_json(args: &AddJsonArgs, verb: &Verb) -> Result<Exit, Failure> {
    let text = if args.entry == "-" { from_stdin()? } else { args.entry.clone() };
    let mut given = pasted::one(&args.name, text.trim(), &verb.options.environment)?;
    given.name = Some(args.name.clone());
    put(vec![given], &args.put, "add-json", Vec::new(), verb)
}

/// What is to be added, and the name that was given to it.
enum What<'a> {
    Registry { own: Option<&'a str>, name: &'a str },
    Bundle { own: Option<&'a str>, path: &'a Path },
    Pasted { own: Option<&'a str>, given: Vec<Given> },
}

fn what<'a>(args: &'a AddArgs, verb: &Verb) -> Result<What<'a>, Failure> {
    let environment = &verb.options.environment;
    let words: Vec<&str> = args.words.iter().map(String::as_str).collect();
    if let Some(name) = &args.package.registry {
        if words.len() > 1 || !args.command.is_empty() {
            return Err(Failure::usage("with `--registry` only a name of your own can be given"));
        }
        return Ok(What::Registry { own: words.first().copied(), name });
    }
    if !args.command.is_empty() {
        if let Some(more) = words.get(1) {
            return Err(Failure::usage(format!("`{more}` before `--` means nothing")));
        }
        let given = match args.command.as_slice() {
            [word] if is_registry_name(word) && !environment.cwd.join(word).exists() => {
                return Ok(What::Registry { own: words.first().copied(), name: word });
            }
            command => pasted::of_words_as_they_are(command, environment)?,
        };
        return Ok(What::Pasted { own: words.first().copied(), given });
    }
    let (own, what) = match words.as_slice() {
        [] => return Err(Failure::usage("there is nothing to add").hint(HOW)),
        [what] => (None, *what),
        [bundle, name] if is_bundle(bundle) && environment.cwd.join(bundle).is_file() => {
            (Some(*name), *bundle)
        }
        [name, what] => (Some(*name), *what),
        [_, _, more, ..] => return Err(Failure::usage(format!("`{more}` means nothing here")).hint(HOW)),
    };
    Ok(match what {
        "-" => What::Pasted { own, given: pasted::read(&from_stdin()?, environment)? },
        path if is_bundle(path) => What::Bundle { own, path: Path::new(path) },
        word if is_registry_name(word) && !environment.cwd.join(word).exists() => {
            What::Registry { own, name: word }
        }
        word if is_bare(word) => return Err(nothing_but_a_name(word)),
        text => What::Pasted { own, given: pasted::read(text, environment)? },
    })
}

const HOW: &str = "`manifold add NAME -- COMMAND…` for a program, `manifold add NAME URL` for an address";

/// Returns whether it is one word, and so neither a command nor an address.
fn is_bare(word: &str) -> bool {
    !word.contains(char::is_whitespace) && !pasted::is_url(word) && !pasted::is_json(word)
}

/// Returns whether it is the name of a file that a bundle is in.
fn is_bundle(word: &str) -> bool {
    !word.contains("://") && !pasted::is_json(word) && word.ends_with(".mcpb")
}

/// Returns whether it looks like `io.github.somebody/something`.
fn is_registry_name(word: &str) -> bool {
    word.split_once('/').is_some_and(|(space, _)| space.contains('.')) && check_name(word).is_ok()
}

fn nothing_but_a_name(word: &str) -> Failure {
    match word.split_once("://") {
        _ if is_registry_name(word) => Failure::usage(format!("'{word}' is a file or a folder here"))
            .hint(format!("`manifold add --registry {word}` adds the server of that name")),
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
fn detail(entry: &mut Entry, env: &[String], args: &AddArgs, verb: &Verb) -> Result<(), Failure> {
    let is_program = entry.has("command");
    let misplaced = |option: &str, what: &str| {
        Err(Failure::usage(format!("`{option}` is for {what}, which this server is none of")))
    };
    if !is_program && !env.is_empty() {
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
    for pair in env {
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
