//! `daemon start | stop | restart | upgrade`.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use manifold_admin::DaemonOrdered;
use manifold_admin_client::{Client, ClientError};
use manifold_config::{LoadOptions, load};
use manifold_rendezvous::{Lock, LockError, Place, SandboxMarks};
use manifold_shim::{Begun, Patience};
use serde_json::Value;

use super::START_PATIENCE;
use crate::commands::attach;
use crate::commands::verb::Verb;
use crate::output::{Exit, Failure};

/// How long a daemon may take to say anything at all.
const ANSWER_PATIENCE: Duration = Duration::from_secs(9);

/// How long a daemon may take to go, with all its servers.
const STOP_PATIENCE: Duration = Duration::from_secs(60);

/// Starts a daemon that stays, where there is none.
pub(super) fn start(place: &Place, verb: Verb) -> ExitCode {
    verb.run(|verb| {
        let started = start_lock(place).and_then(|_one_at_a_time| start_alone(place, verb.options, true));
        let started = started.map_err(|why| failed(format!("the daemon was not started: {why}")))?;
        if let Err(why) = load(verb.options) {
            let said = format!("its config cannot be used, so it has no servers: {why}");
            verb.output.remark(&format!("{said}; it is read anew when it changes"));
        }
        match started {
            true => done(verb, told_pid(place), true, "the daemon has been started"),
            false => done(verb, told_pid(place), false, "the daemon runs already"),
        }
    })
}

/// Starts a daemon for a client, where there is none.
pub(super) fn ensure(place: &Place, options: &LoadOptions) -> Result<(), String> {
    if is_there(place) {
        return Ok(());
    }
    start_lock(place).and_then(|_one_at_a_time| start_alone(place, options, false)).map(|_| ())
}

/// Ends the daemon, where there is one.
pub(super) fn stop(place: &Place, verb: Verb) -> ExitCode {
    verb.run(|verb| match order(place, "/v1/daemon/stop").map_err(failed)? {
        true => done(verb, None, true, "the daemon has been stopped"),
        false => done(verb, None, false, "no daemon runs"),
    })
}

/// Ends the daemon and starts another, of the same kind: one that a client has started ends with its clients as before.
/// Where there is none, none is started.
pub(super) fn restart(place: &Place, verb: Verb) -> ExitCode {
    verb.run(|verb| {
        // Until there is another nobody else starts one: it would be of the kind that clients start.
        let _one_at_a_time = start_lock(place).map_err(failed)?;
        let stays = about(place).is_none_or(|about| about.get("stays") != Some(&Value::Bool(false)));
        if !order(place, "/v1/daemon/restart").map_err(failed)? {
            return Err(none_runs("the daemon was not restarted: no daemon runs"));
        }
        start_alone(place, verb.options, stays).map_err(failed)?;
        done(verb, told_pid(place), true, "the daemon has been restarted")
    })
}

/// Has the installed program take the daemon's place, and waits until it serves.
pub(super) fn upgrade(place: &Place, verb: Verb) -> ExitCode {
    let ask = || match client(place, ANSWER_PATIENCE)? {
        Some(client) => match client.get::<Value>("/v1/daemon") {
            Ok(status) => Ok(Some(status)),
            Err(ClientError::Silent) => Err(silent(place)),
            // One that is about to go, or is being replaced.
            Err(_) => Ok(None),
        },
        None => Ok(None),
    };
    let not_upgraded = |why: String| failed(format!("the daemon was not upgraded: {why}"));
    let none = || none_runs("the daemon was not upgraded: no daemon runs");
    verb.run(|verb| {
        let before = ask().map_err(not_upgraded)?.ok_or_else(none)?;
        let client = client(place, STOP_PATIENCE).map_err(failed)?.ok_or_else(none)?;
        if let Err(ClientError::Refused { error, .. }) = client.post::<Value>("/v1/daemon/upgrade") {
            return Err(not_upgraded(error.to_string()));
        }
        // The connection ends as the program is replaced; the next answer is the new one's.
        let until = Instant::now() + START_PATIENCE;
        while Instant::now() < until {
            if let Some(after) =
                ask().ok().flatten().filter(|after| after.get("epoch") != before.get("epoch"))
            {
                let version = after.get("version").and_then(Value::as_str).unwrap_or_default();
                if after.get("pid") != before.get("pid") {
                    let lost = "the daemon was lost over its upgrade, and another was started";
                    return Err(failed(lost.to_owned()));
                }
                let said = format!("the daemon has been upgraded to {version}");
                return done(verb, after.get("pid").and_then(Value::as_u64), true, &said);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Err(failed("the daemon does not answer after its upgrade".to_owned()))
    })
}

/// Says that an order was carried out, and which process there is now.
fn done(verb: &Verb, pid: Option<u64>, changed: bool, said: &str) -> Result<Exit, Failure> {
    let pid = pid.and_then(|pid| u32::try_from(pid).ok());
    match verb.output.is_json() {
        true => verb.output.json(&DaemonOrdered { pid, changed }),
        false => _ = verb.output.line(said),
    }
    Ok(Exit::Ok)
}

fn failed(why: String) -> Failure {
    Failure::new(Exit::Failed, "failed", why)
}

fn none_runs(said: &str) -> Failure {
    Failure { message: said.to_owned(), ..Failure::not_running() }
}

fn start_lock(place: &Place) -> Result<Lock, String> {
    let until = Instant::now() + START_PATIENCE;
    Lock::take_until(&place.start_lock(), until).map_err(|error| {
        format!(
            "another daemon is being started, or `{}` cannot be used: {error}",
            place.start_lock().display()
        )
    })
}

/// Starts a daemon, for the holder of the start lock. Returns whether there was none.
fn start_alone(place: &Place, options: &LoadOptions, stays: bool) -> Result<bool, String> {
    let until = Instant::now() + START_PATIENCE;
    let lock = loop {
        match Lock::try_take(&place.run_lock()) {
            Ok(lock) => break lock,
            Err(LockError::Held) if is_there(place) => return Ok(false),
            // It is on its way in, or out.
            Err(LockError::Held) if Instant::now() < until => std::thread::sleep(Duration::from_millis(5)),
            Err(error) => return Err(error.to_string()),
        }
    };
    // Somebody listens though no daemon has the lock: systemd, which starts one for whoever comes.
    if is_there(place) {
        drop(lock);
        let Some(client) = client(place, START_PATIENCE)? else { return Ok(false) };
        return client.get::<Value>("/v1/daemon").map(|_| true).map_err(|error| error.to_string());
    }
    let mut start = attach::start(options, true, &SandboxMarks::default()).map_err(|why| why.to_string())?;
    start.args.extend(stays.then(|| "--stay".into()));
    place.clear();
    let begun = start.run(lock, &mut Patience::lasting_until(until)).map_err(|why| why.to_string())?;
    match begun {
        Begun::Ready => Ok(true),
        Begun::Elsewhere => {
            let folder = place.folder().display();
            Err(format!("its folder `{folder}` has just come or gone; try again"))
        }
    }
}

fn is_there(place: &Place) -> bool {
    matches!(place.reach(&place.control_socket()), Ok(Some(_)))
}

/// Orders something of the daemon and waits until it is done. Returns whether there is one.
fn order(place: &Place, path: &str) -> Result<bool, String> {
    let Some(alive) = client(place, ANSWER_PATIENCE)? else { return Ok(false) };
    // One that answers may take its time over the end; one that does not must not be waited for.
    if let Err(ClientError::Silent) = alive.get::<Value>("/v1/daemon") {
        return Err(silent(place));
    }
    let Some(client) = client(place, STOP_PATIENCE)? else { return Ok(false) };
    let before = told_pid(place);
    let ended = match client.post::<Value>(path) {
        Ok(answer) => answer.get("pid").and_then(Value::as_u64).or(before),
        // It ended faster than it could say so.
        Err(ClientError::Unreachable(_) | ClientError::NoDaemon) => before,
        Err(error) => return Err(error.to_string()),
    };
    // Its lock is the last thing it lets go of, and a client may have started another daemon at once.
    let until = Instant::now() + STOP_PATIENCE;
    loop {
        match Lock::try_take(&place.run_lock()) {
            Ok(_) => break,
            Err(LockError::Held) if told_pid(place).is_some_and(|pid| Some(pid) != ended) => break,
            Err(LockError::Held) if Instant::now() < until => std::thread::sleep(Duration::from_millis(5)),
            Err(error) => return Err(format!("the daemon does not end: {error}")),
        }
    }
    // The process itself is gone a moment later. Where its number is another's to us, that moment is all we wait.
    let until = Instant::now() + Duration::from_secs(1);
    while ended.is_some_and(runs) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(true)
}

/// Returns whether a process runs; one that only waits for its parent to look does not.
fn runs(pid: u64) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    let state = stat.rsplit(')').next().and_then(|rest| rest.trim_start().chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}

/// Returns what the daemon says of itself in its file, which it writes once it has the lock.
fn about(place: &Place) -> Option<Value> {
    serde_json::from_slice(&std::fs::read(place.about_file()).ok()?).ok()
}

fn told_pid(place: &Place) -> Option<u64> {
    about(place)?.get("pid")?.as_u64()
}

/// Returns what is said of a daemon that is there and does not answer.
pub(super) fn silent(place: &Place) -> String {
    match told_pid(place) {
        Some(pid) => format!(
            "the daemon, process {pid}, does not answer; end it with `kill -9 {pid}` (its servers end with it), and the \
             next client starts another"
        ),
        None => "the daemon does not answer, and has not written down which process it is".to_owned(),
    }
}

/// Connects to the daemon's control socket, if there is a daemon.
pub(super) fn client(place: &Place, patience: Duration) -> Result<Option<Client>, String> {
    let reached = place.reach(&place.control_socket()).map_err(|error| error.to_string())?;
    let client = reached.map(|socket| Client::new(socket, patience)).transpose();
    client.map(|client| client.map(|client| client.face("cli"))).map_err(|error| error.to_string())
}
