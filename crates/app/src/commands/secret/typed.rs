//! The value of a secret, or a passphrase, as it is typed or piped in. It is never an argument.

use std::io::{self, IsTerminal as _, Read as _, Write as _};

use manifold_credentials::{Name, Value};
use zeroize::Zeroizing;

use crate::commands::call::Hidden;
use crate::output::{Exit, Failure};

/// A store keeps no more.
const MAX_BYTES: usize = 256 * 1024;
/// A terminal gives no longer line.
const LINE: usize = 4096;

/// What somebody who is asked for a passphrase cannot guess quickly.
const MIN_PASSPHRASE: usize = 8;

/// Reads the value: at a terminal one line that is not shown, else all of standard input, less one line end.
pub(super) fn value(name: &Name) -> Result<Value, Failure> {
    checked(read(&format!("value of {name}: "))?)
}

/// Reads the passphrase of a backup in the same way. A new one is typed twice.
pub(super) fn passphrase(is_new: bool) -> Result<Value, Failure> {
    let read = || read("passphrase of the backup: ").map(|bytes| taken(less_line_end(bytes)));
    let passphrase = read()?;
    if is_new && passphrase.expose().len() < MIN_PASSPHRASE {
        let message = format!("the passphrase has fewer than {MIN_PASSPHRASE} characters");
        return Err(
            Failure::usage(message).hint("write it to standard input, or name a key with --with-key-file")
        );
    }
    if is_new && io::stdin().is_terminal() && read()? != passphrase {
        return Err(Failure::usage("these were two passphrases"));
    }
    Ok(passphrase)
}

fn read(asked: &str) -> Result<Zeroizing<Vec<u8>>, Failure> {
    // All room beforehand: a move would leave a copy of the value behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_BYTES + LINE));
    if io::stdin().is_terminal() {
        let _hidden = Hidden::start();
        let _ = write!(io::stderr(), "{asked}");
        let _ = io::stderr().flush();
        read_line(&mut bytes).map_err(|error| unread(&error))?;
    } else {
        let most = (MAX_BYTES + 3) as u64;
        io::stdin().lock().take(most).read_to_end(&mut bytes).map_err(|error| unread(&error))?;
    }
    Ok(bytes)
}

fn read_line(bytes: &mut Vec<u8>) -> io::Result<()> {
    // A terminal hands over whole lines.
    let mut chunk = Zeroizing::new([0; LINE]);
    while !bytes.ends_with(b"\n") && bytes.len() < MAX_BYTES {
        match io::stdin().read(&mut *chunk)? {
            0 => break,
            count => bytes.extend_from_slice(&chunk[..count]),
        }
    }
    Ok(())
}

fn less_line_end(mut bytes: Zeroizing<Vec<u8>>) -> Zeroizing<Vec<u8>> {
    if bytes.ends_with(b"\n") {
        bytes.pop();
        if bytes.ends_with(b"\r") {
            bytes.pop();
        }
    }
    bytes
}

fn checked(bytes: Zeroizing<Vec<u8>>) -> Result<Value, Failure> {
    let value = taken(less_line_end(bytes));
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

fn taken(mut bytes: Zeroizing<Vec<u8>>) -> Value {
    Value::new(std::mem::take(&mut *bytes))
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
            checked(Zeroizing::new(text.as_bytes().to_vec()))
                .map(|value| value.expose_text().unwrap().to_owned())
        };
        assert_eq!(read("abc\n").unwrap(), "abc");
        assert_eq!(read("abc\r\n").unwrap(), "abc");
        assert_eq!(read("abc\n\n").unwrap(), "abc\n");
        assert_eq!(read(" abc ").unwrap(), " abc ");
        for bad in ["", "\n", "a\0b"] {
            read(bad).unwrap_err();
        }
        checked(Zeroizing::new(vec![0xff, 0xfe])).unwrap_err();
    }
}
