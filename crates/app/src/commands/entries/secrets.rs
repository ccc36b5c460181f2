//! Secrets on their way out of entries, into the secret store.

use manifold_config::{secrets_used_in, written};
use manifold_credentials::{Name, Store, StoreError, Value};
use manifold_setup::StoredSecret as Stored;

use crate::commands::verb::Verb;
use crate::output::{Exit, Failure, counted};
use crate::secrets::{mark, store, weakness};

/// The longest name that is looked for before a number is added.
const MAX_NAME: usize = 56;
/// No name has as many namesakes.
const MAX_NAMESAKES: usize = 1000;

/// Returns the text of the config as it stands.
pub(super) fn config_text(verb: &Verb) -> String {
    written(verb.options).map(|(text, _)| text).unwrap_or_default()
}

/// Finds names for secrets, and keeps them once the entries that name them are good.
pub(super) struct Keeper {
    store: Store,
    /// Names that the config has, and nothing is stored under.
    awaited: Vec<String>,
    found: Vec<(Name, Value)>,
    /// Those found that are stored, the first of them.
    stored: Vec<Stored>,
    /// What is to be said of a store that was made for them.
    weakness: Option<String>,
}

impl Keeper {
    /// Opens the store; `None` where there is no home to have one in.
    pub(super) fn open(verb: &Verb) -> Option<Self> {
        let store = store(&verb.options.environment)?;
        let used = written(verb.options).and_then(|(text, path)| secrets_used_in(&text, path.as_deref()));
        let awaited = used.unwrap_or_default().into_keys().collect();
        Some(Self { store, awaited, found: Vec::new(), stored: Vec::new(), weakness: None })
    }

    /// Returns the name a secret is going to have: the one it should have, with a number if that is another's.
    pub(super) fn name_for(&mut self, wanted: &str, value: &str) -> Result<String, Failure> {
        let wanted: String = wanted.chars().take(MAX_NAME).collect();
        let value = Value::new(value);
        for number in 1..MAX_NAMESAKES {
            let text = if number == 1 { wanted.clone() } else { format!("{wanted}_{number}") };
            let name = Name::secret(&text).map_err(|bad| Failure::usage(bad.to_string()))?;
            match self.value_of(&name)? {
                Some(there) if there == value => return Ok(text),
                Some(_) => {}
                None if self.awaited.contains(&text) => {}
                None => {
                    self.found.push((name, value));
                    return Ok(text);
                }
            }
        }
        Err(Failure::new(Exit::Failed, "store", format!("no name is left for the secret {wanted}")))
    }

    fn value_of(&self, name: &Name) -> Result<Option<Value>, Failure> {
        match self.found.iter().find(|(found, _)| found == name) {
            Some((_, value)) => Ok(Some(value.clone())),
            None => self.store.get(name).map_err(|error| failed(&error)),
        }
    }

    /// Stores those that names were found for: all of them, or none.
    pub(super) fn keep(&mut self) -> Result<(), Failure> {
        if self.stored.len() < self.found.len() {
            let prepared = self.store.prepare().map_err(|error| failed(&error))?;
            let said = prepared.is_new.then(|| weakness(prepared.kind, prepared.why_plain.as_ref()));
            self.weakness = said.flatten().or(self.weakness.take());
        }
        while let Some((name, value)) = self.found.get(self.stored.len()) {
            match self.store.set(name, value) {
                Ok(entry) => self.stored.push(Stored { name: name.to_string(), mark: mark(&entry) }),
                Err(error) => {
                    self.take_back("");
                    return Err(failed(&error));
                }
            }
        }
        Ok(())
    }

    /// Takes out of the store again what was put there, unless the config names it: a gateway may refuse to serve what
    /// it has written.
    pub(super) fn take_back(&mut self, config: &str) {
        for (name, _) in self.found.iter().take(self.stored.len()) {
            if !config.contains(&format!("${{secret:{name}}}")) {
                // Where it cannot be removed it is sealed, and nothing names it.
                let _ = self.store.remove(name);
            }
        }
        self.stored.clear();
    }

    /// Returns what was stored, for the record.
    pub(super) fn stored(&self) -> Vec<Stored> {
        self.stored.clone()
    }

    /// Says what was stored.
    pub(super) fn tell(&self, verb: &Verb) {
        if self.stored.is_empty() {
            return;
        }
        let names: Vec<&str> = self.stored.iter().map(|stored| stored.name.as_str()).collect();
        let count = counted(names.len(), "secret");
        verb.output.remark(&format!(
            "{count} stored, which the config only names: {}; `manifold secret list` shows who uses them",
            names.join(", ")
        ));
        self.weakness.iter().for_each(|weakness| verb.output.remark(weakness));
    }
}

fn failed(error: &StoreError) -> Failure {
    Failure::new(Exit::Failed, "store", error.to_string())
}
