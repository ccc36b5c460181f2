//! Processes that should not be there: servers without a gateway, clients' programs that were replaced.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use manifold_upstreams::process::TREE_MARKER;

use super::context::Context;
use super::{Outcome, Trouble};

/// Returns whether a process runs.
pub(super) fn is_alive(pid: u32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    // The command's name stands in brackets and may hold anything, brackets included.
    let state = stat.rsplit(')').next().and_then(|rest| rest.trim_start().chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}

/// Servers carry the numbers of the gateways above them; those of this home are looked at.
pub(super) fn orphans(context: &Context<'_>) -> Outcome {
    let home = context.environment().home.as_deref().map(|home| home.as_os_str().as_bytes().to_vec());
    let mut troubles = Vec::new();
    for pid in ours() {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let variable = |name: &str| value(&environment, name);
        if variable("HOME").map(<[u8]>::to_vec) != home {
            continue;
        }
        let marks = variable(TREE_MARKER).map(String::from_utf8_lossy).unwrap_or_default().into_owned();
        let gateways: Vec<u32> =
            marks.split(':').filter_map(|mark| mark.split_once('-')?.0.parse().ok()).collect();
        let is_orphan = !gateways.is_empty() && gateways.iter().all(|gateway| !is_alive(*gateway));
        if is_orphan && is_alive(pid) {
            let command = words(pid).join(" ");
            let command: String = command.chars().take(80).collect();
            let message = format!("process {pid} (`{command}`) has outlived the gateway that started it");
            troubles.push(Trouble::warn(message, format!("kill {pid}")));
        }
    }
    troubles.into()
}

/// A client that was started before an update goes on with the program it had.
pub(super) fn shims(context: &Context<'_>) -> Outcome {
    let home = context.environment().home.as_deref().map(|home| home.as_os_str().as_bytes().to_vec());
    let mut troubles = Vec::new();
    for pid in ours().into_iter().filter(|pid| *pid != std::process::id()) {
        let words = words(pid);
        let Some(program) = words.first().map(Path::new).filter(|program| program.is_absolute()) else {
            continue;
        };
        let is_ours = program.file_name().is_some_and(|name| name == "manifold")
            && words.iter().any(|word| ["serve", "stdio", "--stdio", "litemcp"].contains(&word.as_str()));
        if !is_ours || program.exists() || !is_alive(pid) {
            continue;
        }
        // Where its variables can be seen, they tell whose it is.
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let of = value(&environment, "HOME").map(<[u8]>::to_vec);
        if of.is_none() || of == home {
            let message =
                format!("process {pid} serves a client and runs {}, which is gone", program.display());
            troubles.push(Trouble::warn(message, format!("kill {pid}, and have the client start it again")));
        }
    }
    troubles.into()
}

/// Returns all processes of our user.
fn ours() -> Vec<u32> {
    let us = nix::unistd::geteuid().as_raw();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        (entry.metadata().ok()?.uid() == us).then_some(pid)
    });
    pids.collect()
}

fn words(pid: u32) -> Vec<String> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = bytes.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

fn value<'e>(environment: &'e [u8], name: &str) -> Option<&'e [u8]> {
    let mut variables = environment.split(|byte| *byte == 0);
    variables.find_map(|variable| variable.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
}
