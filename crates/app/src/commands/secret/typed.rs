//! The value of a secret, as it is typed or piped in. It is never an argument.

use std::io::{self, IsTerminal as _, Read as _, Write as _};

use manifold_credentials::{Name, Value};

use crate::commands::call::Hidden;
use crate::output::{Exit, Failure};

/// A store keeps no more.
const MAX_BYTES: u64 = 256 * 1024;

/// Reads the value: at a terminal one line that is not shown, else all of standard input, less one line end.
pub(super) fn value(name: &Name) -> Result<Value, Failure> {
    let mut bytes = Vec::with_capacity(4096);
    if io::stdin().is_terminal() {
        let _hidden = Hidden::start();
        let _ = write!(io::stderr(), "value of {name}: ");
        let _ = io::stderr().flush();
        read_line(&mut bytes).map_err(|error| unread(&error))?;
    } else {
        io::stdin().take(MAX_BYTES + 3).read_to_end(&mut bytes).map_err(|error| unread(&error))?;
    }
    checked(bytes)
}

fn read_line(bytes: &mut Vec<u8>) -> io::Result<()> {
    // A terminal hands over whole lines.
    let mut chunk = [0; 4096];
    while !bytes.ends_with(b"\n") && (bytes.len() as u64) <= MAX_BYTES {
        match io::stdin().read(&mut chunk)? {
            0 => break,
            count => bytes.extend_from_slice(&chunk[..count]),
        }
    }
    Ok(())
}

fn checked(mut bytes: Vec<u8>) -> Result<Value, Failure> {
    if bytes.ends_with(b"\n") {
        bytes.pop();
        if bytes.ends_with(b"\r") {
            bytes.pop();
        }
    }
    let value = Value::new(bytes);
    let why = match value.expose_text() {
        None => "the value is not UTF-8 text",
        Some("") => "the value is empty",
        Some(text) if text.contains('\0') => {
            "the value has a NUL in it, which no variable and no header can have"
        }
        Some(_) => return Ok(value),
    };
    Err(Failure::usage(why).hint("write it to standard input, or type it when asked"))
}

fn unread(error: &io::Error) -> Failure {
    Failure::new(Exit::Failed, "failed", format!("standard input cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_end_is_dropped_and_no_more() {
        let read = |text: &str| {
            checked(text.as_bytes().to_vec()).map(|value| value.expose_text().unwrap().to_owned())
        };
        assert_eq!(read("abc\n").unwrap(), "abc");
        assert_eq!(read("abc\r\n").unwrap(), "abc");
        assert_eq!(read("abc\n\n").unwrap(), "abc\n");
        assert_eq!(read(" abc ").unwrap(), " abc ");
        for bad in ["", "\n", "a\0b"] {
            read(bad).unwrap_err();
        }
        checked(vec![0xff, 0xfe]).unwrap_err();
    }
}
