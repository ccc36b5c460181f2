//! Changes of users' files, and taking them back: who may be written, how a new text takes an old one's place, the record
//! that is kept of it, and what `undo` does with that. No gateway, no socket, no word to the user.
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "there is no runtime here, and so no clock of its own"
)]

mod command;
mod error;
mod file;
mod journal;
mod locks;
mod running;
mod undo;

pub use command::{CommandError, Finished, PATIENCE as COMMAND_PATIENCE, find_program, run};
pub use error::{Refusal, WriteError};
pub use file::{MAX_BYTES, Rules, TargetFile};
pub use journal::{After, Back, Change, Changes, Copy, Journal, Original, Record, StoredSecret, Watch};
pub use locks::Locks;
pub use running::{processes_of, running};
pub use undo::{ConfigKeeper, Left, UndoError, Undone, Which};

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// Returns the SHA-256 of some bytes, in hex.
pub fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_sha_256() {
        assert_eq!(digest(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
