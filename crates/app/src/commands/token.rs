//! What makes a token a weak guard (L17).

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use manifold_config::Secret;

/// A shorter one could be guessed.
const LEAST_CHARACTERS: usize = 16;
/// Group and others may read.
const OTHERS_READ: u32 = 0o044;

/// Says that a token of so many characters is too short, if it is.
pub(super) fn too_short(characters: usize) -> Option<String> {
    (characters < LEAST_CHARACTERS).then(|| {
        format!(
            "the token has {characters} characters and could be guessed; use at least {LEAST_CHARACTERS}, \
             as `openssl rand -hex 32` makes them"
        )
    })
}

/// Returns what is weak about a token and the file it came from, in words that say what to do.
pub(super) fn weaknesses(token: &Secret, file: Option<&Path>) -> Vec<String> {
    let short = too_short(token.expose().chars().count());
    let open = file.filter(|file| is_open(file)).map(can_be_read);
    short.into_iter().chain(open).collect()
}

/// Says that others can read a file with a token.
pub(super) fn can_be_read(file: &Path) -> String {
    let file = file.display();
    format!("the token file {file} can be read by others; close it with `chmod 600 {file}`")
}

/// Says that others can read a file with a key of stored secrets, if they can.
pub(super) fn open_key(file: &Path) -> Option<String> {
    let shown = file.display();
    let what = || format!("the key file {shown} can be read by others; close it with `chmod 600 {shown}`");
    is_open(file).then(what)
}

fn is_open(file: &Path) -> bool {
    std::fs::metadata(file).is_ok_and(|about| about.permissions().mode() & OTHERS_READ != 0)
}
