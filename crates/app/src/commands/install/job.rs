//! Our entry in one client's file, and its other servers out of it where they move behind us.

use std::path::PathBuf;

use manifold_config::{Client, OwnCommand, Plug, Writing};
use manifold_setup::Back;

use super::super::entries::Imported;
use super::super::record::Record;
use super::super::verb::Verb;
use super::take_over::{self, Taken};
use super::{ClientFile, Row, change_by_command, check_not_running, check_stays, diff, has_command, ours};
use crate::cli::InstallArgs;
use crate::output::{Exit, Failure, counted};

/// What becomes of the servers that a client has beside us.
#[derive(Clone, Copy)]
pub(in super::super) enum Others<'o> {
    Stay,
    /// They may go once they are imported; so far it is only looked whether they can.
    MayGo,
    /// They are imported, and go from the client's file.
    TakenOver,
    /// They were imported before, and go from the client's file.
    Imported(&'o Imported),
}

/// How we are installed into clients.
pub(in super::super) struct Job<'j> {
    pub(in super::super) args: &'j InstallArgs,
    pub(in super::super) verb: &'j Verb<'j>,
    pub(in super::super) plug: &'j Plug,
    pub(in super::super) others: Others<'j>,
}

impl Job<'_> {
    /// Changes the file of a client, or says what would be changed.
    pub(in super::super) fn install(
        &self,
        client: &'static Client,
        record: &mut Record,
    ) -> Result<Row, Failure> {
        if client.writing() == Writing::Print {
            let said =
                format!("{} is not written by us: {}", client.title(), client.note().unwrap_or_default());
            let how = format!("`manifold install {} --print` shows what to paste", client.id());
            return Err(Failure::new(Exit::Failed, "unsupported", said).hint(how));
        }
        let file = self.check(client)?;
        let taken = self.taken(&file, record)?;
        let text = self.plan(&file, &file.text, &taken.names)?;
        let is_changed = text != file.text;
        self.show(&file, &text, &taken, is_changed);
        let mut backup: Option<PathBuf> = None;
        if is_changed && !self.args.dry_run {
            self.write(&file, &taken, record).map_err(|failure| self.after_import(failure, &taken))?;
            backup = record.changes().folder();
        }
        if let (Some(note), false) = (client.note(), self.args.dry_run) {
            self.verb.output.remark(&format!("{}: {note}", client.title()));
        }
        Ok(Row {
            client: client.id(),
            file: file.shown(),
            backup: backup.map(|folder| folder.display().to_string()),
            changed: is_changed,
            taken: taken.names,
            left: taken.left,
        })
    }

    /// Opens the file of a client. What would keep us from writing it, also without the servers that may go from it, is found
    /// before anything is imported.
    pub(in super::super) fn check(&self, client: &'static Client) -> Result<ClientFile, Failure> {
        let file = ClientFile::open(client, self.args.scope.into(), self.verb)?;
        let mut names = match self.others {
            Others::Stay => Vec::new(),
            Others::MayGo | Others::TakenOver | Others::Imported(_) => {
                file.told(file.client.names_in(&file.text, file.path()))?
            }
        };
        names.retain(|name| *name != self.args.name);
        self.plan(&file, &file.text, &names)?;
        let is_emptied = matches!(self.others, Others::TakenOver) && !names.is_empty();
        let is_changed = is_emptied || self.plan(&file, &file.text, &[])? != file.text;
        if is_changed && !self.args.dry_run {
            self.check_writable(&file)?;
        }
        Ok(file)
    }

    /// Refuses a file that its client would write over, unless the client's own command may do the work.
    fn check_writable(&self, file: &ClientFile) -> Result<(), Failure> {
        let steps = [(OwnCommand::Add, self.args.name.as_str())];
        match has_command(file, &steps, self.plug, self.args.scope.into(), self.verb) {
            true => Ok(()),
            false => check_not_running(file, self.args.force, self.verb),
        }
    }

    fn taken(&self, file: &ClientFile, record: &mut Record) -> Result<Taken, Failure> {
        match self.others {
            Others::Stay | Others::MayGo => Ok(Taken::default()),
            Others::TakenOver => take_over::import(file, self.args, self.verb, record),
            Others::Imported(imported) => take_over::of(imported, file, self.verb),
        }
    }

    /// Returns a text of the file with our entry and without these servers. One that is not what was imported stays.
    fn plan(&self, file: &ClientFile, text: &str, taken: &[String]) -> Result<String, Failure> {
        let name = &self.args.name;
        if !self.args.force {
            ours::check(file, text, name, self.plug, self.verb)?;
        }
        let new = file.told(file.client.put_entry(text, file.path(), name, self.plug))?;
        let mut gone = Vec::new();
        for one in taken {
            let entry = |text: &str| file.told(file.client.entry_in(text, file.path(), one));
            let now = entry(text)?;
            if now.is_some() && now == entry(&file.text)? {
                gone.push(one.as_str());
            }
        }
        if gone.is_empty() {
            return Ok(new);
        }
        file.told(file.client.take_entries(&new, file.path(), &gone))
    }

    fn write(&self, file: &ClientFile, taken: &Taken, record: &mut Record) -> Result<(), Failure> {
        let name = self.args.name.as_str();
        let names = taken.names.iter().map(String::as_str).chain([name]);
        let back =
            Back::Entries { client: file.client.id().to_owned(), names: names.map(str::to_owned).collect() };
        let is_there = file.has(&file.text, name)?;
        // One that is there cannot be added: it goes first.
        let gone = taken.names.iter().map(String::as_str).chain(is_there.then_some(name));
        let gone: Vec<(OwnCommand, &str)> = gone.map(|name| (OwnCommand::Remove, name)).collect();
        let steps: Vec<(OwnCommand, &str)> = [gone, vec![(OwnCommand::Add, name)]].concat();
        let is_done = |text: &str| {
            let names = file.client.names_in(text, file.path()).unwrap_or_default();
            names.iter().any(|one| one == name) && !taken.names.iter().any(|taken| names.contains(taken))
        };
        let scope = self.args.scope.into();
        let changes = record.changes();
        if !change_by_command(file, &steps, self.plug, scope, &back, changes, self.verb, &is_done)? {
            check_not_running(file, self.args.force, self.verb)?;
            changes.edit(&file.target, &back, |old| -> Result<_, Failure> {
                let text = file.read_as_text(old)?;
                let new = self.plan(file, &text, &taken.names)?;
                Ok((new != text).then(|| new.into_bytes()))
            })?;
        }
        check_stays(file, &is_done, self.verb)
    }

    /// Says of a failure that the servers are in our config by now. They are in the client's file too.
    fn after_import(&self, failure: Failure, taken: &Taken) -> Failure {
        if !taken.is_imported {
            return failure;
        }
        let said = format!("{}; its servers were imported, and stay in its file too", failure.message);
        let hint = failure.hint.clone().map(|hint| format!("{hint}; ")).unwrap_or_default();
        Failure { message: said, ..failure }.hint(format!("{hint}`manifold undo` takes the import back"))
    }

    fn show(&self, file: &ClientFile, text: &str, taken: &Taken, is_changed: bool) {
        let output = &self.verb.output;
        for left in &taken.left {
            output.remark(&format!("{} stays in {}: {}", left.id, file.shown(), left.why));
        }
        if output.is_json() {
            return;
        }
        let title = file.client.title();
        let (would, are) = if self.args.dry_run { ("would become", "would move") } else { ("", "moved") };
        let is_brief = matches!(self.others, Others::Imported(_)) || self.args.is_brief;
        let said = match (is_changed, is_brief) {
            (false, _) => format!("{title}: {} has our entry already", file.shown()),
            (true, true) => format!("{title}: {}", file.shown()),
            (true, false) => format!("{title}: {} {would}", file.shown()),
        };
        output.line(said.trim_end());
        if is_changed && !is_brief {
            let ours = file.client.printed_entry(&self.args.name, self.plug).unwrap_or_default();
            diff::show(file, text, &ours, self.verb);
        }
        if !taken.names.is_empty() {
            let count = counted(taken.names.len(), "server");
            output.line(&format!("  {count} {are} behind Manifold: {}", taken.names.join(", ")));
        }
    }
}
