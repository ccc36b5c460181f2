//! What `/proc` tells, read without memory.

use core::ffi::CStr;

use crate::kernel::{self, Errno, Fd};

/// Looks up a path below `/proc`.
pub(crate) struct ProcPath {
    bytes: [u8; 64],
    length: usize,
}

impl ProcPath {
    /// Starts with the folder of a process.
    pub(crate) fn of(pid: i32) -> Self {
        Self { bytes: [0; 64], length: 0 }.text(b"/proc/").number(pid)
    }

    pub(crate) fn text(mut self, text: &[u8]) -> Self {
        for byte in text {
            // The last byte stays the null that ends it.
            if self.length + 1 < self.bytes.len()
                && let Some(place) = self.bytes.get_mut(self.length)
            {
                *place = *byte;
                self.length += 1;
            }
        }
        self
    }

    pub(crate) fn number(mut self, number: i32) -> Self {
        let mut divisor = 1_000_000_000;
        let mut begun = false;
        while divisor > 0 {
            let digit = (number / divisor % 10) as u8;
            begun |= digit > 0 || divisor == 1;
            if begun {
                self = self.text(&[b'0' + digit]);
            }
            divisor /= 10;
        }
        self
    }

    pub(crate) fn as_c_str(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or_default()
    }

    /// Reads the beginning of the file.
    pub(crate) fn read<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a [u8], Errno> {
        let length = kernel::read(&kernel::open(self.as_c_str())?, buffer)?;
        Ok(buffer.get(..length).unwrap_or_default())
    }
}

/// Tells of every number that a file consists of.
pub(crate) fn for_each_number(file: &Fd, found: &mut dyn FnMut(i32)) {
    let mut buffer = [0; 256];
    // A number may go on in the next piece.
    let mut number = None;
    while let Ok(length @ 1..) = kernel::read(file, &mut buffer) {
        for byte in buffer.iter().take(length) {
            number = match (byte, number) {
                (b'0'..=b'9', _) => Some(with_digit(number.unwrap_or(0), *byte)),
                (_, Some(whole)) => {
                    found(whole);
                    None
                }
                (_, None) => None,
            };
        }
    }
    number.into_iter().for_each(found);
}

/// Tells of every entry of a directory whose name is a number.
pub(crate) fn for_each_numbered_entry(path: &CStr, found: &mut dyn FnMut(i32)) -> Result<(), Errno> {
    /// Where an entry has its length, and where its name begins.
    const LENGTH_AT: usize = 16;
    const NAME_AT: usize = 19;
    let directory = kernel::open(path)?;
    let mut buffer = [0; 512];
    loop {
        let filled = kernel::read_entries(&directory, &mut buffer)?;
        let mut rest = buffer.get(..filled).unwrap_or_default();
        if rest.is_empty() {
            return Ok(());
        }
        while let Some([low, high]) = rest.get(LENGTH_AT..LENGTH_AT + 2)
            && let Some((entry, after)) =
                rest.split_at_checked(usize::from(u16::from_le_bytes([*low, *high])))
            && let Some(name) = entry.get(NAME_AT..)
        {
            rest = after;
            if let Some(number) = name.split(|byte| *byte == 0).next().and_then(parse) {
                found(number);
            }
        }
    }
}

/// Reads a number that is nothing else.
pub(crate) fn parse(text: &[u8]) -> Option<i32> {
    let all_digits = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    all_digits.then(|| text.iter().fold(0, |number, digit| with_digit(number, *digit)))
}

fn with_digit(number: i32, digit: u8) -> i32 {
    number.saturating_mul(10).saturating_add(i32::from(digit - b'0'))
}

#[cfg(test)]
mod tests;
