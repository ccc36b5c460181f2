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
    let mode = |file: &Path| Some(std::fs::metadata(file).ok()?.permissions().mode());
    let open = file.filter(|file| mode(file).is_some_and(|mode| mode & OTHERS_READ != 0)).map(|file| {
        let file = file.display();
        format!("the token file {file} can be read by others; close it with `chmod 600 {file}`")
    });
    short.into_iter().chain(open).collect()
}
