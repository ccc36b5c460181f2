//! What gateway and keeper say to each other.
//!
//! The gateway's first frame is the request, with the server's three descriptors attached to its first byte; each byte
//! after it is the number of a signal for the server's process group; the end of the stream means *kill everything*.
//! The keeper answers with reports of a fixed size.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::{Excess, Limits, SpawnCommand};

/// No kernel takes more arguments and environment than this.
pub(super) const MAX_REQUEST_BYTES: usize = 16 << 20;

/// The length in front of a request.
pub(super) const HEAD_BYTES: usize = 4;

/// Returns the frame that asks a keeper to run the command, whose program was found at `path`.
pub(super) fn encode_request(path: &Path, command: &SpawnCommand) -> Vec<u8> {
    let mut frame = vec![0; HEAD_BYTES];
    put_list(&mut frame, [path.as_os_str().as_bytes(), command.program.as_bytes()].into_iter());
    put_list(&mut frame, command.args.iter().map(|arg| arg.as_bytes()));
    put_list(&mut frame, command.env.iter().flat_map(|(name, value)| [name.as_bytes(), value.as_bytes()]));
    put_list(&mut frame, command.cwd.iter().map(|cwd| cwd.as_os_str().as_bytes()));
    frame.extend(command.limits.memory_mib.to_le_bytes());
    frame.extend(command.limits.processes.to_le_bytes());
    let length = (frame.len() - HEAD_BYTES) as u32;
    frame[..HEAD_BYTES].copy_from_slice(&length.to_le_bytes());
    frame
}

/// Reads a request without its head.
pub(super) fn decode_request(mut body: &[u8]) -> Option<(PathBuf, SpawnCommand)> {
    let mut program = take_list(&mut body)?.into_iter();
    let (path, program) = (program.next()?, program.next()?);
    let args = take_list(&mut body)?;
    let mut words = take_list(&mut body)?.into_iter();
    let mut env = Vec::with_capacity(words.len() / 2);
    while let Some(name) = words.next() {
        env.push((name, words.next()?));
    }
    let cwd = take_list(&mut body)?.pop().map(PathBuf::from);
    let mut limit = || u32::try_from(take_number(&mut body)?).ok();
    let limits = Limits { memory_mib: limit()?, processes: limit()? };
    Some((PathBuf::from(path), SpawnCommand { program, args, env, cwd, limits }))
}

/// What a keeper tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Report {
    Spawned {
        pid: u32,
    },
    Failed {
        errno: i32,
    },
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
    pub(super) const BYTES: usize = 9;

    pub(super) fn encode(self) -> [u8; Self::BYTES] {
        let (kind, [a, b, c, d], [e, f, g, h]) = match self {
            Self::Spawned { pid } => (1, pid.to_le_bytes(), [0; 4]),
            Self::Failed { errno } => (2, errno.to_le_bytes(), [0; 4]),
            Self::Exited { code, swept } => (3, code.to_le_bytes(), swept.to_le_bytes()),
            Self::Killed { signal, swept } => (4, signal.to_le_bytes(), swept.to_le_bytes()),
            Self::Over { excess, swept } => (5, (excess as i32).to_le_bytes(), swept.to_le_bytes()),
        };
        [kind, a, b, c, d, e, f, g, h]
    }

    pub(super) fn decode([kind, a, b, c, d, e, f, g, h]: [u8; Self::BYTES]) -> Option<Self> {
        let (first, swept) = (i32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
        match kind {
            1 => Some(Self::Spawned { pid: first.cast_unsigned() }),
            2 => Some(Self::Failed { errno: first }),
            3 => Some(Self::Exited { code: first, swept }),
            4 => Some(Self::Killed { signal: first, swept }),
            5 if first == Excess::Memory as i32 => Some(Self::Over { excess: Excess::Memory, swept }),
            5 => Some(Self::Over { excess: Excess::Processes, swept }),
            _ => None,
        }
    }
}

fn put_list<'a>(frame: &mut Vec<u8>, items: impl Iterator<Item = &'a [u8]>) {
    let at = frame.len();
    frame.extend([0; 4]);
    let mut count: u32 = 0;
    for item in items {
        frame.extend((item.len() as u32).to_le_bytes());
        frame.extend(item);
        count += 1;
    }
    frame[at..at + 4].copy_from_slice(&count.to_le_bytes());
}

fn take_list(body: &mut &[u8]) -> Option<Vec<OsString>> {
    let count = take_number(body)?;
    let mut items = Vec::new();
    for _ in 0..count {
        let length = take_number(body)?;
        let (item, rest) = body.split_at_checked(length)?;
        *body = rest;
        items.push(OsString::from_vec(item.to_vec()));
    }
    Some(items)
}

fn take_number(body: &mut &[u8]) -> Option<usize> {
    let (number, rest) = body.split_first_chunk::<4>()?;
    *body = rest;
    usize::try_from(u32::from_le_bytes(*number)).ok()
}
