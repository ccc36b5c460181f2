//! The one way a verb changes the config: through the gateway that serves it, which takes it over at once, else in the
//! file itself. Comments, order and style stay, and nothing is written that has not been judged.

use std::path::{Path, PathBuf};
use std::time::Duration;

use manifold_admin::{
    Actor, AuditLine, AuditOutcome, ConfigFile, ConfigText, ErrorCode, Method, ReloadReport, ServerRename,
};
use manifold_admin_client::{Client, ClientError, segment};
use manifold_config::{Config, Edit, Server, load_text};
use manifold_setup::WriteError;
use serde_json::value::RawValue;

use super::record::{Planned, Record};
use super::source::failure;
use super::verb::Verb;
use crate::audit::Audit;
use crate::config_editor::{Base, ConfigEditor, Draft, revision};
use crate::operator::{Need, Operator, Unreached};
use crate::output::{Exit, Failure};

/// How often a change is thought out anew when somebody else changed the config meanwhile: as often as it takes, for where
/// many write at once each time one of them gets through.
const TRIES: usize = 400;

/// Nothing that a gateway does with a config takes longer.
const PATIENCE: Duration = Duration::from_secs(300);

/// Writes the config of a verb.
pub(super) struct ConfigWriter<'v> {
    verb: &'v Verb<'v>,
    editor: ConfigEditor,
    /// `None`: none runs, and the file is written by us.
    gateway: Option<Operator>,
}

/// What a change begins with where there is no config file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    /// Nothing: the servers that are built in only stand in for those of a file.
    Nothing,
    /// What is built in, as `list` shows it.
    BuiltIn,
}

/// What a change is called, and whether it is made.
#[derive(Debug, Clone)]
pub(super) struct Purpose {
    /// The verb, for the audit.
    pub(super) verb: &'static str,
    /// What it is done to.
    pub(super) target: String,
    pub(super) is_dry_run: bool,
}

/// What came of it, or would have.
#[derive(Debug, Clone)]
pub(super) struct Changed {
    /// What stood there before.
    pub(super) base: Base,
    pub(super) after: String,
    pub(super) report: ReloadReport,
}

impl Changed {
    pub(super) fn is_change(&self) -> bool {
        self.base.text != self.after
    }
}

impl<'v> ConfigWriter<'v> {
    /// Finds who writes the config: the gateway that serves it, else this command.
    pub(super) fn reach(verb: &'v Verb<'v>) -> Result<Self, Failure> {
        let options = verb.options;
        let found = Operator::reach(options, verb.flags, options.program_profile, Need::Running);
        let gateway = match found {
            Ok(operator) => Some(operator),
            // Each of several takes over what is written to the file.
            Err(Unreached::NothingRuns | Unreached::Several(_)) => None,
            Err(why) => return Err(failure(&why)),
        };
        let writer = Self { verb, editor: ConfigEditor::new(options.clone()), gateway };
        verb.output.detail(&format!("asked {}", writer.which()));
        if let Some(gateway) = &writer.gateway {
            verb.check_config(gateway.about(), &writer.which())?;
        }
        if let Some(why) = writer.audit_fault() {
            verb.output.remark(&format!("this change is not written down in the audit: {why}"));
        }
        Ok(writer)
    }

    /// Returns one that writes the file, whatever runs.
    pub(super) fn of_files(verb: &'v Verb<'v>) -> Self {
        Self { verb, editor: ConfigEditor::new(verb.options.clone()), gateway: None }
    }

    /// Returns whether a gateway runs that serves this file.
    pub(super) fn serves(&self, file: &Path) -> bool {
        let real = |path: &Path| std::fs::canonicalize(path).ok();
        self.gateway.is_some() && self.editor.path().is_some_and(|path| real(&path) == real(file))
    }

    /// Has the gateway put a text in the place of another. Tells whether it did: it takes none that it could not serve.
    pub(super) fn put_text(&self, file: &Path, old: &str, new: &str) -> Result<bool, WriteError> {
        let Some(gateway) = &self.gateway else { return Ok(false) };
        let base =
            Base { text: old.to_owned(), revision: revision(old), path: file.to_owned(), is_there: true };
        match order(|| Ok(client(gateway)?.verb("undo")), &base, &[], new) {
            Ok(()) => Ok(true),
            Err(ClientError::Refused { error, .. }) if error.code == ErrorCode::Stale => {
                Err(WriteError::Changed(file.to_owned()))
            }
            // It may have written what it then could not take over.
            Err(_) => Ok(std::fs::read(file).is_ok_and(|now| now == new.as_bytes())),
        }
    }

    /// Writes down that an undo changed a file without a gateway.
    pub(super) fn note_undo(&self, file: &Path, old: &str, new: &str, words: &str) {
        let base =
            Base { text: old.to_owned(), revision: revision(old), path: file.to_owned(), is_there: true };
        let changed = Changed { base, after: new.to_owned(), report: ReloadReport::default() };
        self.audit(&changed, &Purpose { verb: "undo", target: words.to_owned(), is_dry_run: false }, None);
    }

    /// Returns the word for who writes, as JSON has it.
    pub(super) fn kind(&self) -> &'static str {
        self.gateway.as_ref().map_or("files", |gateway| gateway.about().kind.as_str())
    }

    /// Changes the config as `plan` says, which is asked anew where somebody else changed it meanwhile. What was written
    /// is noted in the record.
    pub(super) fn change(
        &self,
        purpose: &Purpose,
        missing: Missing,
        record: &mut Record,
        plan: impl Fn(&Base) -> Result<Vec<Edit>, Failure>,
    ) -> Result<Changed, Failure> {
        let mut late = None;
        for _ in 0..TRIES {
            let base = self.base(missing)?;
            let edits = plan(&base)?;
            if edits.is_empty() {
                return Ok(Changed { after: base.text.clone(), base, report: ReloadReport::default() });
            }
            let draft = self.editor.draft(&base, &edits)?;
            let Draft { text: after, report } = draft;
            let changed = Changed { base, after, report };
            if purpose.is_dry_run || !changed.is_change() {
                return Ok(changed);
            }
            match self.write(&edits, &changed, purpose, record) {
                Err(failure) if failure.code == ErrorCode::Stale.as_str() => late = Some(changed),
                written => return written.map(|()| changed),
            }
        }
        let message = "the config is being changed by somebody else all the time";
        let given_up = Failure::new(Exit::Usage, "stale", message).hint("try again");
        // Of the tries nothing was told.
        if let Some(changed) = late {
            self.audit(&changed, purpose, Some(&given_up));
        }
        Err(given_up)
    }

    /// Writes what is built in to where the config belongs, if there is no file yet. Returns where that is.
    pub(super) fn make_file(&self, is_dry_run: bool, record: &mut Record) -> Result<PathBuf, Failure> {
        let base = self.base(Missing::BuiltIn)?;
        if !base.is_there && !is_dry_run {
            record.write(&Planned { path: base.path.clone(), before: None, after: base.text })?;
        }
        Ok(base.path)
    }

    /// Returns the config as it stands.
    pub(super) fn base(&self, missing: Missing) -> Result<Base, Failure> {
        let mut base = match &self.gateway {
            None => self.editor.base()?,
            Some(gateway) => {
                let ConfigFile { path, text, revision, .. } = client(gateway)?.get("/v1/config")?;
                let is_there = path.is_some();
                let path = path.map(PathBuf::from).or_else(|| self.editor.path()).unwrap_or_default();
                Base { text, revision, path, is_there }
            }
        };
        if !base.is_there && missing == Missing::Nothing {
            base.text.clear();
        }
        Ok(base)
    }

    /// Returns the config that a text makes; `None` where nothing stands in it.
    pub(super) fn config(&self, base: &Base) -> Result<Option<Config>, Failure> {
        if base.text.trim_start_matches('\u{feff}').trim().is_empty() {
            return Ok(None);
        }
        let loaded = load_text(&base.text, Some(&base.path), self.verb.options);
        loaded.map(Some).map_err(|error| Failure::config(error.to_string()))
    }

    /// Returns the servers that a text names.
    pub(super) fn servers(&self, base: &Base) -> Result<Vec<Server>, Failure> {
        Ok(self.config(base)?.map(|config| config.servers).unwrap_or_default())
    }

    /// Returns whether an edit would leave the config as it is.
    pub(super) fn is_so_already(&self, base: &Base, edit: &Edit) -> Result<bool, Failure> {
        Ok(self.editor.draft(base, std::slice::from_ref(edit))?.text == base.text)
    }

    fn which(&self) -> String {
        self.gateway.as_ref().map_or_else(|| "the files".to_owned(), Operator::which)
    }

    fn write(
        &self,
        edits: &[Edit],
        changed: &Changed,
        purpose: &Purpose,
        record: &mut Record,
    ) -> Result<(), Failure> {
        let Changed { base, after, .. } = changed;
        let before = base.is_there.then(|| base.text.clone());
        let planned = Planned { path: base.path.clone(), before, after: after.clone() };
        let Some(gateway) = &self.gateway else {
            let written = record.write(&planned);
            let is_tried_again =
                written.as_ref().is_err_and(|failure| failure.code == ErrorCode::Stale.as_str());
            if !is_tried_again {
                self.audit(changed, purpose, written.as_ref().err());
            }
            return written;
        };
        record.note(&planned)?;
        let asking = || Ok(client(gateway)?.verb(purpose.verb).tries_again());
        let answer = match order(asking, base, edits, after) {
            // One of an earlier version has not all of the routes.
            Err(ClientError::Refused { error, .. }) if error.code == ErrorCode::UnknownRoute => {
                order(asking, base, &[], after)
            }
            answer => answer,
        };
        answer.map_err(|error| {
            record.forget_unless_written(&planned);
            error.into()
        })
    }

    /// Writes down what a gateway would have.
    fn audit(&self, changed: &Changed, purpose: &Purpose, error: Option<&Failure>) {
        let environment = &self.verb.options.environment;
        let Some(audit) = environment.state_home().and_then(|state| Audit::open(&state).ok()) else { return };
        let program = environment.program.as_ref().map(|program| program.display().to_string());
        audit.append(&AuditLine {
            actor: Actor {
                uid: Some(nix::unistd::getuid().as_raw()),
                pid: Some(std::process::id()),
                program,
                face: "cli".to_owned(),
            },
            verb: purpose.verb.to_owned(),
            target: Some(purpose.target.clone()).filter(|target| !target.is_empty()),
            before: Some(changed.base.revision.clone()),
            after: error.is_none().then(|| revision(&changed.after)),
            outcome: if error.is_none() { AuditOutcome::Done } else { AuditOutcome::Refused },
            error: error.map(|failure| failure.message.clone()),
            ..AuditLine::default()
        });
        audit.flush();
    }

    fn audit_fault(&self) -> Option<String> {
        match &self.gateway {
            Some(gateway) => gateway.about().audit_fault.clone(),
            None => self.verb.options.environment.state_home().and_then(|state| Audit::fault(&state)),
        }
    }
}

/// Has a gateway make a change of the revision it was thought out for: by the route for it where there is one, so that the
/// audit says what was done; else as a new text, with the command's word for it.
fn order(
    asking: impl FnOnce() -> Result<Client, Failure>,
    base: &Base,
    edits: &[Edit],
    after: &str,
) -> Result<(), ClientError> {
    let client = asking().map_err(|failure| ClientError::Unwritable(failure.message))?;
    let client = client.if_match(&base.revision).keeps_record();
    let path = |id: &str| format!("/v1/config/servers/{}", segment(id));
    let answer = match edits {
        [Edit::PutServer { id, entry }] if base.is_there => {
            let entry: &RawValue = serde_json::from_str(entry)
                .map_err(|error| ClientError::Unwritable(format!("its entry is no JSON: {error}")))?;
            client.send_raw(Method::Put, &path(id), Some(&entry))
        }
        [Edit::RemoveServer { id }] if base.is_there => {
            client.send_raw(Method::Delete, &path(id), None::<&()>)
        }
        [Edit::RenameServer { id, to }] if base.is_there => {
            let body = ServerRename { to: to.clone() };
            client.send_raw(Method::Post, &format!("{}/rename", path(id)), Some(&body))
        }
        _ => client.send_raw(Method::Put, "/v1/config", Some(&ConfigText { text: after.to_owned() })),
    };
    answer.map(drop)
}

fn client(gateway: &Operator) -> Result<Client, Failure> {
    gateway.client(PATIENCE).map_err(|error| Failure::new(Exit::Failed, "unreachable", error.to_string()))
}
