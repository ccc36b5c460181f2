//! The command a server is started by, with the variables it gets.

use std::ffi::OsString;
use std::time::Duration;

use manifold_config::{ABOVE, InheritEnv};
use manifold_protocol::Fault;
use tokio::time::{Instant, timeout, timeout_at};

use super::Launch;
use crate::process::{Limits, ServerProcess, SpawnCommand, StopGrace};

/// How long a start that nobody waits for any more keeps the next one waiting.
const MAY_STILL_COME: Duration = Duration::from_secs(10);

impl Launch {
    /// Has the process started, which takes no time on a machine that is well.
    pub(super) async fn spawn(&self, deadline: Instant) -> Result<ServerProcess, Fault> {
        let (processes, command) = (self.processes.clone(), self.command());
        let mut spawning = Box::pin(async move { processes.spawn(command).await });
        let spawned = tokio::select! {
            biased;
            spawned = timeout_at(deadline, &mut spawning) => spawned,
            () = self.shutdowns.given_up() => timeout(StopGrace::default().after_close, &mut spawning).await,
        };
        match spawned {
            Ok(Ok(process)) => Ok(process),
            Ok(Err(error)) => Err(self.failed(with_causes(&error))),
            Err(_) => {
                // It may come yet, and until it has gone nobody starts another.
                self.shutdowns.see_off(async {
                    if let Ok(Ok(process)) = timeout(MAY_STILL_COME, spawning).await {
                        process.control.sweep().await;
                    }
                });
                Err(self.failed("the system did not start it in time".to_owned()))
            }
        }
    }

    /// Puts command line and environment together (decision 30).
    fn command(&self) -> SpawnCommand {
        let mut env: Vec<(OsString, OsString)> = match &self.spec.environment {
            Some(all) => all.iter().map(|(name, value)| (name.into(), value.expose().into())).collect(),
            None => self.inherited(),
        };
        // Ours to say, whatever else is passed on.
        env.retain(|(name, _)| name != ABOVE);
        if !self.above.is_empty() {
            env.push((ABOVE.into(), self.above.as_ref().into()));
        }
        SpawnCommand {
            program: self.spec.command.clone().into(),
            args: self.spec.args.iter().map(OsString::from).collect(),
            env,
            cwd: self.spec.cwd.clone(),
            limits: Limits { memory_mib: self.spec.memory_limit_mib, processes: self.spec.process_limit },
        }
    }

    /// Returns what of our own variables is passed on, and the server's own.
    fn inherited(&self) -> Vec<(OsString, OsString)> {
        let inherits = |name: &OsString| {
            let Some(name) = name.to_str() else { return matches!(self.spec.inherit_env, InheritEnv::All) };
            match &self.spec.inherit_env {
                InheritEnv::All => !name.starts_with("MANIFOLD_") && !self.spec.withheld.contains(name),
                InheritEnv::None | InheritEnv::Named => BASICS.contains(&name),
                InheritEnv::Only(names) => BASICS.contains(&name) || names.iter().any(|one| one == name),
            }
        };
        let mut env: Vec<(OsString, OsString)> = std::env::vars_os()
            .filter(|(name, _)| inherits(name) && !self.spec.env.keys().any(|own| name == own.as_str()))
            .collect();
        env.extend(self.spec.env.iter().map(|(name, value)| (name.into(), value.expose().into())));
        env
    }
}

/// What a program needs to run at all; no secrets.
const BASICS: [&str; 7] = ["HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "USER"];

fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests;
