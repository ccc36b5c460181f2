//! Keys and what they mean: one table, which the config may change.

mod actions;
mod key;

use std::collections::BTreeMap;
use std::fmt;

use crossterm::event::KeyEvent;

pub use actions::{ACTIONS, ActionRow};
pub(crate) use actions::{Action, Place};
pub(crate) use key::Key;

#[cfg(test)]
mod tests;

/// Which key does what.
#[derive(Debug, Clone)]
pub(crate) struct Keys {
    /// In the order of [`ACTIONS`].
    bound: Vec<(Action, Vec<Key>)>,
}

/// What is wrong with `tui.keys`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyError {
    UnknownAction(String),
    NoKey { action: String, key: String },
    Twice { key: String, actions: [String; 2] },
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownAction(name) => {
                write!(f, "tui.keys.{name}: there is no such action; docs/tui.md lists them")
            }
            Self::NoKey { action, key } => {
                write!(f, "tui.keys.{action}: `{key}` is no key; write such as `x`, `ctrl-x`, `f5`, `esc`")
            }
            Self::Twice { key, actions: [first, second] } => {
                write!(f, "tui.keys: `{key}` is the key of both {first} and {second}; give one another")
            }
        }
    }
}

impl std::error::Error for KeyError {}

impl Keys {
    /// Returns the table with the changes of the config in it.
    pub(crate) fn new(changes: &BTreeMap<String, String>) -> Result<Self, KeyError> {
        if let Some(name) = changes.keys().find(|name| !ACTIONS.iter().any(|row| row.name == *name)) {
            return Err(KeyError::UnknownAction(name.clone()));
        }
        let mut bound = Vec::new();
        for row in ACTIONS {
            let written = changes.get(row.name).map_or(row.keys, String::as_str);
            let keys = written.split_whitespace().map(|key| {
                Key::parse(key)
                    .ok_or_else(|| KeyError::NoKey { action: row.name.to_owned(), key: key.to_owned() })
            });
            bound.push((row.action, keys.collect::<Result<Vec<_>, _>>()?));
        }
        let keys = Self { bound };
        keys.check()?;
        Ok(keys)
    }

    /// Fails where one key would do two things at one place.
    fn check(&self) -> Result<(), KeyError> {
        for (at, (row, (_, keys))) in ACTIONS.iter().zip(&self.bound).enumerate() {
            for (other, (_, others)) in ACTIONS.iter().zip(&self.bound).skip(at + 1) {
                let shared = keys.iter().find(|key| others.contains(key));
                if let Some(key) = shared.filter(|_| row.place.meets(other.place)) {
                    let actions = [row.name.to_owned(), other.name.to_owned()];
                    return Err(KeyError::Twice { key: key.to_string(), actions });
                }
            }
        }
        Ok(())
    }

    /// Returns what a key means where lists and texts are shown.
    pub(crate) fn action(&self, event: KeyEvent, places: &[Place]) -> Option<Action> {
        let key = Key::of(event);
        let mut rows = ACTIONS.iter().zip(&self.bound);
        rows.find(|(row, (_, keys))| places.contains(&row.place) && keys.contains(&key))
            .map(|(row, _)| row.action)
    }

    /// Returns the first key of an action, as it is shown.
    pub(crate) fn shown(&self, action: Action) -> String {
        let keys = self.bound.iter().find(|(bound, _)| *bound == action);
        keys.and_then(|(_, keys)| keys.first()).map(ToString::to_string).unwrap_or_default()
    }

    /// Returns all keys of an action.
    pub(crate) fn all_shown(&self, action: Action) -> String {
        let keys = self.bound.iter().find(|(bound, _)| *bound == action);
        let keys = keys.map(|(_, keys)| keys.iter().map(ToString::to_string).collect::<Vec<_>>());
        keys.unwrap_or_default().join(" ")
    }

    /// Returns the keys of a line of the table.
    pub(crate) fn all_of(&self, row: &ActionRow) -> String {
        let at = ACTIONS.iter().position(|one| one.name == row.name);
        let keys = at.and_then(|at| self.bound.get(at)).map(|(_, keys)| keys.iter().map(ToString::to_string));
        keys.map(|keys| keys.collect::<Vec<_>>().join(" ")).unwrap_or_default()
    }
}
