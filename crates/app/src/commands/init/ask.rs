//! What somebody at the terminal is asked before anything is written.

use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use manifold_config::{Client, FoundServer};

use super::Choice;
use crate::interrupt;
use crate::output::{Exit, Failure, counted};

/// Asks what is to be done. Who breaks off has had nothing written.
pub(super) fn choose(
    found: &[FoundServer],
    clients: Vec<&'static Client>,
    keeps: bool,
) -> Result<Choice, Failure> {
    asked(found, clients, keeps).map_err(|error| match error.kind() {
        io::ErrorKind::Interrupted => Failure::new(Exit::Interrupted, "interrupted", "nothing was written"),
        _ => Failure::new(Exit::Failed, "failed", format!("nobody can be asked: {error}"))
            .hint("`manifold init --yes` asks nothing"),
    })
}

fn asked(found: &[FoundServer], clients: Vec<&'static Client>, keeps: bool) -> io::Result<Choice> {
    let count = found.iter().filter(|server| !server.is_ourselves).count();
    let mut imports = count > 0;
    if imports {
        let question = format!("Import {} into the config of Manifold?", counted(count, "server"));
        imports = cliclack::confirm(question).initial_value(true).interact()?;
    }
    let mut chosen = clients;
    if !chosen.is_empty() {
        let mut question =
            cliclack::multiselect("Put Manifold into which clients? (space marks, Enter goes on)");
        for (number, client) in chosen.iter().enumerate() {
            question = question.item(number, client.title(), "");
        }
        let all: Vec<usize> = (0..chosen.len()).collect();
        let numbers = question.initial_values(all).required(false).interact()?;
        chosen = numbers.into_iter().filter_map(|number| chosen.get(number).copied()).collect();
    }
    let mut takes_over = imports && !keeps && !chosen.is_empty();
    if takes_over {
        let question =
            "Take what was imported out of the clients' own files? (`manifold undo` brings it back)";
        takes_over = cliclack::confirm(question).initial_value(true).interact()?;
    }
    if !imports && chosen.is_empty() && count > 0 {
        return Err(io::ErrorKind::Interrupted.into());
    }
    Ok(Choice { clients: chosen, imports, takes_over })
}

/// What Ctrl-C finds.
pub(super) struct Interrupted(Arc<AtomicBool>);

impl Interrupted {
    /// Notes that files are written from now on.
    pub(super) fn writing(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Has Ctrl-C say what has become of the files. While a question waits for a key it is the question that ends; between two
/// of them, and afterwards, it is this.
pub(super) fn on_interrupt() -> Result<Interrupted, Failure> {
    let is_writing = Arc::new(AtomicBool::new(false));
    let stage = Arc::clone(&is_writing);
    let end = move || {
        let said = match stage.load(Ordering::Relaxed) {
            true => "broken off; `manifold undo` takes back what was done",
            false => "nothing was written",
        };
        // A question hides the cursor.
        let _ = writeln!(io::stderr(), "\x1b[?25h\nmanifold: {said}");
        std::process::exit(Exit::Interrupted.code().into());
    };
    interrupt::on_interrupt(end).map_err(|error| Failure::new(Exit::Failed, "failed", error.to_string()))?;
    Ok(Interrupted(is_writing))
}
