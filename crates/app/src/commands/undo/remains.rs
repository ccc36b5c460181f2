//! What an undo leaves though no config names it any longer: stored secrets. Another config may use them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use manifold_config::secrets_used_in;
use manifold_credentials::Name;
use manifold_setup::{Back, Journal, Undone};

use crate::commands::verb::Verb;
use crate::secrets::store;

/// No config is larger.
const MAX_BYTES: u64 = 16 << 20;

/// The configs that commands changed, as they stood before an undo.
pub(super) struct Configs(BTreeMap<PathBuf, String>);

impl Configs {
    pub(super) fn read(journal: &Journal) -> Self {
        let records = journal.records().unwrap_or_default();
        let open = records.iter().filter(|record| record.undone.is_none());
        let changes = open.flat_map(|record| &record.changes);
        let of_ours = changes.filter(|change| matches!(change.back, Back::Config));
        let read = |path: &PathBuf| Some((path.clone(), text(path)?));
        Self(of_ours.flat_map(|change| [&change.path, &change.file]).filter_map(read).collect())
    }

    /// Says what is left of what was undone.
    pub(super) fn tell(&self, undone: &Undone, verb: &Verb) {
        let environment = &verb.options.environment;
        for path in undone.restored.iter().chain(&undone.removed) {
            let Some(before) = self.0.get(path) else { continue };
            let after = text(path).unwrap_or_default();
            let store = store(environment);
            let is_stored = |name: &String| {
                let name = Name::secret(name).ok();
                name.zip(store.as_ref()).is_some_and(|(name, store)| matches!(store.get(&name), Ok(Some(_))))
            };
            let now = secrets(&after, path);
            for name in secrets(before, path).iter().filter(|name| !now.contains(name) && is_stored(name)) {
                verb.output.remark(&format!(
                    "the secret {name} stays in the store; `manifold secret rm {name}` removes it"
                ));
            }
        }
    }
}

fn text(path: &Path) -> Option<String> {
    let is_small = fs::metadata(path).is_ok_and(|about| about.is_file() && about.len() <= MAX_BYTES);
    is_small.then(|| fs::read_to_string(path).ok()).flatten()
}

fn secrets(text: &str, path: &Path) -> Vec<String> {
    secrets_used_in(text, Some(path)).unwrap_or_default().into_keys().collect()
}
