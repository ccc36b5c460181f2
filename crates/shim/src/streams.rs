//! Standard input and output of the client's, and the daemon's socket, read and written without waiting.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;

use bytes::{Buf, BytesMut};
use nix::fcntl::{FcntlArg, OFlag, fcntl};

/// What is read at once.
const READ_BYTES: usize = 64 << 10;

/// What came of reading.
pub(crate) enum Reading {
    Some,
    Nothing,
    Ended,
}

/// Opens our own standard streams. What others share, a terminal or a file, is not ours to change.
pub(crate) fn standard() -> io::Result<(File, File)> {
    let open = |stream: io::Result<std::os::fd::OwnedFd>| -> io::Result<File> {
        let file = File::from(stream?);
        let kind = file.metadata()?.file_type();
        if kind.is_fifo() || kind.is_socket() {
            set_nonblocking(&file)?;
        }
        Ok(file)
    };
    Ok((open(io::stdin().as_fd().try_clone_to_owned())?, open(io::stdout().as_fd().try_clone_to_owned())?))
}

fn set_nonblocking(file: &impl AsFd) -> io::Result<()> {
    let flags = OFlag::from_bits_truncate(fcntl(file, FcntlArg::F_GETFL)?);
    fcntl(file, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
    Ok(())
}

/// Where bytes are read to first: a buffer that grows for each read would be filled with zeros for each, too.
pub(crate) struct Scratch(Box<[u8]>);

impl Scratch {
    pub(crate) fn new() -> Self {
        Self(vec![0; READ_BYTES].into_boxed_slice())
    }

    /// Reads what is there, once.
    pub(crate) fn read(&mut self, from: &mut impl Read, into: &mut BytesMut) -> Reading {
        loop {
            return match from.read(&mut self.0) {
                Ok(0) => Reading::Ended,
                Ok(count) => {
                    into.extend_from_slice(self.0.get(..count).unwrap_or_default());
                    Reading::Some
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Reading::Nothing,
                Err(_) => Reading::Ended,
            };
        }
    }
}

/// Writes as much as is taken. An error is the end of the stream.
pub(crate) fn write(to: &mut impl Write, from: &mut BytesMut) -> io::Result<()> {
    while !from.is_empty() {
        match to.write(from) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => from.advance(count),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
