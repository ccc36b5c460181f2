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

/// Reads what is there, once.
pub(crate) fn read(from: &mut impl Read, into: &mut BytesMut) -> Reading {
    let before = into.len();
    into.resize(before + READ_BYTES, 0);
    let read = loop {
        match from.read(into.get_mut(before..).unwrap_or_default()) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => break other,
        }
    };
    into.truncate(before + *read.as_ref().unwrap_or(&0));
    match read {
        Ok(0) => Reading::Ended,
        Ok(_) => Reading::Some,
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Reading::Nothing,
        Err(_) => Reading::Ended,
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
