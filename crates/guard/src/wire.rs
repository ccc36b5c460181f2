//! What gateway and keeper say to each other.
//!
//! The gateway's first frame is the request, with the server's three descriptors attached to its first byte, and as a
//! fourth the folder of its cgroup where it has one; each byte after it is the number of a signal for the server's process
//! group; the end of the stream means *kill everything*. The keeper answers with reports of a fixed size.
//!
//! A request is a [`Head`] and then its strings, each ended by a null byte, in the order in which they are counted.
//! So the keeper copies none: it only points at them.

use crate::kernel::Errno;

/// No kernel takes more arguments and environment than this.
pub const MAX_REQUEST_BYTES: usize = 16 << 20;

/// How many descriptors a request brings at least: stdin, stdout and stderr of the server.
pub const DESCRIPTORS: usize = 3;

/// What a server and everything it started may use together; zero is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    pub memory_mib: u32,
    pub processes: u32,
}

/// Which limit a server went over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excess {
    Memory,
    Processes,
}

/// The part of a request that has a fixed size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Head {
    /// How many bytes of strings follow.
    pub bytes: u32,
    /// Where it runs: one or none.
    pub directories: u32,
    /// The places to look for the program, best first.
    pub programs: u32,
    /// The program's own name among them.
    pub args: u32,
    /// Each as `NAME=value`.
    pub variables: u32,
    pub processes: u32,
    /// What it may use, in pages; zero is no limit.
    pub memory_pages: u64,
}

impl Head {
    pub const BYTES: usize = 32;

    /// Returns how many strings there are.
    pub fn strings(&self) -> usize {
        [self.directories, self.programs, self.args, self.variables].iter().map(|count| *count as usize).sum()
    }

    pub(crate) fn decode(bytes: &[u8; Self::BYTES]) -> Self {
        let mut numbers = [0; 8];
        for (number, four) in numbers.iter_mut().zip(bytes.as_chunks::<4>().0) {
            *number = u32::from_le_bytes(*four);
        }
        let [bytes, directories, programs, args, variables, processes, low, high] = numbers;
        let memory_pages = u64::from(low) | u64::from(high) << 32;
        Self { bytes, directories, programs, args, variables, processes, memory_pages }
    }

    #[cfg(not(alone))]
    fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let (low, high) = (self.memory_pages as u32, (self.memory_pages >> 32) as u32);
        let counts = [self.bytes, self.directories, self.programs, self.args, self.variables];
        let numbers = counts.into_iter().chain([self.processes, low, high]);
        for (four, number) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(numbers) {
            *four = number.to_le_bytes();
        }
        bytes
    }
}

/// Hands out the strings of a request, one after the other.
pub(crate) struct Strings<'a>(pub(crate) &'a [u8]);

impl<'a> Iterator for Strings<'a> {
    type Item = &'a [u8];

    /// Returns the next string, its null included.
    fn next(&mut self) -> Option<&'a [u8]> {
        let end = self.0.iter().position(|byte| *byte == 0)?;
        let (string, rest) = self.0.split_at_checked(end + 1)?;
        self.0 = rest;
        Some(string)
    }
}

/// At what a start failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Something else than the following, as the errno tells.
    Start,
    /// The directory to run in.
    Directory,
    /// The program is in none of the places.
    Search,
    /// The program is there, and what it is run with is not.
    Interpreter,
}

/// Why a server did not start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure {
    pub step: Step,
    pub errno: i32,
}

impl Failure {
    pub(crate) const BYTES: usize = 8;

    pub(crate) fn encode(self) -> [u8; Self::BYTES] {
        let ([a, b, c, d], [e, f, g, h]) = (self.errno.to_le_bytes(), (self.step as u32).to_le_bytes());
        [a, b, c, d, e, f, g, h]
    }

    pub(crate) fn decode([a, b, c, d, e, f, g, h]: [u8; Self::BYTES]) -> Self {
        let steps = [Step::Directory, Step::Search, Step::Interpreter];
        let number = u32::from_le_bytes([e, f, g, h]);
        let step = steps.into_iter().find(|step| *step as u32 == number).unwrap_or(Step::Start);
        Self { step, errno: i32::from_le_bytes([a, b, c, d]) }
    }
}

impl From<Errno> for Failure {
    fn from(errno: Errno) -> Self {
        Self { step: Step::Start, errno: errno.0 }
    }
}

/// What a keeper tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Report {
    Spawned {
        pid: u32,
    },
    Failed(Failure),
    /// The server ended by itself, and all it left behind is gone as well.
    Exited {
        code: i32,
        swept: u32,
    },
    Killed {
        signal: i32,
        swept: u32,
    },
    /// It used more than it may, and is gone with all it started.
    Over {
        excess: Excess,
        swept: u32,
    },
}

impl Report {
    pub const BYTES: usize = 9;

    pub(crate) fn encode(self) -> [u8; Self::BYTES] {
        let (kind, [a, b, c, d], [e, f, g, h]) = match self {
            Self::Spawned { pid } => (1, pid.to_le_bytes(), [0; 4]),
            Self::Failed(failure) => {
                let [a, b, c, d, e, f, g, h] = failure.encode();
                (2, [a, b, c, d], [e, f, g, h])
            }
            Self::Exited { code, swept } => (3, code.to_le_bytes(), swept.to_le_bytes()),
            Self::Killed { signal, swept } => (4, signal.to_le_bytes(), swept.to_le_bytes()),
            Self::Over { excess, swept } => (5, (excess as i32).to_le_bytes(), swept.to_le_bytes()),
        };
        [kind, a, b, c, d, e, f, g, h]
    }

    /// Reads a report; none if it is of no kind we know.
    pub fn decode([kind, a, b, c, d, e, f, g, h]: [u8; Self::BYTES]) -> Option<Self> {
        let (first, swept) = (i32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
        match kind {
            1 => Some(Self::Spawned { pid: first.cast_unsigned() }),
            2 => Some(Self::Failed(Failure::decode([a, b, c, d, e, f, g, h]))),
            3 => Some(Self::Exited { code: first, swept }),
            4 => Some(Self::Killed { signal: first, swept }),
            5 if first == Excess::Memory as i32 => Some(Self::Over { excess: Excess::Memory, swept }),
            5 => Some(Self::Over { excess: Excess::Processes, swept }),
            _ => None,
        }
    }
}

#[cfg(not(alone))]
pub use writing::{Unsendable, Writer};

/// The gateway's side of a request.
#[cfg(not(alone))]
mod writing {
    use alloc::vec::Vec;

    use super::{Head, Limits, MAX_REQUEST_BYTES};

    /// Why there is no request for a command.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Unsendable {
        /// One of its strings has a null byte, which no program can be given.
        Null,
        TooLarge,
    }

    /// Writes a request: the directory first, then programs, arguments and variables.
    #[derive(Debug, Default)]
    pub struct Writer {
        head: Head,
        strings: Vec<u8>,
        has_null: bool,
    }

    impl Writer {
        pub fn directory(&mut self, path: &[u8]) {
            self.head.directories += 1;
            self.put(&[path]);
        }

        /// Adds a place to look for the program, after those that are better.
        pub fn program(&mut self, path: &[u8]) {
            self.head.programs += 1;
            self.put(&[path]);
        }

        pub fn arg(&mut self, arg: &[u8]) {
            self.head.args += 1;
            self.put(&[arg]);
        }

        pub fn variable(&mut self, name: &[u8], value: &[u8]) {
            self.head.variables += 1;
            self.put(&[name, b"=", value]);
        }

        /// Returns the whole frame, for a machine with pages of this size.
        pub fn finish(mut self, limits: Limits, page_bytes: u64) -> Result<Vec<u8>, Unsendable> {
            if self.has_null {
                return Err(Unsendable::Null);
            }
            if self.strings.len() > MAX_REQUEST_BYTES {
                return Err(Unsendable::TooLarge);
            }
            self.head.bytes = self.strings.len() as u32;
            self.head.processes = limits.processes;
            self.head.memory_pages = (u64::from(limits.memory_mib) << 20) / page_bytes.max(1);
            Ok([&self.head.encode(), self.strings.as_slice()].concat())
        }

        fn put(&mut self, parts: &[&[u8]]) {
            for part in parts {
                self.has_null |= part.contains(&0);
                self.strings.extend_from_slice(part);
            }
            self.strings.push(0);
        }
    }
}

#[cfg(test)]
mod tests;
