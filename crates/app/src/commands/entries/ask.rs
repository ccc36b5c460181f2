//! Questions to whoever sits at the terminal.

use std::io::{self, IsTerminal as _, Write as _};

use crate::commands::call::Hidden;
use crate::output::escaped_text;

/// Returns whether somebody can read a question and answer it.
pub(in crate::commands) fn is_somebody_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks for a yes or no. Whoever presses Enter, or ends the input, has said no.
pub(super) fn is_agreed(question: &str) -> bool {
    let typed = line(&format!("{question} [y/N] ")).unwrap_or_default();
    ["y", "yes"].contains(&typed.trim().to_ascii_lowercase().as_str())
}

/// Asks for a line; `None`: the input has ended.
pub(in crate::commands) fn line(question: &str) -> Option<String> {
    let _ = write!(io::stderr(), "{}", escaped_text(question));
    let _ = io::stderr().flush();
    let mut typed = String::new();
    match io::stdin().read_line(&mut typed) {
        Ok(0) | Err(_) => {
            let _ = writeln!(io::stderr());
            None
        }
        Ok(_) => Some(typed.trim_end_matches(['\n', '\r']).to_owned()),
    }
}

/// Asks for a line that is not shown as it is typed.
pub(super) fn hidden_line(question: &str) -> Option<String> {
    let _hidden = Hidden::start();
    line(question)
}

/// Tells something that goes with a question.
pub(super) fn tell(text: &str) {
    let _ = writeln!(io::stderr(), "{}", escaped_text(text));
}
