//! `daemon`: be it, start it, stop it, look at it.
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "no runtime runs here yet")]

mod orders;

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::os::fd::AsFd;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use manifold_admin::{CommandError, ErrorCode, NoDaemon, ReloadReport, ServerId};
use manifold_admin_client::ClientError;
use manifold_config::{LoadOptions, LogSettings, Profile};
use manifold_rendezvous::hello::ELSEWHERE;
use manifold_rendezvous::{Lock, LockError, Place, versions};
use serde_json::Value;

use super::attach::config_args;
use super::verb::Verb;
use super::{Unreadable, fail, print, runtime, scope, units, with_config};
use crate::cli::{DaemonCommand, Flags, USAGE};
use crate::commands::source::Need;
use crate::daemon::{self, Beginning, Origin, SelfCheck, Started, base_folders, identity};
use crate::output::{Exit, Failure, Form, Record, escaped_text};
use orders::{client, silent};

/// How long a daemon may take to come, or to say how it is.
const START_PATIENCE: Duration = Duration::from_secs(10);

pub(super) fn run(
    command: DaemonCommand,
    options: LoadOptions,
    flags: &Flags,
    program_profile: Option<Profile>,
) -> ExitCode {
    if flags.known_profile(program_profile) != Profile::Manifold {
        return fail("the daemon is for the profile manifold; the others have none", USAGE);
    }
    let identity = identity(&options, Profile::Manifold);
    let place = match Place::open(&base_folders(&options.environment), &identity) {
        Ok(place) => place,
        Err(error) => {
            return told(&error.to_string(), matches!(command, DaemonCommand::Run { detached: true, .. }));
        }
    };
    match command {
        DaemonCommand::Run { detach: true, stay, .. } => detach(&options, stay),
        DaemonCommand::Run { detached, stay, resume, threads, .. } => {
            let origin = match resume {
                Some(fds) => fds.take().map(Origin::Another).map_err(|error| error.to_string()),
                None => take_lock(&place, detached).map(Origin::Nothing),
            };
            let origin = match origin {
                Ok(origin) => origin,
                Err(why) => return told(&why, detached),
            };
            // Where systemd listens for us, the next client starts us again.
            let is_for_clients = (detached || resume.is_some()) && !stay || daemon::is_listened_for(&options);
            let started = if is_for_clients { Started::ForClients } else { Started::ByOrder };
            let is_away = detached || matches!(origin, Origin::Another(_));
            let beginning = Beginning { place, identity, started, detached, origin };
            run_daemon(options, flags, beginning, (is_away, threads))
        }
        DaemonCommand::Start(form) => orders::start(&place, Verb::new(form.into(), &options, flags)),
        DaemonCommand::Stop(form) => orders::stop(&place, Verb::new(form.into(), &options, flags)),
        DaemonCommand::Restart(form) => orders::restart(&place, Verb::new(form.into(), &options, flags)),
        DaemonCommand::Reload(form) => reload(Verb::new(form.into(), &options, flags)),
        DaemonCommand::Upgrade(form) => orders::upgrade(&place, Verb::new(form.into(), &options, flags)),
        DaemonCommand::SelfCheck => {
            let version = env!("CARGO_PKG_VERSION").to_owned();
            let check = SelfCheck { version, states: versions::states() };
            print(&serde_json::to_string(&check).unwrap_or_default())
        }
        DaemonCommand::Status { json } => {
            let form = if json { Form::Json } else { Form::Text };
            status(&place, Verb::new(form, &options, flags))
        }
        DaemonCommand::Install { print } => units::install(&place, &options, print),
        DaemonCommand::Uninstall => units::uninstall(&place, &options),
    }
}

/// Starts a daemon that ends with its clients, where there is none.
pub(super) fn ensure(options: &LoadOptions) -> Result<(), String> {
    let identity = identity(options, Profile::Manifold);
    let place =
        Place::open(&base_folders(&options.environment), &identity).map_err(|error| error.to_string())?;
    orders::ensure(&place, options)
}

/// Takes the daemon's lock, or the one we were given by whoever started us.
fn take_lock(place: &Place, is_given: bool) -> Result<Lock, String> {
    let taken = match is_given {
        true => io::stdin()
            .as_fd()
            .try_clone_to_owned()
            .map_err(LockError::Io)
            .and_then(|descriptor| Lock::inherited(descriptor, &place.run_lock())),
        false => Lock::try_take(&place.run_lock()),
    };
    taken.map_err(|error| match error {
        // Whoever holds the lock gave it to us, and it is the one of another folder: of one that has come or gone since.
        LockError::Held if is_given => String::from_utf8_lossy(ELSEWHERE).trim_end().to_owned(),
        LockError::Held => "another daemon runs for this config; see `manifold daemon status`".to_owned(),
        LockError::Io(error) => format!("`{}`: {error}", place.run_lock().display()),
    })
}

/// Starts the daemon itself, in a process that is nobody's child once we are gone.
fn detach(options: &LoadOptions, stay: bool) -> ExitCode {
    let Some(program) = options.environment.program.clone() else { return ExitCode::FAILURE };
    let mut command = Command::new(program);
    command.args(["daemon", "run", "--detached"]).args(stay.then_some("--stay")).args(config_args(options));
    command.env_clear().envs(&options.environment.vars);
    command.stdin(Stdio::inherit()).stdout(Stdio::inherit()).stderr(Stdio::null());
    // It outlives us, and whoever adopts it waits for it.
    match command.spawn() {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stdout(), "it cannot be started: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Is the daemon, until it ends.
fn run_daemon(
    mut options: LoadOptions,
    flags: &Flags,
    beginning: Beginning,
    (is_away, threads): (bool, usize),
) -> ExitCode {
    let detached = beginning.detached;
    if detached {
        // A session of its own: no terminal ends it, no group it was born in.
        let _ = nix::unistd::setsid();
        nix::sys::stat::umask(nix::sys::stat::Mode::from_bits_truncate(0o022));
        scope::enter_own(&options.environment, beginning.place.name());
        options.environment.cwd = "/".into();
        let _ = std::env::set_current_dir("/");
    }
    let log = is_away.then(|| log_file(&options, beginning.place.name())).flatten();
    let changed = |settings: &mut LogSettings| {
        if is_away {
            settings.console = false;
            settings.file = settings.file.take().or(log);
        }
    };
    with_config(options, flags, Unreadable::StaysUp, changed, |config, options, flags| {
        let runtime = match runtime(threads) {
            Ok(runtime) => runtime,
            Err(error) => return told(&format!("the runtime could not be started: {error}"), detached),
        };
        let served = runtime.block_on(daemon::serve(config, options, flags, beginning));
        runtime.shutdown_background();
        match served {
            Ok(()) => ExitCode::SUCCESS,
            Err(why) => told(&why, detached),
        }
    })
}

/// Returns where a daemon without a terminal writes its log, unless the config names another file.
fn log_file(options: &LoadOptions, name: &str) -> Option<std::path::PathBuf> {
    let folder = options.environment.state_home()?.join("manifold");
    std::fs::create_dir_all(&folder).ok()?;
    Some(folder.join(format!("daemon-{name}.log")))
}

/// Says what went wrong where it is looked for: a daemon that was started for somebody has only its pipe.
fn told(why: &str, detached: bool) -> ExitCode {
    if detached {
        let _ = writeln!(io::stdout(), "{why}");
        return ExitCode::FAILURE;
    }
    fail(why, 1)
}

/// Has the daemon read its config anew, and says what that changed.
fn reload(verb: Verb) -> ExitCode {
    verb.run(|verb| {
        let source = verb.reach_any(Need::Running)?;
        let report: ReloadReport = source.client()?.post("/v1/daemon/reload")?;
        if verb.output.is_json() {
            verb.output.json(&report);
            return Ok(Exit::Ok);
        }
        let names = |servers: &[ServerId]| match servers {
            [] => "none".to_owned(),
            some => some.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        };
        let mut record = Record::default();
        record.add("added", names(&report.added));
        record.add("removed", names(&report.removed));
        record.add("restarted", names(&report.restarted));
        record.add("unchanged", report.unchanged.to_string());
        for problem in &report.problems {
            record.add("problem", problem.to_string());
        }
        verb.output.record(&record);
        Ok(Exit::Ok)
    })
}

fn status(place: &Place, verb: Verb) -> ExitCode {
    let ask = || match client(place, START_PATIENCE) {
        Ok(Some(client)) => client.get::<Value>("/v1/daemon").map(Some),
        Ok(None) => Ok(None),
        Err(why) => {
            let error = CommandError::new(ErrorCode::Failed, why);
            Err(ClientError::Refused { status: 0, error })
        }
    };
    // One that was killed as it was asked is not there; another may be.
    let found = match ask() {
        Err(ClientError::Unreachable(_) | ClientError::NoDaemon) => ask(),
        found => found,
    };
    let failed = |why: String| Err(Failure::new(Exit::Failed, "unreachable", why));
    verb.run(|verb| match found {
        Err(ClientError::Silent) => failed(silent(place)),
        Err(why) => failed(why.to_string()),
        Ok(Some(status)) if verb.output.is_json() => {
            verb.output.json(&status);
            Ok(Exit::Ok)
        }
        Ok(Some(status)) => {
            verb.output.text(&escaped_text(&text(&status)));
            Ok(Exit::Ok)
        }
        Ok(None) => {
            match verb.output.is_json() {
                true => verb.output.json(&NoDaemon::default()),
                false => {
                    _ = verb.output.line("no daemon runs; a client's `manifold serve --stdio` starts one")
                }
            }
            Ok(Exit::NotRunning)
        }
    })
}

fn text(status: &Value) -> String {
    let mut text = String::new();
    let word = |name: &str| status.get(name).and_then(Value::as_str).unwrap_or_default();
    let number = |of: &Value, name: &str| of.get(name).and_then(Value::as_u64);
    let _ = writeln!(
        text,
        "manifold {}, process {}, {}",
        word("version"),
        number(status, "pid").unwrap_or_default(),
        counted(number(status, "clients").unwrap_or_default())
    );
    let _ = writeln!(text, "config: {}", word("config"));
    for (name, what) in [("unread", "it cannot be used"), ("refused", "an earlier one is served")] {
        if let Some(why) = status.get(name).and_then(Value::as_str) {
            let _ = writeln!(text, "  {what}: {why}");
        }
    }
    let refused = status.get("notUpgraded");
    if let Some(why) = refused.and_then(|refused| refused.get("why")?.as_str()) {
        let _ = writeln!(text, "not upgraded: {why}");
    }
    let _ = writeln!(text, "socket: {}", word("socket"));
    let http = |name: &str| status.get("http")?.get(name)?.as_str();
    if let Some(address) = http("address") {
        let _ = writeln!(text, "http: {address}");
    }
    if let Some(error) = http("error") {
        let _ = writeln!(text, "{error}");
    }
    for server in status.get("servers").and_then(Value::as_array).into_iter().flatten() {
        let name = server.get("id").and_then(Value::as_str).unwrap_or_default();
        let state = server.get("state").and_then(Value::as_str).unwrap_or_default();
        let schema = server.get("schema").and_then(Value::as_str);
        let schema = schema.map(|schema| format!("{schema}/")).unwrap_or_default();
        let _ = writeln!(text, "  {schema}{name}  [{state}]");
        for instance in server.get("instances").and_then(Value::as_array).into_iter().flatten() {
            let differs: Vec<&str> = instance
                .get("differs")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            let pid = number(instance, "pid")
                .map_or_else(|| "not running".to_owned(), |pid| format!("process {pid}"));
            let clients = counted(number(instance, "clients").unwrap_or_default());
            let differs = if differs.is_empty() {
                String::new()
            } else {
                format!(", differs in {}", differs.join(", "))
            };
            let _ = writeln!(text, "    {pid}, {clients}{differs}");
        }
    }
    text
}

fn counted(clients: u64) -> String {
    if clients == 1 { "1 client".to_owned() } else { format!("{clients} clients") }
}
