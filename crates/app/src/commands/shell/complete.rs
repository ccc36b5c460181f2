//! Completions: a shell asks this program what could come next, and it answers from the config and from what it
//! remembers of servers.

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Command;
use clap_complete::aot::generate;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::{EnvCompleter, Shells};
use clap_complete_nushell::Nushell;

use super::super::{fail, print};
use super::remembered::{Known, Remembered};
use super::shells::{self, Shell};
use crate::cli::{self, ShellArg};

/// Says which shell asks. It is set by what `completions` prints.
const VARIABLE: &str = "MANIFOLD_COMPLETE";
const PROGRAM: &str = "manifold";

/// Commands whose first word is a server, and those whose first word is something a server offers.
const OF_SERVERS: &[&str] = &[
    "get", "start", "stop", "restart", "enable", "disable", "refresh", "wait", "logs", "remove", "rename",
    "login", "logout",
];
const OF_TOOLS: &[&str] = &["call", "tool"];
const OF_PROMPTS: &[&str] = &["prompt"];
const OF_RESOURCES: &[&str] = &["read"];

/// How nushell asks: its own way of completing knows no words that change.
const NUSHELL_COMPLETER: &str = r#"
  def "nu-complete manifold words" [context: string] {
    let words = ($context | split row --regex '\s+')
    with-env { MANIFOLD_COMPLETE: fish } { ^manifold -- ...$words } | lines | parse --regex '^(?<value>[^\t]*)\t?(?<description>.*)$'
  }
"#;

/// Answers a shell that asks what could come next, and returns whether one did.
pub(crate) fn complete_if_asked() -> bool {
    let shells = [&Shell::Bash as &dyn EnvCompleter, &Shell::Fish, &Shell::Zsh];
    let asked = clap_complete::CompleteEnv::with_factory(command).var(VARIABLE).shells(Shells(&shells));
    let folder = std::env::current_dir().ok();
    // A shell shows nothing of an error, and whoever types is helped by none.
    asked.try_complete(std::env::args_os(), folder.as_deref()).unwrap_or(true)
}

/// Prints what makes a shell ask.
pub(super) fn register(shell: ShellArg) -> ExitCode {
    match registration(shell) {
        Ok(script) => print(&script),
        Err(error) => fail(&format!("the script cannot be written: {error}"), 1),
    }
}

fn registration(shell: ShellArg) -> std::io::Result<String> {
    let mut script = Vec::new();
    let shell = match shell {
        ShellArg::Bash => Shell::Bash,
        ShellArg::Zsh => Shell::Zsh,
        ShellArg::Fish => Shell::Fish,
        ShellArg::Nushell => {
            generate(Nushell, &mut cli::command(), PROGRAM, &mut script);
            return Ok(with_changing_words(&String::from_utf8_lossy(&script)));
        }
    };
    shell.write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script)?;
    Ok(String::from_utf8_lossy(&script).into_owned())
}

/// Has nushell ask for the words that it took for any text.
fn with_changing_words(module: &str) -> String {
    let mut text = String::new();
    for line in module.lines() {
        let is_word = line.starts_with("    ") && !line.trim_start().starts_with('-');
        let line = match line.split_once(": string") {
            Some((name, rest)) if is_word && !rest.starts_with('@') => {
                format!("{name}: string@\"nu-complete manifold words\"{rest}")
            }
            _ => line.to_owned(),
        };
        text.push_str(&line);
        text.push('\n');
        if line.starts_with("module ") {
            text.push_str(NUSHELL_COMPLETER);
        }
    }
    text
}

/// Returns the grammar, with what is known of words that are not part of it.
fn command() -> Command {
    let words: Vec<String> = words(std::env::args_os());
    let mut command = cli::command();
    let groups: [(&[&str], Known); 4] = [
        (OF_SERVERS, Known::Servers),
        (OF_TOOLS, Known::Tools),
        (OF_PROMPTS, Known::Prompts),
        (OF_RESOURCES, Known::Resources),
    ];
    for (verbs, known) in groups {
        for verb in verbs {
            add(&mut command, verb, 1, known.clone(), &words);
        }
    }
    if let Some(tool) = after(&words, "call") {
        add(&mut command, "call", 2, Known::Arguments { of: tool.to_owned() }, &words);
    }
    if let Some(prompt) = after(&words, "prompt") {
        add(&mut command, "prompt", 2, Known::PromptArguments { of: prompt.to_owned() }, &words);
    }
    if after(&words, "complete") == Some("prompt") {
        add(&mut command, "complete", 2, Known::Prompts, &words);
        let prompt = after(&words, "prompt").unwrap_or_default().to_owned();
        add(&mut command, "complete", 3, Known::PromptArguments { of: prompt }, &words);
    }
    if let Some(namespaces) = command.find_subcommand_mut("ns") {
        add(namespaces, "show", 1, Known::Namespaces, &words);
        for verb in ["allow", "deny"] {
            add(namespaces, verb, 1, Known::Namespaces, &words);
            add(namespaces, verb, 2, Known::Rules, &words);
        }
    }
    let anywhere = Anywhere {
        servers: candidates(Known::Servers, &words),
        namespaces: candidates(Known::Namespaces, &words),
    };
    anywhere.add_to(command)
}

/// Words that mean the same in every command.
struct Anywhere {
    servers: ArgValueCandidates,
    namespaces: ArgValueCandidates,
}

impl Anywhere {
    /// Gives them to a command and to those below it.
    fn add_to(&self, mut command: Command) -> Command {
        for verb in command.get_subcommands_mut() {
            *verb = self.add_to(std::mem::take(verb));
        }
        command.mut_args(|arg| match arg.get_id().as_str() {
            "namespace" => arg.add(self.namespaces.clone()),
            _ if arg.get_long() == Some("server") => arg.add(self.servers.clone()),
            _ => arg,
        })
    }
}

/// Gives a positional argument of a command its words, if there is such a command.
fn add(command: &mut Command, verb: &str, index: usize, known: Known, words: &[String]) {
    let Some(found) = command.find_subcommand_mut(verb) else { return };
    let candidates = candidates(known, words);
    *found = std::mem::take(found).mut_args(|arg| match arg.get_index() == Some(index) {
        true => arg.add(candidates.clone()),
        false => arg,
    });
}

fn candidates(known: Known, words: &[String]) -> ArgValueCandidates {
    let words = words.to_vec();
    ArgValueCandidates::new(move || {
        let remembered = Remembered::read(&words);
        // What a server calls so is no option of ours.
        let offered = remembered.words(&known).into_iter().filter(|word| !word.starts_with('-'));
        offered.map(CompletionCandidate::new).collect()
    })
}

/// Returns the words of the command line that is being typed, up to the one the cursor is in.
fn words(args: impl Iterator<Item = OsString>) -> Vec<String> {
    let typed =
        args.skip_while(|arg| arg != "--").skip(1).take(shells::cursor().map_or(usize::MAX, |at| at + 1));
    typed.map(|word| word.to_string_lossy().into_owned()).collect()
}

/// Returns the first word after a command that is no option.
fn after<'w>(words: &'w [String], verb: &str) -> Option<&'w str> {
    let at = words.iter().position(|word| word == verb)?;
    let rest = words.get(at + 1..)?;
    // What is being typed itself says nothing yet.
    let (_, settled) = rest.split_last()?;
    settled.iter().map(String::as_str).find(|word| !word.starts_with('-'))
}
