//! What the program does, one file per command.

mod config;
mod http;
mod litemcp;
mod status;
mod stdio;
mod token;

use std::io::Write;
use std::process::ExitCode;

use manifold_config::{
    Config, Environment, Format, LoadOptions, LogFormat, LogLevel, Profile, default_config_path, load,
};
use tracing::{info, warn};

use crate::cli::{self, Flags, Invocation, Task, USAGE};
use crate::logging;

/// Carries out a command.
pub(crate) fn run(invocation: Invocation) -> ExitCode {
    let options = load_options(&invocation);
    match invocation.task {
        Task::NotYet(command) => fail(
            &format!("`{command}` is not part of this version yet; see `manifold --help` for what is"),
            USAGE,
        ),
        Task::Help => print(&cli::help()),
        Task::ConfigSchema => config::schema(),
        Task::ConfigCheck { file, json } => {
            config::check(&LoadOptions { path: file.or_else(|| options.path.clone()), ..options }, json)
        }
        Task::Status { json } => status::run(&options, json),
        Task::Stdio => with_config(options, &invocation.flags, stdio::run),
        Task::Http => with_config(options, &invocation.flags, http::run),
        Task::LiteMcp { tool } => with_config(options, &invocation.flags, |config, options, flags| {
            litemcp::run(config, options, flags, tool)
        }),
    }
}

fn load_options(invocation: &Invocation) -> LoadOptions {
    let environment = Environment::from_process();
    // An empty variable is as good as none.
    let variable = |name: &str| environment.vars.get(name).filter(|path| !path.is_empty());
    let named = variable("MANIFOLD_CONFIG").or_else(|| variable("MCP_CONFIG"));
    LoadOptions {
        path: invocation.flags.config.clone().or_else(|| named.map(Into::into)),
        profile: invocation.flags.profile,
        program_profile: invocation.program_profile,
        environment,
    }
}

/// Loads the config, starts logging and serves.
fn with_config(
    options: LoadOptions,
    flags: &Flags,
    serve: impl FnOnce(Config, LoadOptions, &Flags) -> ExitCode,
) -> ExitCode {
    let mut config = match load(&options) {
        Ok(config) => config,
        Err(error) => return fail(&error.to_string(), USAGE),
    };
    apply_log_flags(&mut config, flags, &options.environment);
    if let Some(problem) = logging::start(&config.settings.logging) {
        warn!("{problem}");
    }
    for problem in &config.problems {
        warn!("{problem}");
    }
    if config.source.format == Format::Embedded {
        let profile = options.profile.or(options.program_profile).unwrap_or(Profile::Manifold);
        let path = default_config_path(profile, &options.environment);
        let path =
            path.map_or_else(|| "a file named by --config".to_owned(), |path| path.display().to_string());
        info!("no config file: serving the built-in `time` server; list your own servers in {path}");
    }
    let code = serve(config, options, flags);
    logging::flush();
    code
}

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

/// Says on standard error what went wrong.
fn fail(what: &str, code: u8) -> ExitCode {
    // What led to it comes first.
    logging::flush();
    let _ = writeln!(std::io::stderr(), "manifold: {what}");
    ExitCode::from(code)
}

/// Writes an error with everything behind it.
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

/// Writes what a command was asked for. A reader that hung up is no failure.
fn print(text: &str) -> ExitCode {
    let _ = writeln!(std::io::stdout(), "{}", text.trim_end());
    ExitCode::SUCCESS
}
