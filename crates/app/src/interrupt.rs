//! Ctrl-C for commands that wait: what is waited for is let go of, and the exit code says so.

use std::io;

use nix::sys::signal::{SigSet, Signal};

/// Has Ctrl-C, or an order to end, do this on a thread of its own. To be called before there is a second thread: those that
/// come later leave the signals to it.
pub(crate) fn on_interrupt(then: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGINT);
    signals.add(Signal::SIGTERM);
    signals.thread_block()?;
    std::thread::Builder::new().name("interrupt".to_owned()).spawn(move || {
        if signals.wait().is_ok() {
            then();
        }
    })?;
    Ok(())
}
