//! Stored secrets that an undo leaves without a config that names them. Those the command stored itself go with it, unless
//! somebody uses them or has stored something else since; of the others it is told.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use manifold_config::{secrets_used_in, written};
use manifold_credentials::{Kind, Name};
use manifold_setup::{Back, Journal, Undone};

use crate::commands::verb::Verb;
use crate::secrets::{mark, store};

/// No config is larger.
const MAX_BYTES: u64 = 16 << 20;

/// The configs that commands changed, as they stood before an undo.
pub(super) struct Configs(BTreeMap<PathBuf, String>);

/// What became of the secrets.
#[derive(Default)]
pub(super) struct Secrets {
    /// Their names and files.
    pub(super) removed: Vec<(String, PathBuf)>,
    /// The file and why it is there still.
    pub(super) left: Vec<(PathBuf, String)>,
}

impl Configs {
    pub(super) fn read(journal: &Journal) -> Self {
        let records = journal.records().unwrap_or_default();
        let open = records.iter().filter(|record| record.undone.is_none());
        let changes = open.flat_map(|record| &record.changes);
        let of_ours = changes.filter(|change| matches!(change.back, Back::Config));
        let read = |path: &PathBuf| Some((path.clone(), text(path)?));
        Self(of_ours.flat_map(|change| [&change.path, &change.file]).filter_map(read).collect())
    }

    /// Takes the command's own secrets out of the store, and finds what stays there without a use.
    pub(super) fn clear(&self, undone: &Undone, journal: &Journal, verb: &Verb) -> Secrets {
        let mut secrets = Secrets::default();
        let Some(store) = store(&verb.options.environment) else { return secrets };
        let mut names = self.unused(undone);
        names.extend(undone.secrets.iter().map(|secret| secret.name.clone()));
        if names.is_empty() {
            return secrets;
        }
        let stored = store.list(Kind::Secret).unwrap_or_default();
        for name in names {
            let is_it = |entry: &manifold_credentials::Entry| entry.name.as_str() == name;
            let found = stored
                .iter()
                .find_map(|one| Some((&one.file, one.entry.as_ref().ok().filter(|entry| is_it(entry))?)));
            let Some((file, entry)) = found else { continue };
            let own = undone.secrets.iter().find(|secret| secret.name == name);
            let why = match own {
                _ if is_used(&name, journal, verb) && own.is_some() => "a config uses it".to_owned(),
                None => format!("`manifold secret rm {name}` removes it"),
                Some(own) if own.mark != mark(entry) => {
                    format!("it was stored anew since; `manifold secret rm {name}` removes it")
                }
                Some(_) => match Name::secret(&name).ok().map(|name| store.remove(&name)) {
                    Some(Err(error)) => error.to_string(),
                    _ => {
                        secrets.removed.push((name, file.clone()));
                        continue;
                    }
                },
            };
            secrets.left.push((file.clone(), format!("the secret {name} stays in the store; {why}")));
        }
        secrets
    }

    /// Returns the secrets that were named before and are not any longer.
    fn unused(&self, undone: &Undone) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for path in undone.restored.iter().chain(&undone.removed) {
            let Some(before) = self.0.get(path) else { continue };
            let now = used(&text(path).unwrap_or_default(), path);
            names.extend(used(before, path).into_iter().filter(|name| !now.contains(name)));
        }
        names
    }
}

/// Returns whether a config names a secret, or one that an undo could bring back.
fn is_used(name: &str, journal: &Journal, verb: &Verb) -> bool {
    let mut texts = journal.kept_configs().unwrap_or_default();
    texts.extend(journal.config_files().unwrap_or_default().iter().filter_map(|file| text(file)));
    texts.extend(written(verb.options).map(|(text, _)| text));
    let written = format!("secret:{name}}}");
    texts.iter().any(|text| text.contains(&written))
}

fn text(path: &Path) -> Option<String> {
    let is_small = fs::metadata(path).is_ok_and(|about| about.is_file() && about.len() <= MAX_BYTES);
    is_small.then(|| fs::read_to_string(path).ok()).flatten()
}

fn used(text: &str, path: &Path) -> Vec<String> {
    secrets_used_in(text, Some(path)).unwrap_or_default().into_keys().collect()
}
