//! `init`: all servers of all clients behind us, and us in all clients, in one go and in one record.
//!
//! What is here is shown, then somebody is asked, and only then is anything written.

mod ask;
mod show;

use manifold_admin::ImportReport;
use manifold_config::{Client, FoundServer, Plug};
use serde::Serialize;

use super::config_change::ConfigWriter;
use super::doctor::{Finding, look};
use super::entries::{Found, Imported, find_all, import_found, is_somebody_there};
use super::install::{Job, Others, Row, plug_of, present, tell_all};
use super::record::Record;
use super::verb::Verb;
use crate::cli::{ImportArgs, InitArgs, InstallArgs};
use crate::output::{Exit, Failure};

/// What is looked at afterwards: all that was touched. Servers are not started for it.
const CHECKS: [&str; 14] = [
    "config-readable",
    "config-valid",
    "config-servers",
    "variables",
    "secrets-missing",
    "program-node",
    "program-uv",
    "program-docker",
    "program-python",
    "program-other",
    "client-file",
    "client-without-us",
    "client-entry-path",
    "client-duplicates",
];

/// What is to be done.
struct Choice {
    clients: Vec<&'static Client>,
    imports: bool,
    /// Whether what was imported goes from the clients' files.
    takes_over: bool,
}

/// What was done, as programs read it.
#[derive(Serialize)]
struct Report {
    /// The config that is ours.
    config: String,
    import: ImportReport,
    clients: Vec<Row>,
    failed: Vec<Failed>,
    checks: Vec<Finding>,
    /// The folder of the record that `undo` goes by.
    backup: Option<String>,
}

#[derive(Serialize)]
struct Failed {
    client: &'static str,
    why: String,
}

pub(super) fn run(args: InitArgs, verb: &Verb) -> Result<Exit, Failure> {
    let may_ask = is_somebody_there() && !verb.output.is_json();
    if !may_ask && !args.yes && !args.dry_run {
        return Err(Failure::usage("there is nobody to ask what to set up")
            .hint("`manifold init --yes` asks nothing, `manifold init --dry-run` shows what it would do"));
    }
    let Found { servers: found, unread } = find_all(verb)?;
    let clients = present(verb);
    show::found(&found, &clients, verb);
    let choice = match args.yes || args.dry_run {
        true => Choice { clients, imports: true, takes_over: !args.keep },
        false => {
            let interrupted = ask::on_interrupt()?;
            let choice = ask::choose(&found, clients, args.keep)?;
            interrupted.writing();
            choice
        }
    };
    let mut record = Record::of(verb, "init", "init")?;
    let done = carry_out(found, &choice, args, verb, &mut record).map(|mut report| {
        report.import.unread = unread;
        report
    });
    let backup = record.changes().folder();
    record.finish(&verb.output);
    let report = Report { backup: backup.map(|folder| folder.display().to_string()), ..done? };
    let exit = if report.failed.is_empty() { Exit::Ok } else { Exit::Failed };
    match verb.output.is_json() {
        true => verb.output.json(&report),
        false => show::summary(&report, &choice, args.dry_run, verb),
    }
    Ok(exit)
}

fn carry_out(
    found: Vec<FoundServer>,
    choice: &Choice,
    args: InitArgs,
    verb: &Verb,
    record: &mut Record,
) -> Result<Report, Failure> {
    let installing = Installing::new(choice, args, verb)?;
    // What keeps a client's file from being written is found before anything is.
    let failed = installing.check();
    let found = if choice.imports { found } else { Vec::new() };
    let how = ImportArgs { dry_run: args.dry_run, yes: args.yes, form: args.form, ..ImportArgs::default() };
    let imported = import_found(found, &how, verb, record)?;
    // Without a server to import there is a config all the same, with what is built in.
    let config =
        ConfigWriter::reach(verb)?.make_file(args.dry_run || imported.changed.is_change(), record)?;
    show::imported(&imported, args.dry_run, verb);
    let (clients, failed) = installing.install(&imported, failed, record);
    let checks = if args.dry_run { Vec::new() } else { look(&CHECKS, verb) };
    Ok(Report {
        config: config.display().to_string(),
        import: imported.report(),
        clients,
        failed,
        checks,
        backup: None,
    })
}

/// How we are put into the clients that were chosen.
struct Installing<'i> {
    choice: &'i Choice,
    how: InstallArgs,
    /// `None`: there is no client to be put into.
    plug: Option<Plug>,
    verb: &'i Verb<'i>,
}

impl<'i> Installing<'i> {
    fn new(choice: &'i Choice, args: InitArgs, verb: &'i Verb<'i>) -> Result<Self, Failure> {
        let how = InstallArgs {
            name: "manifold".to_owned(),
            dry_run: args.dry_run,
            is_brief: true,
            form: args.form,
            ..InstallArgs::default()
        };
        let plug = if choice.clients.is_empty() { None } else { Some(plug_of(&how, verb)?) };
        Ok(Self { choice, how, plug, verb })
    }

    /// Returns the clients whose files cannot be written, which has been said.
    fn check(&self) -> Vec<Failed> {
        let Some(plug) = &self.plug else { return Vec::new() };
        let others = if self.choice.takes_over { Others::MayGo } else { Others::Stay };
        let job = Job { args: &self.how, verb: self.verb, plug, others };
        let checked = self.choice.clients.iter().filter_map(|client| {
            let failure = job.check(client).err()?;
            Some(self.failed(client, failure))
        });
        checked.collect()
    }

    /// Puts us into the clients. What fails for one is said, and done for the others.
    fn install(
        &self,
        imported: &Imported,
        mut failed: Vec<Failed>,
        record: &mut Record,
    ) -> (Vec<Row>, Vec<Failed>) {
        let mut rows = Vec::new();
        let Some(plug) = &self.plug else { return (rows, failed) };
        let others = if self.choice.takes_over { Others::Imported(imported) } else { Others::Stay };
        let job = Job { args: &self.how, verb: self.verb, plug, others };
        let is_open = |client: &&&'static Client| !failed.iter().any(|one| one.client == client.id());
        let clients: Vec<&'static Client> = self.choice.clients.iter().filter(is_open).copied().collect();
        for client in &clients {
            match job.install(client, record) {
                Ok(row) => rows.push(row),
                Err(failure) => failed.push(self.failed(client, failure)),
            }
        }
        if !self.how.dry_run && rows.iter().any(|row| row.changed) {
            tell_all(&clients, &self.how.name, plug, self.verb);
        }
        (rows, failed)
    }

    fn failed(&self, client: &Client, failure: Failure) -> Failed {
        self.verb.output.fail(&failure);
        Failed { client: client.id(), why: failure.message }
    }
}
