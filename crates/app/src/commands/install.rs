//! `install`: one entry for us in the file of each client that is named.
//!
//! What would be written is shown first; a file is changed by the client's own command where there is one, else in place.
//! Then we connect as the client would and say what it will see. One record holds all of it, for one `undo`.

mod choose;
mod client_file;
mod diff;
mod ours;
mod own_command;
mod plug;
mod probe;
mod program;
#[cfg(test)]
mod tests;

use manifold_config::{Client, OwnCommand, Plug, Writing};
use manifold_setup::{Back, Changes};
use serde::Serialize;

use super::undo::journal;
use super::verb::Verb;
use crate::cli::InstallArgs;
use crate::output::{Exit, Failure, escaped_text};

pub(super) use choose::chosen;
pub(super) use client_file::ClientFile;
pub(super) use ours::check as check_ours;
pub(super) use own_command::{change_by_command, check_not_running, check_stays};

/// What became of one client, as programs read it.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    pub(super) client: &'static str,
    pub(super) file: String,
    /// The folder of the record that `undo` goes by.
    pub(super) backup: Option<String>,
    pub(super) changed: bool,
}

/// Takes the servers of a client's file into our config, into the same record; called before they are taken out of it.
pub(super) type TakeOver<'t> = &'t dyn Fn(&ClientFile, &mut Changes) -> Result<(), Failure>;

/// Installs us into the clients that were named.
pub(super) fn run(args: &InstallArgs, verb: &Verb) -> Result<Exit, Failure> {
    run_with(args, verb, None)
}

/// Does so with a way to take over a client's servers.
pub(super) fn run_with(
    args: &InstallArgs,
    verb: &Verb,
    take_over: Option<TakeOver<'_>>,
) -> Result<Exit, Failure> {
    let clients = chosen(&args.which, "install", verb)?;
    let plug = plug::of(args, verb)?;
    if args.take_over && take_over.is_none() {
        return Err(Failure::usage("--take-over needs `import`, which this version does not have"));
    }
    if args.print {
        return print(&clients, args, &plug, verb);
    }
    let mut changes = match args.dry_run {
        true => None,
        false => Some(begin("install", &words(&clients, args), verb)?),
    };
    let job = Job { args, verb, plug: &plug, take_over };
    each(&clients, args.which.clients.len() == 1, verb, |client| job.install(client, changes.as_mut()))
        .inspect(|_| finish(changes.take(), verb))
}

/// Begins the record of a command.
pub(super) fn begin(verb_name: &str, words: &str, verb: &Verb) -> Result<Changes, Failure> {
    journal(verb)?.begin(verb_name, words).map_err(|error| {
        Failure::new(Exit::Failed, "failed", format!("no record can be kept to undo it by: {error}"))
            .hint("name another folder for it with XDG_STATE_HOME")
    })
}

pub(super) fn finish(changes: Option<Changes>, verb: &Verb) {
    if let Some(Err(error)) = changes.map(Changes::finish) {
        verb.output.remark(&format!("old records cannot be removed: {error}"));
    }
}

/// Does something for each client. What fails for one is said, and done for the others.
pub(super) fn each(
    clients: &[&'static Client],
    is_one: bool,
    verb: &Verb,
    mut act: impl FnMut(&'static Client) -> Result<Row, Failure>,
) -> Result<Exit, Failure> {
    let mut rows = Vec::new();
    let mut exit = Exit::Ok;
    for client in clients {
        match act(client) {
            Ok(row) => rows.push(row),
            Err(failure) if is_one => return Err(failure),
            Err(failure) => {
                verb.output.fail(&failure);
                exit = Exit::Failed;
            }
        }
    }
    if verb.output.is_json() {
        match rows.as_slice() {
            [row] if is_one => verb.output.json(row),
            rows => verb.output.json(&rows),
        }
    }
    Ok(exit)
}

/// Returns the command for people, as the record keeps it.
fn words(clients: &[&'static Client], args: &InstallArgs) -> String {
    let ids: Vec<&str> = clients.iter().map(|client| client.id()).collect();
    let take_over = if args.take_over { " --take-over" } else { "" };
    format!("install {}{take_over}", ids.join(" "))
}

struct Job<'j> {
    args: &'j InstallArgs,
    verb: &'j Verb<'j>,
    plug: &'j Plug,
    take_over: Option<TakeOver<'j>>,
}

/// What is to become of a file.
struct Planned {
    text: String,
    /// Servers that move behind us.
    taken: Vec<String>,
}

impl Job<'_> {
    fn install(&self, client: &'static Client, changes: Option<&mut Changes>) -> Result<Row, Failure> {
        if client.writing() == Writing::Print {
            let said =
                format!("{} is not written by us: {}", client.title(), client.note().unwrap_or_default());
            let how = format!("`manifold install {} --print` shows what to paste", client.id());
            return Err(Failure::new(Exit::Failed, "unsupported", said).hint(how));
        }
        let file = ClientFile::open(client, self.args.scope.into(), self.verb)?;
        let planned = self.plan(&file, &file.text)?;
        let is_changed = planned.text != file.text;
        self.show(&file, &planned, is_changed);
        let mut backup = None;
        if let Some(changes) = changes {
            if is_changed {
                self.write(&file, &planned, changes)?;
                backup = changes.folder();
            }
            self.tell_note(client);
            probe::tell(client, &self.args.name, self.plug, self.verb);
        }
        Ok(Row {
            client: client.id(),
            file: file.shown(),
            backup: backup.map(|folder| folder.display().to_string()),
            changed: is_changed,
        })
    }

    fn plan(&self, file: &ClientFile, text: &str) -> Result<Planned, Failure> {
        let name = &self.args.name;
        if !self.args.force {
            ours::check(file, text, name, self.plug, self.verb)?;
        }
        let text = file.client.put_entry(text, file.path(), name, self.plug)?;
        if !self.args.take_over {
            return Ok(Planned { text, taken: Vec::new() });
        }
        let (text, taken) = file.client.take_others(&text, file.path(), name)?;
        Ok(Planned { text, taken })
    }

    fn write(&self, file: &ClientFile, planned: &Planned, changes: &mut Changes) -> Result<(), Failure> {
        let name = self.args.name.as_str();
        let names = planned.taken.iter().map(String::as_str).chain([name]);
        let back =
            Back::Entries { client: file.client.id().to_owned(), names: names.map(str::to_owned).collect() };
        if let (true, Some(take_over)) = (self.args.take_over, self.take_over) {
            take_over(file, changes)?;
        }
        let is_there = file.has(&file.text, name)?;
        // One that is there cannot be added: it goes first.
        let gone = planned.taken.iter().map(String::as_str).chain(is_there.then_some(name));
        let gone: Vec<(OwnCommand, &str)> = gone.map(|name| (OwnCommand::Remove, name)).collect();
        let steps: Vec<(OwnCommand, &str)> = [gone, vec![(OwnCommand::Add, name)]].concat();
        let is_done = |text: &str| {
            let names = file.client.names_in(text, file.path()).unwrap_or_default();
            names.iter().any(|one| one == name) && !planned.taken.iter().any(|taken| names.contains(taken))
        };
        let scope = self.args.scope.into();
        if !change_by_command(file, &steps, self.plug, scope, &back, changes, self.verb, &is_done)? {
            check_not_running(file, self.args.force)?;
            changes.edit(&file.target, &back, |old| -> Result<_, Failure> {
                let text = file.read_as_text(old)?;
                let again = self.plan(file, &text)?;
                Ok((again.text != text).then(|| again.text.into_bytes()))
            })?;
        }
        check_stays(file, &is_done, self.verb)
    }

    fn show(&self, file: &ClientFile, planned: &Planned, is_changed: bool) {
        if self.verb.output.is_json() {
            return;
        }
        let title = file.client.title();
        let said = match (is_changed, self.args.dry_run) {
            (false, _) => format!("{title}: {} has our entry already", file.shown()),
            (true, true) => format!("{title}: {} would become", file.shown()),
            (true, false) => format!("{title}: {}", file.shown()),
        };
        self.verb.output.line(&said);
        if is_changed {
            let ours = file.client.printed_entry(&self.args.name, self.plug).unwrap_or_default();
            diff::show(file, &planned.text, &ours, self.verb);
        }
        if !planned.taken.is_empty() {
            self.verb.output.line(&format!("  moved behind Manifold: {}", planned.taken.join(", ")));
        }
    }

    fn tell_note(&self, client: &Client) {
        if let Some(note) = client.note() {
            self.verb.output.remark(&format!("{}: {note}", client.title()));
        }
    }
}

/// Prints what to paste, and a link where the client has one.
fn print(clients: &[&'static Client], args: &InstallArgs, plug: &Plug, verb: &Verb) -> Result<Exit, Failure> {
    #[derive(Serialize)]
    struct Printed {
        client: &'static str,
        entry: String,
        link: Option<String>,
    }
    let mut rows = Vec::new();
    for client in clients {
        let entry = client.printed_entry(&args.name, plug)?;
        let link = client.deep_link(&args.name, plug);
        rows.push(Printed { client: client.id(), entry, link });
    }
    if verb.output.is_json() {
        match rows.as_slice() {
            [row] if args.which.clients.len() == 1 => verb.output.json(row),
            rows => verb.output.json(&rows),
        }
        return Ok(Exit::Ok);
    }
    for (client, row) in clients.iter().zip(&rows) {
        if let Some(note) = client.note() {
            verb.output.remark(&format!("{}: {note}", client.title()));
        }
        verb.output.text(&escaped_text(&row.entry));
        if let Some(link) = &row.link {
            verb.output.line(link);
        }
    }
    Ok(Exit::Ok)
}
