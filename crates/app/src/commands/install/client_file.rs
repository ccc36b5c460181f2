//! The file of a client that our entry goes into, as it was read.

use std::path::Path;

use manifold_config::{Client, EditError, Scope};
use manifold_setup::{Rules, TargetFile};

use super::super::verb::Verb;
use crate::output::{Exit, Failure};

/// A client's file. What was read may be an older text by the time it is written: the change is made in what is there then.
pub(in super::super) struct ClientFile {
    pub(in super::super) client: &'static Client,
    pub(in super::super) target: TargetFile,
    /// Empty: it is not there.
    pub(in super::super) text: String,
}

impl ClientFile {
    /// Finds the file and reads it; refuses one that we would not write.
    pub(in super::super) fn open(
        client: &'static Client,
        scope: Scope,
        verb: &Verb,
    ) -> Result<Self, Failure> {
        let environment = &verb.options.environment;
        let path = client.file(scope, environment).ok_or_else(|| {
            let said = match scope {
                Scope::User => format!("where {} keeps its servers is not known to us", client.title()),
                Scope::Project => format!("{} has no file for a project", client.title()),
            };
            Failure::new(Exit::Failed, "unsupported", said)
                .hint(format!("`manifold install {} --print` shows what to paste", client.id()))
        })?;
        let home = environment.home.clone().ok_or_else(|| {
            Failure::new(Exit::Failed, "failed", "there is no home folder").hint("set HOME")
        })?;
        let target = TargetFile::find(&environment.cwd.join(path), &Rules::Client { home })?;
        let bytes = target.read()?;
        let mut file = Self { client, target, text: String::new() };
        file.text = file.read_as_text(bytes.as_deref())?;
        Ok(file)
    }

    /// Returns what stands in the file as text.
    pub(in super::super) fn read_as_text(&self, bytes: Option<&[u8]>) -> Result<String, Failure> {
        String::from_utf8(bytes.unwrap_or_default().to_vec()).map_err(|_| {
            Failure::config(format!("{} is no UTF-8 text, so it is left as it is", self.path().display()))
        })
    }

    /// Returns its path as it was named.
    pub(in super::super) fn path(&self) -> &Path {
        self.target.named()
    }

    pub(in super::super) fn shown(&self) -> String {
        self.path().display().to_string()
    }

    /// Returns whether a text of this file has an entry of this name.
    pub(in super::super) fn has(&self, text: &str, name: &str) -> Result<bool, Failure> {
        Ok(self.told(self.client.entry_in(text, self.path(), name))?.is_some())
    }

    /// Names the file where it could not be read or changed.
    pub(in super::super) fn told<T>(&self, edited: Result<T, EditError>) -> Result<T, Failure> {
        edited.map_err(|error| {
            let failure = Failure::from(error);
            let names_it = failure.message.contains(&self.shown());
            let message =
                if names_it { failure.message } else { format!("{}: {}", self.shown(), failure.message) };
            Failure { message, ..failure }
        })
    }
}
