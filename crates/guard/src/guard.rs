//! The guard: forks a keeper for each server, and leaves nothing behind when the gateway is gone.
//!
//! It has one thread and next to no memory, so that nothing but SIGKILL ends it.

use core::ffi::CStr;

use crate::kernel::{self, Errno, Fd, Fork, Signal};
use crate::memory::Pids;
use crate::wire::Report;
use crate::{keeper, proc, tree};

/// Serves the gateway on the standard input until it closes its end, and exits. The marker is the variable
/// [`MARKER`](crate::MARKER) with its name, which every server gets.
///
/// Only for a process that has but one thread and was started for this.
pub fn run(marker: Option<&CStr>) -> ! {
    // Nobody reads our output; the status is all there is to say.
    kernel::exit(if guard(marker).is_ok() { 0 } else { 1 })
}

fn guard(marker: Option<&CStr>) -> Result<(), Errno> {
    // A keeper has what its server was given in hand, secrets included (M10).
    kernel::forbid_inspection()?;
    // Away from the terminal: Ctrl-C and the kill of a whole group must not reach us. Fails for a leader, who is away.
    let _ = kernel::start_session();
    kernel::set_name(c"mcp-guard")?;
    kernel::adopt_orphans()?;
    close_inherited_descriptors();
    kernel::reset_signals();
    kernel::block_signals()?;
    let signals = kernel::watch_signals([Signal::CHLD, keeper::GUARD_DIED])?;

    let ended = serve(&Fd::stdin(), &signals, marker);
    tree::kill_all_below(&signals, &mut |_, _| {});
    ended
}

/// Serves until the gateway closes its end.
fn serve(door: &Fd, signals: &Fd, marker: Option<&CStr>) -> Result<(), Errno> {
    let mut keepers = Pids::new();
    loop {
        let [asked, signalled] = kernel::wait_for([door, signals], None)?;
        if signalled {
            tree::drain_signals(signals);
            tree::reap_all(&mut |pid, _| keepers.remove(pid));
            // Orphans stop at their keeper. Who comes as far as this has lost it, and his end brings his own children.
            tree::for_each_child(kernel::own_id(), &mut |pid| {
                if !keepers.contains(pid) {
                    let _ = kernel::kill(pid, Signal::KILL);
                }
            });
        }
        if asked {
            let (bytes, [control, ..]) = kernel::receive(door, &mut [0])?;
            match control {
                Some(control) => start_keeper(control, signals, marker, &mut keepers),
                None if bytes == 0 => return Ok(()),
                None => {}
            }
        }
    }
}

fn start_keeper(control: Fd, signals: &Fd, marker: Option<&CStr>, keepers: &mut Pids) {
    let guard = kernel::own_id();
    match kernel::fork() {
        Ok(Fork::Parent { child }) => keepers.add(child),
        Ok(Fork::Child) => {
            *keepers = Pids::new();
            // Takes the place of the guard's own socket, which must have no second holder.
            let taken = kernel::put_in_place(&control, 0);
            drop(control);
            if taken.is_ok() {
                keeper::run(&Fd::stdin(), signals, guard, marker);
            }
            kernel::exit(0)
        }
        Err(errno) => drop(kernel::send(&control, &Report::Failed(errno.into()).encode())),
    }
}

/// Closes what an ancestor left open without close-on-exec, lest every server inherit it.
fn close_inherited_descriptors() {
    if kernel::close_from(3).is_err() {
        let _ = proc::for_each_numbered_entry(c"/proc/self/fd", &mut |number| {
            if number > 2 {
                kernel::close_number(number);
            }
        });
    }
}
