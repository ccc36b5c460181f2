//! `serve --stdio` and `litemcp` by the user's daemon, where there is to be one.
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "no runtime runs here yet")]

use std::cell::Cell;
use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use manifold_config::{Environment, LoadOptions, Profile, is_base_variable, load};
use manifold_rendezvous::hello::{Hello, RefusalCode, Transport, Values};
use manifold_rendezvous::{Place, SandboxMarks, Stages, versions};
use manifold_shim::{Attaching, Bounds, Language, NoDaemon, Patience, Start, attach, serve};

use crate::cli::Invocation;
use crate::daemon::{base_folders, identity, is_below_another};
use crate::machine::slim_down_at_once;
use crate::secrets::KEY_FILE;

/// How long a client may wait for its daemon before it is served without one, unless it says otherwise.
const PATIENCE: Duration = Duration::from_secs(5);
const PATIENCE_VARIABLE: &str = "MANIFOLD_DAEMON_PATIENCE_MS";

/// How long a daemon may say nothing before it is asked whether it lives.
const SILENCE_VARIABLE: &str = "MANIFOLD_DAEMON_SILENCE_MS";

/// What a daemon takes over of whoever starts it beside what all clients have in common: what it needs to run programs, to
/// reach servers and to open stored secrets.
const OWN: [&str; 11] = [
    "PATH",
    "TMPDIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "MANIFOLD_LOG_LEVEL",
    "MCP_LOG_LEVEL",
    "MANIFOLD_DAEMON",
    "MANIFOLD_KEY",
    KEY_FILE,
    "MANIFOLD_KEYRING",
    "DBUS_SESSION_BUS_ADDRESS",
];

/// Serves the client by the daemon; none where it is to be served without one.
pub(super) fn run(options: &LoadOptions, invocation: &Invocation, client: Client) -> Option<ExitCode> {
    let wish = wish(&options.environment);
    if let Some(written) = options.environment.vars.get("MANIFOLD_DAEMON").filter(|_| wish.is_none()) {
        let why = format!("MANIFOLD_DAEMON={written:?} is neither `on` nor `off`, and counts for nothing");
        let _ = writeln!(std::io::stderr(), "manifold: {why}");
    }
    let profile = invocation.flags.known_profile(invocation.program_profile);
    let is_alone = invocation.flags.alone || wish == Some(false) || profile != Profile::Manifold;
    if is_alone || is_below_another(&options.environment) {
        return None;
    }
    match relay(options, invocation, client, wish == Some(true)) {
        Ok(()) => Some(ExitCode::SUCCESS),
        Err(Alone::AsConfigured) => None,
        // What follows says that there is no such file, and ends.
        Err(Alone::Failed(_)) if options.path.as_ref().is_some_and(|path| !is_there(options, path)) => None,
        Err(Alone::Failed(why)) => {
            // The one line, in which the daemon is named: a client's log is read by people.
            let why = why.replace('\n', "; ");
            let _ = writeln!(std::io::stderr(), "manifold: serving without the daemon: {why}");
            None
        }
    }
}

/// Returns whether a config that is named is there, or may be.
fn is_there(options: &LoadOptions, path: &Path) -> bool {
    path.starts_with("~") || options.environment.cwd.join(path).exists()
}

/// Who is to be served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Client {
    Mcp,
    LiteMcp { tool: Option<String> },
}

/// Why the client is served without a daemon.
enum Alone {
    AsConfigured,
    Failed(String),
}

/// Returns what the variable says, if it says anything.
pub(super) fn wish(environment: &Environment) -> Option<bool> {
    match environment.vars.get("MANIFOLD_DAEMON")?.to_ascii_lowercase().as_str() {
        "off" | "0" | "false" | "no" => Some(false),
        "on" | "1" | "true" | "yes" => Some(true),
        _ => None,
    }
}

fn relay(
    options: &LoadOptions,
    invocation: &Invocation,
    client: Client,
    is_wanted: bool,
) -> Result<(), Alone> {
    let failed = |why: &dyn std::fmt::Display| Alone::Failed(why.to_string());
    let environment = &options.environment;
    let identity = identity(options, Profile::Manifold);
    let place = || Place::open(&base_folders(environment), &identity);
    let marks = SandboxMarks::own();
    let hello = Hello {
        words: versions::words(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        identity: identity.clone(),
        namespace: invocation.flags.namespace.clone(),
        eager: invocation.flags.eager,
        transport: if client == Client::Mcp { Transport::Mcp } else { Transport::LiteMcp },
        tool: if let Client::LiteMcp { tool } = &client { tool.clone() } else { None },
        cwd: environment.cwd.to_string_lossy().into_owned(),
        pid: std::process::id(),
        sandbox: marks,
        resume: None,
    };
    // A window that has a daemon goes on with one, whatever the config says by then.
    let was_attached = Cell::new(false);
    let attaching = Attaching {
        place: &place,
        hello,
        variable: &|name| environment.vars.get(name).cloned(),
        variables: &|| Values { values: environment.vars.clone() },
        start: &|| start(options, is_wanted || was_attached.get(), &marks),
    };
    let (stages, page) = Stages::new().map_err(|error| failed(&error))?;
    let mut patience =
        Patience::lasting_until(Instant::now() + told(environment, PATIENCE_VARIABLE).unwrap_or(PATIENCE));
    let attached = attach(&attaching, &page, None, &mut patience).map_err(|error| match error {
        NoDaemon::NotWanted | NoDaemon::Refused { code: RefusalCode::Off, .. } => Alone::AsConfigured,
        error => failed(&error),
    })?;
    was_attached.set(true);
    let language = match client {
        Client::Mcp => Language::Mcp(invocation.flags.framing.map(Into::into)),
        Client::LiteMcp { .. } => Language::LiteMcp,
    };
    let bounds = bounds(environment);
    serve(&attaching, attached, (stages, page), language, bounds, slim_down_at_once)
        .map_err(|error| failed(&error))
}

/// Returns how long a daemon is waited for once there was one.
fn bounds(environment: &Environment) -> Bounds {
    let usual = Bounds::default();
    Bounds {
        silence: told(environment, SILENCE_VARIABLE).unwrap_or(usual.silence),
        absence: told(environment, PATIENCE_VARIABLE).unwrap_or(usual.absence),
    }
}

/// Returns the time that a variable tells: a machine that is slow to start programs may want a longer one.
fn told(environment: &Environment, variable: &str) -> Option<Duration> {
    environment.vars.get(variable)?.trim().parse().ok().map(Duration::from_millis)
}

/// Returns how the daemon is started, unless there is to be none.
pub(super) fn start(options: &LoadOptions, is_wanted: bool, marks: &SandboxMarks) -> Result<Start, NoDaemon> {
    // A config that cannot be read is the daemon's to complain about.
    if let Ok(config) = load(options)
        && (config.profile != Profile::Manifold || !config.settings.daemon.enabled && !is_wanted)
    {
        return Err(NoDaemon::NotWanted);
    }
    if marks.is_held() {
        let why = "this client runs in a sandbox, and what it starts stays in it; start the daemon outside: `manifold \
                   daemon start`";
        return Err(NoDaemon::NotStarted(why.to_owned()));
    }
    let environment = &options.environment;
    let program = environment
        .program
        .clone()
        .ok_or_else(|| NoDaemon::NotStarted("our own program is not found".to_owned()))?;
    let args = ["daemon", "run", "--detach"].into_iter().map(OsString::from);
    Ok(Start {
        program,
        args: args.chain(config_args(options)).collect(),
        env: environment
            .vars
            .iter()
            .filter(|(name, _)| is_taken_over(name))
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect(),
    })
}

/// Returns the arguments by which the daemon reads the same config.
pub(crate) fn config_args(options: &LoadOptions) -> Vec<OsString> {
    match &options.path {
        Some(path) => vec!["--config".into(), options.environment.cwd.join(path).into()],
        None => Vec::new(),
    }
}

/// Returns whether a daemon takes over a variable: nothing that is one client's own.
fn is_taken_over(name: &str) -> bool {
    is_base_variable(name) || OWN.contains(&name) || name.to_ascii_lowercase().ends_with("_proxy")
}
