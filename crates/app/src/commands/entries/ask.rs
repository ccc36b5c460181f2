//! Questions to whoever sits at the terminal.

use std::io::{self, IsTerminal as _, Write as _};

use crate::output::escaped_text;

/// Returns whether somebody can read a question and answer it.
pub(in crate::commands) fn is_somebody_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks for a yes or no. Whoever presses Enter, or ends the input, has said no.
pub(super) fn is_agreed(question: &str) -> bool {
    let mut typed = String::new();
    let _ = write!(io::stderr(), "{} [y/N] ", escaped_text(question));
    let _ = io::stderr().flush();
    match io::stdin().read_line(&mut typed) {
        Ok(0) | Err(_) => {
            let _ = writeln!(io::stderr());
            false
        }
        Ok(_) => ["y", "yes"].contains(&typed.trim().to_ascii_lowercase().as_str()),
    }
}
