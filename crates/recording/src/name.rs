//! What a recording may be called: its name is that of a file.

use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::format::EXTENSION;

const LONGEST_NAME: usize = 100;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("a recording cannot be called '{0}': a name has letters, digits, `-` and `_`, at most 100 of them")]
pub struct NameError(String);

/// Returns what a file of recordings is called by, such as `NAME` or `NAME.2`: the recording's name, and the number that an
/// earlier file of it has.
pub(crate) fn file_name(name: &str) -> Option<(&str, Option<u64>)> {
    let (name, part) = match name.rsplit_once('.') {
        Some((name, part)) if !part.starts_with(['0', '+']) => (name, Some(part.parse().ok()?)),
        Some(_) => return None,
        None => (name, None),
    };
    check_name(name).is_ok().then_some((name, part))
}

/// Returns the path of such a file; `None` where it would be another's.
pub fn file_in(folder: &Path, name: &str) -> Option<PathBuf> {
    file_name(name).map(|_| folder.join(format!("{name}.{EXTENSION}")))
}

/// Refuses a name that is none for a file of ours. Dots belong to the numbers of the files of a long recording.
pub fn check_name(name: &str) -> Result<(), NameError> {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if name.is_empty() || name.len() > LONGEST_NAME || name.starts_with('-') || !name.chars().all(is_fine) {
        return Err(NameError(name.to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_one_recording_are_told_by_their_numbers() {
        assert_eq!(file_name("a-b"), Some(("a-b", None)));
        assert_eq!(file_name("a-b.12"), Some(("a-b", Some(12))));
        for name in ["", ".1", "a.", "a.b", "a.0", "a.01", "a.+1", "a.1.2", "../a", "a/b.1", "a.-1"] {
            assert_eq!(file_name(name), None, "{name}");
            assert_eq!(file_in(Path::new("/x"), name), None, "{name}");
        }
        assert_eq!(file_in(Path::new("/x"), "a.1"), Some(PathBuf::from("/x/a.1.mfr")));
    }
}
