//! The bytes of one file in clear: a line that says what it is, a line with a SHA-256 of that line and the value, and
//! the value. What was cut, damaged or swapped is found; what was changed on purpose is not, for there is no key.

#[cfg(test)]
mod tests;

use aws_lc_rs::digest::{Context, SHA256};
use zeroize::Zeroizing;

use crate::head::{Format, Head, Unread, line, split};
use crate::name::hex;
use crate::value::Value;

/// The line with the sum.
pub(crate) const SUM_BYTES: usize = 65;

/// Returns the bytes of a file.
pub(crate) fn write(head: &Head, value: &Value) -> Result<Zeroizing<Vec<u8>>, Unread> {
    let line = line(head, Format::Plain)?;
    let sum = sum(&line, value.expose());
    let mut file = Zeroizing::new(Vec::with_capacity(line.len() + SUM_BYTES + value.expose().len()));
    for part in [line.as_slice(), sum.as_bytes(), b"\n", value.expose()] {
        file.extend_from_slice(part);
    }
    Ok(file)
}

/// Returns what a file holds.
pub(crate) fn read(file: &[u8]) -> Result<(Head, Value), Unread> {
    let split = split(file)?;
    if split.format != Format::Plain {
        return Err(Unread::Damaged("is sealed, though the store is plain"));
    }
    let Some((written, value)) = split.rest.split_at_checked(SUM_BYTES) else {
        return Err(Unread::Damaged("is cut short"));
    };
    if written.strip_suffix(b"\n") != Some(sum(split.line, value).as_bytes()) {
        return Err(Unread::Damaged("was cut or changed"));
    }
    Ok((split.head, Value::new(value)))
}

fn sum(line: &[u8], value: &[u8]) -> String {
    let mut context = Context::new(&SHA256);
    context.update(line);
    context.update(value);
    hex(context.finish().as_ref())
}
