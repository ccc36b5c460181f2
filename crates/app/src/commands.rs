//! What the program does, one file per command.

mod attach;
mod bundles;
#[allow(dead_code, reason = "the verb comes with the gateways it can ask")]
mod call;
mod clients;
mod config;
mod config_change;
mod daemon;
mod doctor;
mod entries;
pub(crate) mod http;
mod init;
mod install;
mod items;
mod litemcp;
mod noted;
mod open;
mod patience;
mod record;
mod recordings;
mod replay;
mod scope;
mod search;
mod secret;
mod servers;
mod shell;
mod sign_in;
mod source;
mod status;
mod stdio;
mod token;
mod tokens;
mod tui;
mod undo;
mod uninstall;
mod units;
mod verb;

use std::io::Write;
use std::process::ExitCode;

use manifold_config::{
    Config, Environment, Format, LoadOptions, LogFormat, LogLevel, LogSettings, Nesting, OwnPort, Profile,
    Selection, config_path, default_config_path, load, secret_variables, select_namespace, stand_in,
};
use tokio::runtime::{Builder, Runtime};
use tracing::{info, warn};

pub(crate) use attach::config_args;
pub(crate) use shell::complete_if_asked;

use crate::cli::{self, Flags, Invocation, SetupCommand, Task, TrafficCommand, USAGE};
use crate::logging;
use crate::machine::{wipe_environment, wipe_variables};
use crate::output::{Form, escaped_text, write};
use crate::secrets::{self, KEY_FILE};
use crate::wiring::log_problems;
use verb::Verb;

/// Carries out a command.
pub(crate) fn run(invocation: Invocation) -> ExitCode {
    let options = load_options(&invocation);
    match invocation.task {
        Task::Help => print(&cli::help()),
        Task::ConfigSchema => config::schema(),
        Task::ConfigCheck { file, json } => {
            let options = LoadOptions { path: file.or_else(|| options.path.clone()), ..options };
            config::check(&options, invocation.flags.namespace.as_deref(), json)
        }
        Task::ConfigShow(form) => config::show(Verb::new(form.into(), &options, &invocation.flags)),
        Task::ConfigEdit(form) => {
            Verb::new(form.into(), &options, &invocation.flags).run(|verb| config::edit(verb))
        }
        Task::Status(args) => {
            let form = if args.json { Form::Json } else { Form::Text };
            status::run(args, Verb::new(form, &options, &invocation.flags))
        }
        Task::Servers(command) => {
            servers::run(&command, Verb::new(command.form(), &options, &invocation.flags))
        }
        Task::Entries(command) => {
            entries::run(&command, Verb::new(command.form(), &options, &invocation.flags))
        }
        Task::Items(command) => items::run(&command, Verb::new(command.form(), &options, &invocation.flags)),
        Task::Clients(command) => {
            clients::run(&command, Verb::new(command.form(), &options, &invocation.flags))
        }
        Task::Setup(command) => {
            let verb = Verb::new(command.form(), &options, &invocation.flags);
            match command {
                SetupCommand::Init(args) => verb.run(|verb| init::run(args, verb)),
                SetupCommand::Install(args) => verb.run(|verb| install::run(&args, verb)),
                SetupCommand::Uninstall(args) => verb.run(|verb| uninstall::run(&args, verb)),
                SetupCommand::Undo(args) => verb.run(|verb| undo::run(&args, verb)),
            }
        }
        Task::Search(args) => search::run(&args, Verb::new(args.form.into(), &options, &invocation.flags)),
        Task::Ask(ref command) => {
            let form = if command.how().json { Form::Json } else { Form::Text };
            let verb = Verb::new(form, &options, &invocation.flags);
            call::ask(command, &verb).unwrap_or_else(|failure| verb.output.fail(&failure))
        }
        Task::Secret(command) => {
            secret::run(&command, Verb::new(command.form(), &options, &invocation.flags))
        }
        Task::Token(command) => tokens::run(&command, Verb::new(command.form(), &options, &invocation.flags)),
        Task::SignIn(command) => {
            sign_in::run(&command, Verb::new(command.form(), &options, &invocation.flags))
        }
        Task::Open(args) => {
            Verb::new(args.form.into(), &options, &invocation.flags).run(|verb| open::run(&args, verb))
        }
        Task::Tui(args) => tui::run(args, &Verb::new(Form::Text, &options, &invocation.flags)),
        Task::Doctor(args) => {
            let form = if args.json { Form::Json } else { Form::Text };
            doctor::run(args, Verb::new(form, &options, &invocation.flags))
        }
        Task::Traffic(ref command) => {
            let verb = Verb::new(command.form(), &options, &invocation.flags);
            match command {
                TrafficCommand::Record { command } => recordings::run(command, verb),
                TrafficCommand::Replay(args) => replay::run(args, verb),
            }
        }
        Task::Shell(ref command) => shell::run(command),
        Task::Daemon(command) => daemon::run(command, options, &invocation.flags, invocation.program_profile),
        Task::Stdio => {
            if let Some(code) = attach::run(&options, &invocation, attach::Client::Mcp) {
                return code;
            }
            let stays = invocation.flags.known_profile(invocation.program_profile) == Profile::Manifold;
            with_config(options, &invocation.flags, Unreadable::stays_up_if(stays), as_it_is, stdio::run)
        }
        Task::Http => with_config(options, &invocation.flags, Unreadable::Ends, as_it_is, http::run),
        Task::LiteMcp { ref tool } => {
            let tool = tool.clone();
            let client = attach::Client::LiteMcp { tool: tool.clone() };
            if let Some(code) = attach::run(&options, &invocation, client) {
                return code;
            }
            with_config(options, &invocation.flags, Unreadable::Ends, as_it_is, |config, options, flags| {
                litemcp::run(config, options, flags, tool)
            })
        }
    }
}

fn load_options(invocation: &Invocation) -> LoadOptions {
    let mut environment = Environment::from_process();
    wipe_environment();
    if let Some(file) = &invocation.flags.key_file {
        // Whoever is started for this command has it by the same name.
        let file = environment.cwd.join(file).to_string_lossy().into_owned();
        environment.vars.insert(KEY_FILE.to_owned(), file);
    }
    environment.secrets = secrets::of(&environment);
    // An empty variable is as good as none.
    let variable = |name: &str| environment.vars.get(name).filter(|path| !path.is_empty());
    let named = variable("MANIFOLD_CONFIG").or_else(|| variable("MCP_CONFIG"));
    LoadOptions {
        path: invocation.flags.config.clone().or_else(|| named.map(Into::into)),
        profile: invocation.flags.profile,
        program_profile: invocation.program_profile,
        own_port: (invocation.task == Task::Http)
            .then(|| invocation.flags.port.map_or(OwnPort::Configured, OwnPort::Given)),
        environment,
        client: None,
    }
}

/// What becomes of a gateway whose config is there and cannot be used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unreadable {
    /// A client that cannot connect shows none of our words: it is served, and told what is wrong (D9).
    StaysUp,
    Ends,
}

impl Unreadable {
    fn stays_up_if(stays: bool) -> Self {
        if stays { Self::StaysUp } else { Self::Ends }
    }
}

/// Loads the config, starts logging and serves.
fn with_config(
    options: LoadOptions,
    flags: &Flags,
    unreadable: Unreadable,
    adapt: impl FnOnce(&mut LogSettings),
    serve: impl FnOnce(Config, LoadOptions, &Flags) -> ExitCode,
) -> ExitCode {
    // Before it is loaded, which may take a keyring and with it threads. What cannot be read is told of then.
    wipe_variables(&secret_variables(&options).unwrap_or_default());
    let is_there = || config_path(&options).is_some_and(|path| path.try_exists().unwrap_or(true));
    let loaded = load(&options).or_else(|error| match unreadable {
        Unreadable::StaysUp if is_there() => stand_in(error, &options),
        _ => Err(error),
    });
    let mut config = match loaded {
        Ok(config) => config,
        Err(error) => return fail(&error.to_string(), USAGE),
    };
    if let Some(why) = Nesting::of(config.source.path.as_deref(), &options.environment).refusal() {
        return fail(&why, USAGE);
    }
    apply_log_flags(&mut config, flags, &options.environment);
    adapt(&mut config.settings.logging);
    if let Some(problem) = logging::start(&config.settings.logging) {
        warn!("{problem}");
    }
    if let Some(why) = secret::open_key_file(&options.environment) {
        warn!("{why}");
    }
    log_problems(&config);
    if config.source.format == Format::Embedded {
        let profile = options.profile.or(options.program_profile).unwrap_or(Profile::Manifold);
        let path = default_config_path(profile, &options.environment);
        let path =
            path.map_or_else(|| "a file named by --config".to_owned(), |path| path.display().to_string());
        info!("no config file: serving the built-in `time` server; list your own servers in {path}");
    } else if let (Some(path), Some(_)) = (&config.source.path, config.source.client) {
        info!("{}: {}", path.display(), config.summary());
    }
    let code = serve(config, options, flags);
    logging::flush();
    code
}

/// Leaves the settings as they were read.
fn as_it_is(_: &mut LogSettings) {}

/// Flag before environment before config.
fn apply_log_flags(config: &mut Config, flags: &Flags, environment: &Environment) {
    let variable = |name: &str| environment.vars.get(name).map(|value| value.to_ascii_lowercase());
    let logging = &mut config.settings.logging;
    let level = variable("MANIFOLD_LOG_LEVEL").or_else(|| variable("MCP_LOG_LEVEL"));
    let level = level.and_then(|level| match level.as_str() {
        "error" => Some(LogLevel::Error),
        "warn" => Some(LogLevel::Warn),
        "info" => Some(LogLevel::Info),
        "debug" => Some(LogLevel::Debug),
        "trace" => Some(LogLevel::Trace),
        _ => None,
    });
    if let Some(level) = flags.log_level.map(Into::into).or(level) {
        logging.level = level;
    }
    if let Some(format) = flags.log_format.map(LogFormat::from) {
        logging.format = format;
    }
    let silent = variable("MCP_SILENT").is_some_and(|value| value == "1" || value == "true");
    if flags.silent || silent {
        logging.console = false;
    }
}

/// Returns the namespace asked for by `--namespace`, if any was; else says which there are.
fn asked_namespace(config: &Config, asked: Option<&str>) -> Result<Option<String>, String> {
    let Some(asked) = asked else { return Ok(None) };
    match select_namespace(config, Some(asked)) {
        Selection::Namespace { id, .. } => Ok(Some(id)),
        Selection::All => Ok(None),
        Selection::Unknown { requested, exists, disabled, .. } => {
            let what = if disabled { "is disabled" } else { "does not exist" };
            let exists = if exists.is_empty() { "none".to_owned() } else { exists.join(", ") };
            Err(format!("namespace '{requested}' {what}; there are: {exists}"))
        }
        Selection::Ambiguous { exists } => {
            Err(format!("namespace '{asked}' could be any of: {}; name one", exists.join(", ")))
        }
    }
}

/// Makes what runs our tasks; with one thread or none asked for, all of them on the thread we are on.
fn runtime(threads: usize) -> std::io::Result<Runtime> {
    let mut builder = match threads {
        0 | 1 => Builder::new_current_thread(),
        threads => {
            let mut builder = Builder::new_multi_thread();
            builder.worker_threads(threads);
            builder
        }
    };
    builder.enable_all().build()
}

/// Says on standard error what went wrong.
fn fail(what: &str, code: u8) -> ExitCode {
    // What led to it comes first.
    logging::flush();
    let _ = writeln!(std::io::stderr(), "manifold: {}", escaped_text(what));
    ExitCode::from(code)
}

/// Writes an error with everything behind it.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}

/// Writes what a command was asked for. A reader that hung up is no failure.
fn print(text: &str) -> ExitCode {
    write(&format!("{}\n", text.trim_end()));
    ExitCode::SUCCESS
}
