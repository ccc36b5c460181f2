//! The keeper: one process between the guard and each server, to which all that the server leaves behind falls.
#![expect(unsafe_code, reason = "a program is started with pointers to its arguments")]

mod command;

use core::ffi::CStr;

use crate::kernel::{self, Errno, Fd, Signal, Status};
use crate::memory::Pages;
use crate::tree;
use crate::wire::{Excess, Failure, Head, MAX_REQUEST_BYTES, Report};
use command::{Command, spawn};

/// How often a server with limits is looked at.
const LOOK_MS: u32 = 200;

/// The signal the kernel sends us when the guard ends.
pub(crate) const GUARD_DIED: Signal = Signal::TERM;

/// Runs one server from its start to the end of everything it started.
pub(crate) fn run(control: &Fd, signals: &Fd, guard: i32, marker: Option<&CStr>) {
    let ready = kernel::set_name(c"mcp-keeper")
        .and_then(|()| kernel::adopt_orphans())
        .and_then(|()| kernel::hear_of_parents_end(GUARD_DIED));
    if ready.is_err() {
        return;
    }
    let Started { server, wanted, cgroup } = match start(control, marker) {
        Ok(started) => started,
        Err(failure) => return send(control, Report::Failed(failure)),
    };
    send(control, Report::Spawned { pid: server.cast_unsigned() });

    let (mut status, mut excess) = (None, None);
    match watch(server, &wanted, control, signals, guard) {
        End::Ended(how) => status = Some(how),
        End::Over(which) => excess = Some(which),
        End::Unwanted => {}
    }
    // All at once, so that nothing is forked between two looks; what is not in it is found below us (L15).
    if let Some(cgroup) = cgroup {
        let _ = kernel::kill_cgroup(&cgroup);
    }
    let mut swept = 0;
    tree::kill_all_below(signals, &mut |pid, how| {
        if pid == server {
            status = Some(how);
        } else {
            swept += 1;
        }
    });
    // Told only now, so whoever hears of the end may start anew: nothing of the old is in the way.
    if let Some(excess) = excess {
        return send(control, Report::Over { excess, swept });
    }
    match status {
        Some(Status::Code(code)) => send(control, Report::Exited { code, swept }),
        Some(Status::Signal(signal)) => send(control, Report::Killed { signal, swept }),
        None => {}
    }
}

/// A server that runs.
struct Started {
    server: i32,
    wanted: Head,
    /// The folder of its cgroup, where it has one.
    cgroup: Option<Fd>,
}

/// Why a watch is over.
enum End {
    /// The server ended by itself.
    Ended(Status),
    /// It must end for what it uses.
    Over(Excess),
    /// It must end because nobody wants it any more.
    Unwanted,
}

/// Watches until the server ends or has to.
fn watch(server: i32, wanted: &Head, control: &Fd, signals: &Fd, guard: i32) -> End {
    let look = tree::has_limits(wanted).then_some(LOOK_MS);
    loop {
        // Anyone can send the signal; only the guard's death gives us a new parent.
        if kernel::parent_id() != guard {
            return End::Unwanted;
        }
        let Ok([asked, signalled]) = kernel::wait_for([control, signals], look) else { return End::Unwanted };
        if let Some(excess) = tree::excess_below(kernel::own_id(), wanted) {
            return End::Over(excess);
        }
        if signalled {
            tree::drain_signals(signals);
            let mut status = None;
            tree::reap_all(&mut |pid, how| {
                if pid == server {
                    status = Some(how);
                }
            });
            if let Some(status) = status {
                return End::Ended(status);
            }
        }
        if asked {
            let mut numbers = [0; 16];
            let count = match kernel::read(control, &mut numbers) {
                Ok(0) | Err(_) => return End::Unwanted,
                Ok(count) => count,
            };
            for number in numbers.iter().take(count) {
                let _ = kernel::kill(-server, Signal(*number));
            }
        }
    }
}

/// Receives a request and starts the server. Our copies of its pipes, and of all it was given, are gone on return.
fn start(control: &Fd, marker: Option<&CStr>) -> Result<Started, Failure> {
    let mut bytes = [0; Head::BYTES];
    let (filled, descriptors) = kernel::receive(control, &mut bytes)?;
    fill(control, bytes.get_mut(filled..).unwrap_or_default())?;
    let head = Head::decode(&bytes);
    // Each string has a byte at least, so the sum of four counts cannot be too large for an honest request.
    let (length, count) = (head.bytes as usize, head.strings());
    if length > MAX_REQUEST_BYTES || count > length {
        return Err(Errno::EBADMSG.into());
    }
    let mut strings = Pages::<u8>::with_room_for(length)?;
    fill(control, strings.as_mut_slice())?;
    let mut table = Pages::<*const u8>::with_room_for(count + Command::EXTRA)?;
    let command =
        Command::lay_out(&head, strings.as_slice(), table.as_mut_slice(), marker).ok_or(Errno::EBADMSG)?;
    let [Some(stdin), Some(stdout), Some(stderr), cgroup] = descriptors else {
        return Err(Errno::EBADF.into());
    };
    let server = spawn(&command, [stdin, stdout, stderr], cgroup.as_ref())?;
    Ok(Started { server, wanted: head, cgroup })
}

fn fill(control: &Fd, mut buffer: &mut [u8]) -> Result<(), Errno> {
    while !buffer.is_empty() {
        match kernel::read(control, buffer)? {
            0 => return Err(Errno::EPIPE),
            count => buffer = buffer.get_mut(count..).unwrap_or_default(),
        }
    }
    Ok(())
}

/// Tells the gateway, which may be gone.
fn send(control: &Fd, report: Report) {
    let _ = kernel::send(control, &report.encode());
}
