//! The names in a bundle. One that could land outside its folder, or on another's place, spoils the whole bundle.

use std::collections::BTreeMap;

const MAX_NAME_BYTES: usize = 1024;
const MAX_PART_BYTES: usize = 255;
const MAX_DEPTH: usize = 40;

/// What is wrong with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NameFlaw {
    #[error("leads out of the bundle's folder")]
    LeadsOut,
    #[error("has characters a name cannot have")]
    Characters,
    #[error("is too long or too deep")]
    TooLong,
    #[error("is there twice, perhaps in other letters")]
    Twice,
}

/// All names of a bundle.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// By what they would be where case does not count.
    known: BTreeMap<String, Known>,
}

#[derive(Debug)]
struct Known {
    name: String,
    is_folder: bool,
    /// Whether it has an entry of its own; a folder may only be on the way to another.
    is_entry: bool,
}

impl Names {
    /// Takes up a name; folders end with a slash.
    pub(super) fn add(&mut self, name: &str) -> Result<(), NameFlaw> {
        check(name)?;
        let path = name.trim_end_matches('/');
        for (end, _) in path.match_indices('/') {
            self.put(&path[..end], true, false)?;
        }
        self.put(path, name.ends_with('/'), true)
    }

    /// Returns whether this file is there.
    pub(super) fn has_file(&self, name: &str) -> bool {
        self.known.get(&name.to_lowercase()).is_some_and(|known| known.name == name && !known.is_folder)
    }

    fn put(&mut self, name: &str, is_folder: bool, is_entry: bool) -> Result<(), NameFlaw> {
        let Some(known) = self.known.get_mut(&name.to_lowercase()) else {
            let known = Known { name: name.to_owned(), is_folder, is_entry };
            self.known.insert(name.to_lowercase(), known);
            return Ok(());
        };
        let is_same_folder = known.name == name && known.is_folder && is_folder;
        if !is_same_folder || known.is_entry && is_entry {
            return Err(NameFlaw::Twice);
        }
        known.is_entry |= is_entry;
        Ok(())
    }
}

fn check(name: &str) -> Result<(), NameFlaw> {
    let is_bad = |char: char| char.is_control() || matches!(char, '\\' | ':');
    if name.contains(is_bad) {
        return Err(NameFlaw::Characters);
    }
    if name.len() > MAX_NAME_BYTES || name.split('/').count() > MAX_DEPTH {
        return Err(NameFlaw::TooLong);
    }
    let path = name.strip_suffix('/').unwrap_or(name);
    for part in path.split('/') {
        match part {
            "" | "." | ".." => return Err(NameFlaw::LeadsOut),
            part if part.len() > MAX_PART_BYTES => return Err(NameFlaw::TooLong),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(names: &[&str]) -> Result<(), NameFlaw> {
        let mut all = Names::default();
        names.iter().try_for_each(|name| all.add(name))
    }

    #[test]
    fn names_stay_below_their_folder() {
        assert_eq!(added(&["manifest.json", "server/", "server/index.js", "node_modules/a/b.js"]), Ok(()));
        // A folder may come after what is in it.
        assert_eq!(added(&["a/b", "a/"]), Ok(()));
        for name in ["../x", "a/../../x", "/etc/passwd", "a//b", "./x", "..", "", "/", "a/./b"] {
            assert_eq!(added(&[name]), Err(NameFlaw::LeadsOut), "{name}");
        }
        for name in ["..\\x", "C:x", "a\0b", "a\nb", "a\u{1b}[2J"] {
            assert_eq!(added(&[name]), Err(NameFlaw::Characters), "{name}");
        }
        assert_eq!(added(&[&"a/".repeat(60)]), Err(NameFlaw::TooLong));
        assert_eq!(added(&[&"a".repeat(300)]), Err(NameFlaw::TooLong));
    }

    #[test]
    fn no_place_is_taken_twice() {
        for names in
            [["a", "a"], ["a", "A"], ["a/b", "A/c"], ["a", "a/b"], ["a/b", "a"], ["a/", "a/"], ["a", "a/"]]
        {
            assert_eq!(added(&names), Err(NameFlaw::Twice), "{names:?}");
        }
    }
}
