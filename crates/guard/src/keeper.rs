//! The keeper: one process between the guard and each server, to which all that the server leaves behind falls.
#![expect(unsafe_code, reason = "a program is started with pointers to its arguments")]

use core::ffi::CStr;
use core::ptr::null;

use crate::kernel::{self, Errno, Fd, Fork, Signal, Status};
use crate::memory::Pages;
use crate::tree;
use crate::wire::{DESCRIPTORS, Excess, Failure, Head, MAX_REQUEST_BYTES, Report, Step, Strings};

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

/// A server to be started, ready for the kernel: pointers to strings, each list ended by a null.
struct Command<'a> {
    directory: Option<&'a CStr>,
    /// The places to look for the program, one after the other.
    programs: Strings<'a>,
    program_count: usize,
    /// One place before the first argument is free.
    args: *mut *const u8,
    variables: *const *const u8,
}

/// Runs what is executable and says neither by its form nor by its first line how.
const SHELL: &CStr = c"/bin/sh";

impl<'a> Command<'a> {
    /// What the table needs beside the strings: the marker, two nulls and a place for the shell.
    const EXTRA: usize = 4;

    /// Points at the strings of a request; none if they are not as many as it says.
    fn lay_out(
        head: &Head,
        strings: &'a [u8],
        table: &'a mut [*const u8],
        marker: Option<&'a CStr>,
    ) -> Option<Self> {
        let mut rest = Strings(strings);
        let mut directory = None;
        for _ in 0..head.directories {
            directory = Some(CStr::from_bytes_with_nul(rest.next()?).ok()?);
        }
        let programs = Strings(rest.0);
        for _ in 0..head.programs {
            rest.next()?;
        }
        let (args, variables) = table.split_at_mut_checked(head.args as usize + 2)?;
        for place in args.iter_mut().skip(1).take(head.args as usize) {
            *place = rest.next()?.as_ptr();
        }
        *args.last_mut()? = null();
        let (places, after) = variables.split_at_mut_checked(head.variables as usize)?;
        for place in places {
            *place = rest.next()?.as_ptr();
        }
        let [own, end, ..] = after else { return None };
        *own = marker.map_or(null(), |marker| marker.as_ptr().cast());
        *end = null();
        Some(Self {
            directory,
            programs,
            program_count: head.programs as usize,
            args: args.as_mut_ptr(),
            variables: variables.as_ptr(),
        })
    }

    /// Becomes the program that is found first, as the shell would. Returns why that was impossible.
    fn execute(&self) -> Failure {
        let mut none = Failure { step: Step::Search, errno: Errno::ENOENT.0 };
        for program in Strings(self.programs.0).take(self.program_count) {
            let Ok(program) = CStr::from_bytes_with_nul(program) else { continue };
            // SAFETY: `lay_out` ended both lists with a null, and their strings live as long as `self`.
            match unsafe { kernel::execute(program, self.args.add(1), self.variables) } {
                Errno::ENOENT if kernel::exists(program) => {
                    return Failure { step: Step::Interpreter, errno: Errno::ENOENT.0 };
                }
                Errno::ENOENT | Errno::ENOTDIR | Errno::ELOOP | Errno::ENAMETOOLONG => {}
                // A file system that does not answer has it no more than an empty one.
                Errno::ENODEV | Errno::ESTALE | Errno::ETIMEDOUT => {}
                // There may be a better one further on.
                Errno::EACCES => none.errno = Errno::EACCES.0,
                Errno::ENOEXEC => return self.execute_by_shell(program).into(),
                errno => return errno.into(),
            }
        }
        none
    }

    /// Becomes the shell, with the program as its script. Returns why that was impossible.
    fn execute_by_shell(&self, script: &CStr) -> Errno {
        // SAFETY: `lay_out` left the first place for this, the second is the program's own name, of which there is always
        // one or the null after it; the lists still end with a null.
        unsafe {
            if (*self.args.add(1)).is_null() {
                return Errno::ENOEXEC;
            }
            *self.args = SHELL.as_ptr().cast();
            *self.args.add(1) = script.as_ptr().cast();
            kernel::execute(SHELL, self.args, self.variables)
        }
    }
}

/// Starts the server in a process group of its own, and in the cgroup if that is possible.
fn spawn(command: &Command<'_>, descriptors: [Fd; DESCRIPTORS], cgroup: Option<&Fd>) -> Result<i32, Failure> {
    let keeper = kernel::own_id();
    // Closed unused when the program begins to run.
    let (failed, failing) = kernel::pipe()?;
    let forked = cgroup.and_then(|folder| kernel::fork_into(folder).ok());
    match forked.map_or_else(kernel::fork, Ok)? {
        Fork::Child => {
            let failure = become_server(command, &descriptors, keeper);
            let _ = kernel::write(&failing, &failure.encode());
            kernel::exit(127)
        }
        Fork::Parent { child } => {
            drop(failing);
            let mut failure = [0; Failure::BYTES];
            match kernel::read(&failed, &mut failure)? {
                0 => Ok(child),
                _ => {
                    kernel::reap(Some(child));
                    Err(Failure::decode(failure))
                }
            }
        }
    }
}

/// Returns why it could not.
fn become_server(command: &Command<'_>, descriptors: &[Fd; DESCRIPTORS], keeper: i32) -> Failure {
    let prepared = descriptors
        .iter()
        .zip(0..)
        .try_for_each(|(fd, place)| kernel::put_in_place(fd, place))
        .and_then(|()| kernel::start_group())
        .and_then(|()| kernel::hear_of_parents_end(Signal::KILL));
    if let Err(errno) = prepared {
        return errno.into();
    }
    if kernel::parent_id() != keeper {
        kernel::exit(127);
    }
    if let Some(Err(errno)) = command.directory.map(kernel::change_directory) {
        return Failure { step: Step::Directory, errno: errno.0 };
    }
    match kernel::unblock_signals() {
        Ok(()) => command.execute(),
        Err(errno) => errno.into(),
    }
}

/// Tells the gateway, which may be gone.
fn send(control: &Fd, report: Report) {
    let _ = kernel::send(control, &report.encode());
}
