//! Which clients are meant: those that are named, all that are here, or those that somebody at the terminal chooses.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use manifold_config::{Client, Writing, client, clients};

use super::super::verb::Verb;
use crate::cli::WhichClients;
use crate::output::{Exit, Failure, Suggestion, escaped_text};

/// Returns the clients that are meant. Without a name, somebody at the terminal is asked.
pub(in super::super) fn chosen(
    which: &WhichClients,
    command: &str,
    verb: &Verb,
) -> Result<Vec<&'static Client>, Failure> {
    if !which.clients.is_empty() {
        let mut found = Vec::new();
        for id in &which.clients {
            let client = known(id)?;
            if !found.iter().any(|one: &&Client| one.id() == client.id()) {
                found.push(client);
            }
        }
        return Ok(found);
    }
    let present = present(verb);
    if which.all {
        return if present.is_empty() { Err(none()) } else { Ok(present) };
    }
    if present.is_empty() {
        return Err(none());
    }
    let is_asked = !verb.output.is_json() && io::stdin().is_terminal() && io::stderr().is_terminal();
    if is_asked { ask(&present, command) } else { Err(unnamed(&present, command)) }
}

/// Returns the clients that are here and whose files we write.
pub(in super::super) fn present(verb: &Verb) -> Vec<&'static Client> {
    let environment = &verb.options.environment;
    clients()
        .iter()
        .filter(|client| client.writing() == Writing::File && client.is_present(environment))
        .collect()
}

fn known(id: &str) -> Result<&'static Client, Failure> {
    client(id).ok_or_else(|| {
        let ids = clients().iter().map(|client| client.id());
        let all: Vec<&str> = ids.clone().collect();
        let hint = Suggestion::among(ids, id).or(&format!("there are {}", all.join(", ")));
        Failure::new(Exit::Unknown, "unknown-client", format!("there is no client '{id}'")).hint(hint)
    })
}

fn none() -> Failure {
    let ids: Vec<&str> = clients().iter().map(|client| client.id()).collect();
    Failure::new(Exit::Unknown, "unknown-client", "no client that we know is here")
        .hint(format!("name the one you want: {}", ids.join(", ")))
}

fn unnamed(present: &[&'static Client], command: &str) -> Failure {
    let ids: Vec<&str> = present.iter().map(|client| client.id()).collect();
    Failure::usage(format!("which client? Here are {}", ids.join(", ")))
        .hint(format!("`manifold {command} {}`, or `manifold {command} --all`", ids[0]))
}

/// Asks for numbers or names.
fn ask(present: &[&'static Client], command: &str) -> Result<Vec<&'static Client>, Failure> {
    let mut screen = io::stderr();
    for (number, client) in present.iter().enumerate() {
        let line = format!("{:>3}  {}  ({})", number + 1, client.title(), client.id());
        let _ = writeln!(screen, "{}", escaped_text(&line));
    }
    let _ = write!(screen, "Which of them? (numbers, names, or `all`) ");
    let _ = screen.flush();
    let mut answer = String::new();
    let _ = io::stdin().lock().read_line(&mut answer);
    picked(&answer, present)?.ok_or_else(|| unnamed(present, command))
}

/// Reads such an answer; `None` where there is none.
pub(super) fn picked(
    answer: &str,
    present: &[&'static Client],
) -> Result<Option<Vec<&'static Client>>, Failure> {
    let words: Vec<&str> = answer.split([' ', ',', '\n', '\t']).filter(|word| !word.is_empty()).collect();
    if words == ["all"] {
        return Ok(Some(present.to_vec()));
    }
    let mut found: Vec<&'static Client> = Vec::new();
    for word in words {
        let numbered = word.parse().ok().and_then(|number: usize| present.get(number.checked_sub(1)?));
        let client = match numbered {
            Some(client) => client,
            None => known(word)?,
        };
        if !found.iter().any(|one| one.id() == client.id()) {
            found.push(client);
        }
    }
    Ok((!found.is_empty()).then_some(found))
}
