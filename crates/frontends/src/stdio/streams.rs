//! Our own standard streams, without a thread where they are pipes or sockets, as clients make them.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream as StdUnixStream;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

pub type Input = Box<dyn AsyncRead + Unpin + Send>;
pub type Output = Box<dyn AsyncWrite + Unpin + Send>;

/// Opens standard input and output for asynchronous use.
pub fn standard_streams() -> io::Result<(Input, Output)> {
    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let kind = input.metadata()?.file_type();
    let input: Input = if kind.is_fifo() {
        Box::new(pipe::Receiver::from_file(input)?)
    } else if kind.is_socket() {
        Box::new(socket(input)?)
    } else {
        // A terminal or a file: not ours to make non-blocking, others share it.
        Box::new(tokio::io::stdin())
    };
    let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let kind = output.metadata()?.file_type();
    let output: Output = if kind.is_fifo() {
        Box::new(pipe::Sender::from_file(output)?)
    } else if kind.is_socket() {
        Box::new(socket(output)?)
    } else {
        Box::new(tokio::io::stdout())
    };
    Ok((input, output))
}

fn socket(file: File) -> io::Result<UnixStream> {
    let socket = StdUnixStream::from(OwnedFd::from(file));
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}
