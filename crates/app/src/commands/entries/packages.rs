//! Servers that come from the registry or in a bundle: what they have to know is asked or given, and what was stored and
//! unpacked for one that is not added goes again.

mod answers;
mod questions;

use std::path::Path;

use manifold_registry::{Freshness, Unpacked};
use manifold_setup::StoredSecret;

use self::answers::Told;
use super::ask::{is_somebody_there, tell};
use super::entry::Entry;
use super::pasted::Given;
use super::secrets::{Keeper, config_text};
use crate::cli::AddArgs;
use crate::commands::verb::Verb;
use crate::output::{Exit, Failure};
use crate::registry::{Prepared, RegistryClient, Wanted};

/// A server that can be added.
pub(super) struct Package {
    pub(super) given: Given,
    /// What `--env` says beside answers.
    pub(super) env: Vec<String>,
    pub(super) made: Made,
}

/// What was made for a server.
pub(super) struct Made {
    keeper: Keeper,
    unpacked: Option<Unpacked>,
}

/// Returns the server of this name in the registry.
pub(super) fn from_registry(
    name: &str,
    own: Option<&str>,
    args: &AddArgs,
    verb: &Verb,
) -> Result<Package, Failure> {
    let package = &args.package;
    let freshness = if package.offline { Freshness::Offline } else { Freshness::Hour };
    let client = RegistryClient::new(&verb.options.environment, freshness)?;
    let source = package.source.map(|source| source.name());
    let wanted = Wanted { name, version: package.version.as_deref(), source };
    let prepared = {
        let _progress = verb.output.progress("asking the registry");
        client.prepare(wanted)?
    };
    packed(prepared, own, args, verb)
}

/// Returns the server in a bundle.
pub(super) fn from_bundle(
    path: &Path,
    own: Option<&str>,
    args: &AddArgs,
    verb: &Verb,
) -> Result<Package, Failure> {
    let environment = &verb.options.environment;
    let client = RegistryClient::new(environment, Freshness::Hour)?;
    packed(client.prepare_file(&environment.cwd.join(path))?, own, args, verb)
}

fn packed(
    mut prepared: Prepared,
    own: Option<&str>,
    args: &AddArgs,
    verb: &Verb,
) -> Result<Package, Failure> {
    let id = own.unwrap_or(prepared.suggested_id()).to_owned();
    let (mut told, env) = Told::of(prepared.questions(), &args.package.set, &args.env)?;
    let may_ask = is_somebody_there() && !args.put.dry_run && !verb.output.is_json();
    let mut remarks = prepared.remarks().to_vec();
    if may_ask {
        tell(&format!("{id}: {}", prepared.summary()));
        remarks.drain(..).for_each(|remark| verb.output.remark(&remark));
        questions::ask(prepared.questions(), &mut told)?;
    }
    told.check_whole(prepared.questions(), prepared.summary().as_str())?;
    let mut keeper = Keeper::open(verb).ok_or_else(|| {
        Failure::usage("there is no home directory to keep secrets in").hint("set XDG_DATA_HOME")
    })?;
    let is_bundle = prepared.is_bundle();
    let naming = answers::Naming { id: &id, is_bundle, environment: &verb.options.environment };
    let answers = told.into_answers(prepared.questions(), &naming, &mut keeper)?;
    let (entry, unpacked) = if args.put.dry_run {
        (prepared.entry(&answers)?, None)
    } else {
        let made = prepared.make(&answers)?;
        (made.entry, made.unpacked)
    };
    let mut made = Made { keeper, unpacked };
    let kept = if args.put.dry_run { Ok(()) } else { made.keeper.keep() };
    let entry = kept.and_then(|()| {
        Entry::parse(&entry).map_err(|error| Failure::new(Exit::Failed, "failed", error.to_string()))
    });
    match entry {
        Ok(entry) => Ok(Package { given: Given { name: Some(id), entry, remarks }, env, made }),
        Err(failure) => {
            made.undo(verb);
            Err(failure)
        }
    }
}

impl Made {
    /// Returns the secrets that were stored.
    pub(super) fn stored(&self) -> Vec<StoredSecret> {
        self.keeper.stored()
    }

    /// Ends it: what was made for a server that is in the config stays, and the rest goes.
    pub(super) fn settle(mut self, is_added: bool, verb: &Verb) {
        if is_added {
            self.keeper.tell(verb);
        } else {
            self.undo(verb);
        }
    }

    fn undo(&mut self, verb: &Verb) {
        let config = config_text(verb);
        self.keeper.take_back(&config);
        let Some(unpacked) = &self.unpacked else { return };
        let folder = unpacked.folder.display().to_string();
        if config.contains(&folder) {
            return;
        }
        if let Err(error) = unpacked.remove() {
            verb.output.remark(&format!("what was unpacked into {folder} cannot be removed: {error}"));
        }
    }
}
