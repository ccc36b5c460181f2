//! What others of the same user, servers among them, may learn of this process: nothing (M10).
#![expect(
    unsafe_code,
    reason = "the kernel shows the environment we were given, so it is overwritten where it stands"
)]

use std::collections::BTreeSet;
use std::ffi::{CStr, OsString, c_char};
use std::os::unix::ffi::OsStrExt;

use nix::sys::prctl;

/// Begins the names of variables that are meant for us alone.
const OURS: &str = "MANIFOLD_";
/// The mark of a process tree, which is looked for there, and no secret.
const KEPT: [&str; 1] = ["MANIFOLD_TREE"];

unsafe extern "C" {
    static environ: *const *mut c_char;
}

/// Keeps memory, environment and descriptors from everybody but root: none of them can be read by way of `/proc` or by
/// a debugger, and no core is left behind. Programs that we start are as usual again.
pub(crate) fn forbid_inspection() {
    // It cannot fail for a value the kernel knows.
    let _ = prctl::set_dumpable(false);
}

/// Wipes our own variables, values and all. To be called when they have been read, before there is a second thread.
pub(crate) fn wipe_environment() {
    wipe(|name| name.as_bytes().starts_with(OURS.as_bytes()));
}

/// Wipes those that the config makes secrets of ours, as [`wipe_environment`] does the others.
pub(crate) fn wipe_variables(names: &BTreeSet<String>) {
    wipe(|name| name.to_str().is_some_and(|name| names.contains(name)));
}

fn wipe(is_ours: impl Fn(&OsString) -> bool) {
    let is_ours = |name: &OsString| is_ours(name) && !KEPT.iter().any(|kept| name == kept);
    for name in std::env::vars_os().map(|(name, _)| name).filter(is_ours).collect::<Vec<_>>() {
        // SAFETY: there is one thread, so nobody else reads or changes the environment meanwhile.
        unsafe {
            overwrite(name.as_bytes());
            std::env::remove_var(&name);
        }
    }
}

/// Writes zeros over the value of a variable.
///
/// # Safety
/// Nobody else uses the environment meanwhile.
unsafe fn overwrite(name: &[u8]) {
    // SAFETY: the list ends with a null, each entry is a string, and the caller vouches that they stay.
    unsafe {
        let mut entry = environ;
        while !entry.is_null() && !(*entry).is_null() {
            let bytes = CStr::from_ptr(*entry).to_bytes();
            let value = bytes.strip_prefix(name).and_then(|rest| rest.strip_prefix(b"="));
            if let Some(length) = value.map(<[u8]>::len) {
                let start = (*entry).add(name.len() + 1);
                // Volatile, since nothing of ours will read it.
                (0..length).for_each(|at| start.add(at).write_volatile(0));
            }
            entry = entry.add(1);
        }
    }
}
