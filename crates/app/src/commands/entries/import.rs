//! `import`: the servers of other programs' files, each once, with what they need.

mod find;
mod questions;
mod show;

use manifold_admin::{ImportReport, UnreadFile};
use manifold_config::{Edit, Format, FoundServer, ImportPlan, plan_import, servers_in};

pub(in crate::commands) use self::find::Found;
use self::questions::Literal;
use super::ask::is_somebody_there;
use super::secrets::{Keeper, config_text};
use crate::cli::{ImportArgs, SecretsArg};
use crate::commands::config_change::{Changed, ConfigWriter, Missing, Purpose};
use crate::commands::record::Record;
use crate::commands::verb::Verb;
use crate::config_editor::Base;
use crate::output::{Exit, Failure};

/// What an import came to.
pub(in crate::commands) struct Imported {
    pub(in crate::commands) found: Vec<FoundServer>,
    pub(in crate::commands) plan: ImportPlan,
    pub(in crate::commands) changed: Changed,
    pub(in crate::commands) unread: Vec<UnreadFile>,
}

pub(super) fn run(args: &ImportArgs, verb: &Verb) -> Result<Exit, Failure> {
    let mut record = Record::of(verb, "import", "import")?;
    let imported = import(args, verb, &mut record);
    record.finish(&verb.output);
    let imported = imported?;
    show::show(&imported, args.dry_run, verb);
    // Where nothing but broken files was found, nothing was imported, and whoever asked has to know.
    let is_unread = imported.found.is_empty() && !imported.unread.is_empty();
    Ok(if is_unread { Exit::Usage } else { Exit::Ok })
}

/// Imports what there is, as a part of whatever command the record is of.
pub(in crate::commands) fn import(
    args: &ImportArgs,
    verb: &Verb,
    record: &mut Record,
) -> Result<Imported, Failure> {
    let writer = ConfigWriter::reach(verb)?;
    let own = writer.base(Missing::Nothing)?.path;
    let found = find::servers(args.from.as_deref(), &own, verb)?;
    let imported = import_with(found.servers, &writer, args, verb, record)?;
    Ok(Imported { unread: found.unread, ..imported })
}

/// Imports servers that were found already.
pub(in crate::commands) fn import_found(
    found: Vec<FoundServer>,
    args: &ImportArgs,
    verb: &Verb,
    record: &mut Record,
) -> Result<Imported, Failure> {
    import_with(found, &ConfigWriter::reach(verb)?, args, verb, record)
}

/// Returns the servers of all files, but not those of our own config.
pub(in crate::commands) fn find_all(verb: &Verb) -> Result<Found, Failure> {
    let own = ConfigWriter::reach(verb)?.base(Missing::Nothing)?.path;
    find::servers(None, &own, verb)
}

fn import_with(
    mut found: Vec<FoundServer>,
    writer: &ConfigWriter,
    args: &ImportArgs,
    verb: &Verb,
    record: &mut Record,
) -> Result<Imported, Failure> {
    let may_ask = is_somebody_there() && !args.yes && !args.dry_run && !verb.output.is_json();
    let new = plan(&found, writer, &writer.base(Missing::Nothing)?, verb)?;
    if may_ask {
        questions::ask_for_projects(&mut found, &new);
    }
    let mut keeper = moved(&mut found, &new, args.secrets, may_ask, verb)?;
    if let Some(keeper) = keeper.as_mut().filter(|_| !args.dry_run) {
        keeper.keep()?;
        record.stored(keeper.stored())?;
    }
    let purpose = Purpose { verb: record.name(), target: String::new(), is_dry_run: args.dry_run };
    let changed = writer.change(&purpose, Missing::Nothing, record, |base| {
        edits(&plan(&found, writer, base, verb)?, writer, base, verb)
    });
    if let (Err(_), Some(keeper)) = (&changed, keeper.as_mut()) {
        keeper.take_back(&config_text(verb));
    }
    let changed = changed?;
    if let Some(keeper) = keeper {
        keeper.tell(verb);
    }
    let plan = plan(&found, writer, &changed.base, verb)?;
    Ok(Imported { found, plan, changed, unread: Vec::new() })
}

/// Has names of secrets stand in the entries instead of the secrets, if that is wanted.
fn moved(
    found: &mut [FoundServer],
    new: &ImportPlan,
    wanted: Option<SecretsArg>,
    may_ask: bool,
    verb: &Verb,
) -> Result<Option<Keeper>, Failure> {
    let literal = Literal::of(found, new);
    let is_wanted = !literal.is_empty()
        && match wanted {
            Some(wanted) => wanted == SecretsArg::Move,
            None => may_ask && literal.is_to_be_moved(found),
        };
    let Some(mut keeper) = is_wanted.then(|| Keeper::open(verb)).flatten() else { return Ok(None) };
    literal.take(found, &mut keeper)?;
    Ok(Some(keeper))
}

/// Compares what was found with what the config has.
fn plan(
    found: &[FoundServer],
    writer: &ConfigWriter,
    base: &Base,
    verb: &Verb,
) -> Result<ImportPlan, Failure> {
    let existing = match writer.servers(base)?.is_empty() {
        true => Vec::new(),
        false => servers_in(&base.text, &base.path, None, &verb.options.environment)
            .map_err(|error| Failure::config(error.to_string()))?,
    };
    Ok(plan_import(&existing, found))
}

fn edits(plan: &ImportPlan, writer: &ConfigWriter, base: &Base, verb: &Verb) -> Result<Vec<Edit>, Failure> {
    let config = writer.config(base)?;
    let is_of_schemas = config.is_some_and(|config| config.source.format == Format::Schemas);
    let mut edits = Vec::new();
    for server in &plan.added {
        let id = match verb.flags.namespace.as_ref().filter(|_| is_of_schemas) {
            Some(schema) => format!("{schema}/{}", server.id),
            None => server.id.clone(),
        };
        edits.push(Edit::PutServer { id: id.clone(), entry: server.entry.clone() });
        if let Some(namespace) = verb.flags.namespace.clone().filter(|_| !is_of_schemas) {
            edits.push(Edit::JoinNamespace { namespace, server: id });
        }
    }
    Ok(edits)
}

impl Imported {
    /// Says what people should know of the servers that were added.
    pub(in crate::commands) fn remark(&self, verb: &Verb) {
        show::remarks(self, verb);
    }

    /// Says what is wrong with the config that was not before.
    pub(in crate::commands) fn tell_problems(&self, verb: &Verb) {
        show::problems(self, verb);
    }

    /// Returns it as programs read it.
    pub(in crate::commands) fn report(&self) -> ImportReport {
        show::report(self)
    }
}
