//! Descriptors: opened, read, written, passed on and closed.

use core::ffi::CStr;
use core::ptr::null_mut;

use super::{CLOEXEC, Errno, Fd, HERE, call, numbers as number, plain};

/// Opens a file to read it.
pub(crate) fn open(path: &CStr) -> Result<Fd, Errno> {
    // SAFETY: the kernel reads the string.
    unsafe { call(number::OPENAT, [HERE, path.as_ptr() as usize, CLOEXEC, 0, 0, 0]) }.map(|fd| Fd(fd as i32))
}

pub(crate) fn exists(path: &CStr) -> bool {
    // SAFETY: the kernel reads the string.
    unsafe { call(number::FACCESSAT, [HERE, path.as_ptr() as usize, 0, 0, 0, 0]) }.is_ok()
}

pub(crate) fn change_directory(path: &CStr) -> Result<(), Errno> {
    // SAFETY: the kernel reads the string.
    unsafe { call(number::CHDIR, [path.as_ptr() as usize, 0, 0, 0, 0, 0]) }.map(drop)
}

/// Reads what is there. Nothing means the end.
pub(crate) fn read(fd: &Fd, buffer: &mut [u8]) -> Result<usize, Errno> {
    fill_from(number::READ, fd, buffer)
}

/// Reads a few entries of a directory, as the kernel writes them.
pub(crate) fn read_entries(fd: &Fd, buffer: &mut [u8]) -> Result<usize, Errno> {
    fill_from(number::GETDENTS64, fd, buffer)
}

fn fill_from(number: usize, fd: &Fd, buffer: &mut [u8]) -> Result<usize, Errno> {
    loop {
        let arguments = [fd.0 as usize, buffer.as_mut_ptr() as usize, buffer.len(), 0, 0, 0];
        // SAFETY: the kernel writes no more than the buffer holds.
        match unsafe { call(number, arguments) } {
            Err(Errno::EINTR) => {}
            result => return result,
        }
    }
}

pub(crate) fn write(fd: &Fd, bytes: &[u8]) -> Result<usize, Errno> {
    // SAFETY: the kernel reads these bytes.
    unsafe { call(number::WRITE, [fd.0 as usize, bytes.as_ptr() as usize, bytes.len(), 0, 0, 0]) }
}

/// Sends into a socket, whose other end may be gone.
pub(crate) fn send(fd: &Fd, bytes: &[u8]) -> Result<usize, Errno> {
    const MSG_NOSIGNAL: usize = 0x4000;
    let arguments = [fd.0 as usize, bytes.as_ptr() as usize, bytes.len(), MSG_NOSIGNAL, 0, 0];
    // SAFETY: the kernel reads these bytes.
    unsafe { call(number::SENDTO, arguments) }
}

/// Receives bytes and up to four descriptors. No bytes mean that the other side closed.
pub(crate) fn receive(fd: &Fd, buffer: &mut [u8]) -> Result<(usize, [Option<Fd>; 4]), Errno> {
    const MSG_CMSG_CLOEXEC: usize = 0x4000_0000;
    #[repr(C)]
    struct Slice {
        start: *mut u8,
        bytes: usize,
    }
    /// The one control message there can be.
    #[repr(C)]
    struct Attached {
        bytes: usize,
        level: i32,
        kind: i32,
        fds: [i32; 4],
    }
    #[repr(C)]
    struct Message {
        address: usize,
        address_bytes: u32,
        slices: *mut Slice,
        slice_count: usize,
        attached: *mut Attached,
        attached_bytes: usize,
        flags: i32,
    }
    const SOL_SOCKET: i32 = 1;
    const SCM_RIGHTS: i32 = 1;
    let mut slice = Slice { start: buffer.as_mut_ptr(), bytes: buffer.len() };
    let mut attached = Attached { bytes: 0, level: 0, kind: 0, fds: [-1; 4] };
    let mut message = Message {
        address: 0,
        address_bytes: 0,
        slices: &raw mut slice,
        slice_count: 1,
        attached: &raw mut attached,
        attached_bytes: size_of::<Attached>(),
        flags: 0,
    };
    let arguments = [fd.0 as usize, (&raw mut message) as usize, MSG_CMSG_CLOEXEC, 0, 0, 0];
    // SAFETY: everything the message points to is there and as large as it says.
    let count = loop {
        match unsafe { call(number::RECVMSG, arguments) } {
            Err(Errno::EINTR) => {}
            result => break result?,
        }
    };
    let mut fds = [None, None, None, None];
    if (attached.level, attached.kind) == (SOL_SOCKET, SCM_RIGHTS) {
        let came = attached.bytes.saturating_sub(ATTACHED_HEAD) / size_of::<i32>();
        for (place, fd) in fds.iter_mut().zip(attached.fds).take(came) {
            // The kernel has just made it for us, and nobody else knows it.
            *place = Some(Fd(fd));
        }
    }
    Ok((count, fds))
}

const ATTACHED_HEAD: usize = size_of::<usize>() + 2 * size_of::<i32>();

/// Makes a descriptor take the place of another, by its number; it then stays open in the programs we start.
pub(crate) fn put_in_place(fd: &Fd, place: i32) -> Result<(), Errno> {
    plain(number::DUP3, [fd.0 as usize, place as usize, 0]).map(drop)
}

/// Opens a pipe: what is written into the second comes out of the first.
pub(crate) fn pipe() -> Result<(Fd, Fd), Errno> {
    let mut ends = [0_i32; 2];
    // SAFETY: there is room for two.
    unsafe { call(number::PIPE2, [ends.as_mut_ptr() as usize, CLOEXEC, 0, 0, 0, 0]) }?;
    Ok((Fd(ends[0]), Fd(ends[1])))
}

/// Closes every descriptor from this number on. Fails where the kernel is older than this call (5.9).
pub(crate) fn close_from(first: u32) -> Result<(), Errno> {
    plain(number::CLOSE_RANGE, [first as usize, u32::MAX as usize, 0]).map(drop)
}

/// Closes a descriptor of which nothing but the number is known.
pub(crate) fn close_number(number: i32) {
    drop(Fd(number));
}

/// Waits until one of two descriptors has something to read, and tells which; or for so long.
pub(crate) fn wait_for(wanted: [&Fd; 2], patience_ms: Option<u32>) -> Result<[bool; 2], Errno> {
    #[repr(C)]
    struct Polled {
        fd: i32,
        wanted: i16,
        found: i16,
    }
    const POLLIN: i16 = 1;
    let mut polled = wanted.map(|fd| Polled { fd: fd.0, wanted: POLLIN, found: 0 });
    let mut time = patience_ms.map(|ms| [i64::from(ms / 1000), i64::from(ms % 1000) * 1_000_000]);
    let time = time.as_mut().map_or(null_mut(), |time| time.as_mut_ptr());
    let arguments = [polled.as_mut_ptr() as usize, polled.len(), time as usize, 0, 0, 0];
    // SAFETY: two such structures are there to be written to, and a time, of which what is left is written back, or none.
    match unsafe { call(number::PPOLL, arguments) } {
        Ok(_) => Ok(polled.map(|polled| polled.found != 0)),
        Err(Errno::EINTR) => Ok([false; 2]),
        Err(errno) => Err(errno),
    }
}
