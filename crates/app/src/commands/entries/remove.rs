//! `remove`: takes servers out of the config, all that are named or none.

use manifold_admin::ErrorCode;
use manifold_config::{Edit, Server};

use super::report::Report;
use crate::cli::RemoveArgs;
use crate::commands::bundles;
use crate::commands::config_change::{ConfigWriter, Missing, Purpose};
use crate::commands::record::Record;
use crate::commands::undo::journal;
use crate::commands::verb::Verb;
use crate::output::{Exit, Failure, Suggestion};

pub(super) fn run(args: &RemoveArgs, verb: &Verb) -> Result<Exit, Failure> {
    let mut names: Vec<&String> = Vec::new();
    for name in &args.names {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let target = names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(" ");
    let writer = ConfigWriter::reach(verb)?;
    let mut record = Record::of(verb, "remove", &format!("remove {target}"))?;
    let purpose = Purpose { verb: "remove", target, is_dry_run: args.dry_run };
    let changed = writer.change(&purpose, Missing::BuiltIn, &mut record, |base| {
        let servers = writer.servers(base)?;
        let edit = |name: &&String| {
            check_known(&servers, name)?;
            Ok(Edit::RemoveServer { id: (*name).clone() })
        };
        names.iter().map(edit).collect()
    });
    record.finish(&verb.output);
    let mut report = Report::new(&changed?, writer.kind(), args.dry_run);
    for name in names {
        report.document.removed.push(name.clone());
        report.line(match args.dry_run {
            true => format!("{name} would be removed"),
            false => format!("{name} has been removed"),
        });
    }
    report.show(&verb.output);
    if !args.dry_run {
        bundles::collect(&journal(verb)?, verb);
    }
    Ok(Exit::Ok)
}

/// Says which server may have been meant by a name that none has.
pub(super) fn check_known(servers: &[Server], name: &str) -> Result<(), Failure> {
    let full = |server: &Server| match &server.key.schema {
        Some(schema) => format!("{schema}/{}", server.key.id),
        None => server.key.id.clone(),
    };
    if servers.iter().any(|server| server.key.id == name || full(server) == name) {
        return Ok(());
    }
    let names: Vec<String> = servers.iter().map(full).collect();
    let hint =
        Suggestion::among(names.iter().map(String::as_str), name).or("`manifold list` shows those there are");
    let code = ErrorCode::UnknownServer;
    Err(Failure::new(Exit::of(code), code.as_str(), format!("there is no server '{name}'")).hint(hint))
}
