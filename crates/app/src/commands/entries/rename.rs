//! `rename`: gives a server another id, wherever the config names it.

use manifold_config::Edit;

use super::put::check_name;
use super::remove::check_known;
use super::report::Report;
use crate::cli::RenameArgs;
use crate::commands::config_change::{ConfigWriter, Missing, Purpose};
use crate::commands::record::Record;
use crate::commands::verb::Verb;
use crate::output::{Exit, Failure};

pub(super) fn run(args: &RenameArgs, verb: &Verb) -> Result<Exit, Failure> {
    let RenameArgs { name, to, dry_run, .. } = args;
    check_name(to)?;
    let writer = ConfigWriter::reach(verb)?;
    let mut record = Record::of(verb, "rename", &format!("rename {name} {to}"))?;
    let purpose = Purpose { verb: "rename", target: format!("{name} to {to}"), is_dry_run: *dry_run };
    let changed = writer.change(&purpose, Missing::BuiltIn, &mut record, |base| {
        check_known(&writer.servers(base)?, name)?;
        Ok(vec![Edit::RenameServer { id: name.clone(), to: to.clone() }])
    });
    record.finish(&verb.output);
    let changed = changed?;
    let mut report = Report::new(&changed, writer.kind(), *dry_run);
    if changed.is_change() {
        report.document.removed.push(name.clone());
        report.document.added.push(to.clone());
    }
    report.line(match (dry_run, changed.is_change()) {
        (_, false) => format!("{name} is called so already"),
        (true, true) => format!("{name} would be called {to}"),
        (false, true) => format!("{name} is called {to} now"),
    });
    report.show(&verb.output);
    Ok(Exit::Ok)
}
