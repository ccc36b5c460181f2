//! What a recording may be called: its name is that of a file.

use thiserror::Error;

const LONGEST_NAME: usize = 100;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("a recording cannot be called '{0}': a name has letters, digits, `-` and `_`, at most 100 of them")]
pub struct NameError(String);

/// Refuses a name that is none for a file of ours. Dots belong to the numbers of the files of a long recording.
pub fn check_name(name: &str) -> Result<(), NameError> {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if name.is_empty() || name.len() > LONGEST_NAME || name.starts_with('-') || !name.chars().all(is_fine) {
        return Err(NameError(name.to_owned()));
    }
    Ok(())
}
