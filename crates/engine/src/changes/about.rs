//! What a client has said of itself, for operators.

use manifold_admin::{ClientTransport, Principal};

/// How much of a name or version is shown.
const MAX_CHARS: usize = 128;

/// What is known of a client; `None` where it is not.
#[derive(Debug, Clone, Default)]
pub struct ClientAbout {
    pub principal: Option<Principal>,
    pub name: Option<String>,
    pub version: Option<String>,
    /// The revision agreed on with it.
    pub revision: Option<String>,
    pub transport: Option<ClientTransport>,
    /// Its process and the folder it was started in, where they are known.
    pub pid: Option<u32>,
    pub cwd: Option<String>,
    /// The version of the shim before it.
    pub shim: Option<String>,
    pub calls_in_flight: Option<usize>,
}

impl ClientAbout {
    /// Returns what is shown of a name or version that a client gives itself: so much of it, and nothing that would steer
    /// a terminal.
    pub fn shown(word: &str) -> String {
        word.chars().filter(|char| !char.is_control()).take(MAX_CHARS).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_cut_and_steers_no_terminal() {
        assert_eq!(ClientAbout::shown("Claude Code"), "Claude Code");
        assert_eq!(ClientAbout::shown("a\u{1b}[2J\u{7}\n\u{9b}b"), "a[2Jb");
        assert_eq!(ClientAbout::shown(&"ä".repeat(1_000_000)).chars().count(), MAX_CHARS);
    }
}
