//! The server's command: laid out as the kernel wants it, and run in a child.

use core::ffi::CStr;
use core::ptr::null;

use crate::kernel::{self, Errno, Fd, Fork, Signal};
use crate::wire::{DESCRIPTORS, Failure, Head, Step, Strings};

/// A server to be started, ready for the kernel: pointers to strings, each list ended by a null.
pub(super) struct Command<'a> {
    directory: Option<&'a CStr>,
    /// The places to look for the program, one after the other.
    programs: Strings<'a>,
    program_count: usize,
    /// One place before the first argument is free.
    args: *mut *const u8,
    variables: *const *const u8,
}

impl<'a> Command<'a> {
    /// What the table needs beside the strings: the marker, two nulls and a place for the shell.
    pub(super) const EXTRA: usize = 4;

    /// Points at the strings of a request; none if they are not as many as it says.
    pub(super) fn lay_out(
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

/// Runs what is executable and says neither by its form nor by its first line how.
const SHELL: &CStr = c"/bin/sh";

/// Starts the server in a process group of its own, and in the cgroup if that is possible.
pub(super) fn spawn(
    command: &Command<'_>,
    descriptors: [Fd; DESCRIPTORS],
    cgroup: Option<&Fd>,
) -> Result<i32, Failure> {
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
