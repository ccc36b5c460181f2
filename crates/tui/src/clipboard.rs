//! Copying: by the terminal itself, which works over SSH as well, and by the desktop's own program where there is one.

use std::io::{self, Write};
use std::process::{Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Terminals take no more than this.
const MAX_BYTES: usize = 74_994;

/// Copies a text; returns what is said of it.
pub(crate) fn copy(text: &str, what: &str, environment: &[(String, String)]) -> String {
    let mut ways = Vec::new();
    if text.len() <= MAX_BYTES && by_terminal(text).is_ok() {
        ways.push("the terminal (OSC 52)");
    }
    ways.extend(by_program(text, environment));
    match ways.as_slice() {
        [] => format!("not copied: {} bytes are more than the terminal takes", text.len()),
        ways => format!("copied {what} by {}", ways.join(" and ")),
    }
}

fn by_terminal(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    write!(stdout, "\u{1b}]52;c;{}\u{7}", STANDARD.encode(text))?;
    stdout.flush()
}

fn by_program(text: &str, environment: &[(String, String)]) -> Option<&'static str> {
    let has = |name: &str| environment.iter().any(|(known, value)| known == name && !value.is_empty());
    let (program, args): (&str, &[&str]) = match (has("WAYLAND_DISPLAY"), has("DISPLAY")) {
        (true, _) => ("wl-copy", &[]),
        (false, true) => ("xclip", &["-selection", "clipboard"]),
        (false, false) => return None,
    };
    let mut command = Command::new(program);
    command.args(args).env_clear().envs(environment.iter().cloned());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
    let written = child.stdin.take().map(|mut stdin| stdin.write_all(text.as_bytes()));
    // It stays to hand out what was copied; nobody here waits for it.
    let _ = std::thread::Builder::new().name("clipboard".to_owned()).spawn(move || child.wait());
    written?.ok()?;
    Some(program)
}
