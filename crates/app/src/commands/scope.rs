//! Leaving the control group of whoever started us: a terminal that is closed, or a scope that runs out of memory, must not
//! take every other client's servers along.
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "no runtime runs here yet")]

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use manifold_config::Environment;

use super::units::has_user_manager;

/// How long the user's manager may take. Where it takes longer, we stay where we are.
const PATIENCE: Duration = Duration::from_millis(500);

/// Moves us into a scope of our own, where the user has a manager that allows it. Nothing depends on it.
pub(super) fn enter_own(environment: &Environment, name: &str) {
    if !has_user_manager(environment) {
        return;
    }
    let mut command = Command::new("busctl");
    command.args(arguments(name, std::process::id())).env_clear().envs(&environment.vars);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut asking) = command.spawn() else { return };
    let until = Instant::now() + PATIENCE;
    while matches!(asking.try_wait(), Ok(None)) {
        if Instant::now() >= until {
            let _ = asking.kill();
            let _ = asking.wait();
            return;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Returns how the manager is asked for a scope with us in it, which goes when we do.
fn arguments(name: &str, pid: u32) -> Vec<String> {
    let manager =
        ["org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager"];
    let mut all = vec!["--user".to_owned(), "call".to_owned()];
    all.extend(manager.map(str::to_owned));
    all.extend(["StartTransientUnit", "ssa(sv)a(sa(sv))"].map(str::to_owned));
    all.extend([format!("manifold-{name}-{pid}.scope"), "replace".to_owned(), "2".to_owned()]);
    all.extend(["PIDs", "au", "1"].map(str::to_owned));
    all.push(pid.to_string());
    all.extend(["CollectMode", "s", "inactive-or-failed", "0"].map(str::to_owned));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manager_is_asked_for_one_scope_with_one_process() {
        let asked = arguments("46013c21", 7).join(" ");
        let expected = "--user call org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager \
                        StartTransientUnit ssa(sv)a(sa(sv)) manifold-46013c21-7.scope replace 2 PIDs au 1 7 \
                        CollectMode s inactive-or-failed 0";
        assert_eq!(asked, expected);
    }
}
