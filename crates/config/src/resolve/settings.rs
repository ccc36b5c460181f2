//! Everything beside servers and namespaces, on top of the profile's defaults.

mod http;
mod telemetry;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::roots;
use crate::environment::Environment;
use crate::fields::Fields;
use crate::keys::table::{CLI, DAEMON, DASHBOARD, LIMITS, LOGGING, MANAGER_TOOLS, SCALE, STDIO, TUI};
use crate::model::{
    ClientLimits, DaemonSettings, DashboardSettings, Limits, LogFormat, LogLevel, LogSettings, ScaleSettings,
    Settings,
};
use crate::problem::Problems;
use crate::profile::{ErrorCodes, Profile, PromptPrefix, StartPolicy, ValidateArguments};
use crate::secret::Secret;
use http::http;
pub(super) use http::{SCOPES, TOKENS};

pub(super) const TOKEN: &str = "server.token";
const MIB: usize = 1024 * 1024;

/// Reads the settings. `None` means that a guard the user asked for is missing: better not to start at all.
pub(super) fn resolve(
    top: Fields<'_>,
    profile: Profile,
    environment: &Environment,
    problems: &mut Problems,
) -> Option<Settings> {
    let defaults = profile.defaults();
    let (manager_tools_stdio, manager_tools_http) = manager_tools(top, profile);
    let limits = top.section("limits", &LIMITS);
    let limit = |name: &str, default| limits.and_then(|limits| limits.bytes(name)).map_or(default, as_usize);
    let stdio = top.section("cli", &CLI).and_then(|cli| cli.section("stdio", &STDIO));
    Some(Settings {
        separator: separator(top, problems).unwrap_or_else(|| defaults.separator.to_owned()),
        prefix_descriptions: top.flag("prefixDescriptions").unwrap_or(defaults.prefix_descriptions),
        prefix_prompts: prefix_prompts(top).unwrap_or(defaults.prefix_prompts),
        manager_tools_stdio,
        manager_tools_http,
        start: match text(top, "start") {
            Some("lazy") => StartPolicy::Lazy,
            Some("eager") => StartPolicy::Eager,
            _ => defaults.start,
        },
        validate_arguments: match text(top, "validateArguments") {
            Some("off") => ValidateArguments::Off,
            Some("required") => ValidateArguments::Required,
            Some("full") => ValidateArguments::Full,
            _ => defaults.validate_arguments,
        },
        call_timeout: top.duration("callTimeout").unwrap_or(defaults.call_timeout),
        error_codes: match text(top, "errorCodes") {
            Some("own") => ErrorCodes::Own,
            Some("standard") => ErrorCodes::Standard,
            _ => defaults.error_codes,
        },
        server_name: text(top, "serverName")
            .filter(|name| !name.is_empty())
            .unwrap_or(defaults.server_name)
            .to_owned(),
        server_version: top.string("serverVersion").or_else(|| defaults.server_version.map(str::to_owned)),
        max_name_length: top.number("maxNameLength").map_or(64, as_usize),
        limits: Limits {
            request_bytes: limit("requestBytes", 16 * MIB),
            message_bytes: limit("messageBytes", 64 * MIB),
            held_bytes: limits.and_then(|limits| limits.bytes("heldBytes")).map(as_usize),
            clients: client_limits(limits),
        },
        rates: telemetry::rates(top, problems)?,
        telemetry: telemetry::telemetry(top),
        audit: telemetry::audit(top, environment),
        drain_timeout: top.duration("drainTimeout").unwrap_or(Duration::from_secs(5)),
        watch_config: top.flag("watchConfig").unwrap_or(true),
        daemon: daemon(top),
        tui_keys: tui_keys(top),
        dashboard: dashboard(top),
        scale: scale(top, environment),
        roots: roots::resolve(top, environment),
        http: http(top, environment, problems)?,
        logging: logging(top, profile, environment),
        stdio_timeout: stdio.and_then(|stdio| stdio.duration("timeout")),
    })
}

fn daemon(top: Fields<'_>) -> DaemonSettings {
    let default = DaemonSettings::default();
    let section = top.section("daemon", &DAEMON);
    DaemonSettings {
        enabled: top.flag("daemon").unwrap_or(default.enabled),
        linger: section.and_then(|section| section.duration("linger")).unwrap_or(default.linger),
        http: section.and_then(|section| section.flag("http")).unwrap_or(default.http),
    }
}

fn tui_keys(top: Fields<'_>) -> BTreeMap<String, String> {
    top.section("tui", &TUI).map(|section| section.texts_by_name("keys")).unwrap_or_default()
}

fn dashboard(top: Fields<'_>) -> DashboardSettings {
    let section = top.section("dashboard", &DASHBOARD);
    DashboardSettings {
        enabled: section.and_then(|section| section.flag("enabled")).unwrap_or(false),
        view_only: section.and_then(|section| text(section, "scope")) == Some("view"),
    }
}

fn scale(top: Fields<'_>, environment: &Environment) -> ScaleSettings {
    let Some(section) = top.section("scale", &SCALE) else { return ScaleSettings::default() };
    let path = |name: &str| section.path(name, environment).map(PathBuf::from);
    ScaleSettings {
        state_key_file: path("stateKeyFile"),
        state: section.string("state").map(Secret::new),
        state_password_file: path("statePasswordFile"),
        cluster: section.string("cluster").filter(|name| !name.is_empty()),
        replica: section.string("replica").filter(|name| !name.is_empty()),
        address: section.string("address"),
        drain_delay: section.duration("drainDelay").unwrap_or_default(),
    }
}

fn client_limits(limits: Option<Fields<'_>>) -> ClientLimits {
    let default = ClientLimits::default();
    let count = |name: &str, default| limits.and_then(|limits| limits.number(name)).map_or(default, as_usize);
    ClientLimits {
        sessions: count("sessions", default.sessions),
        sessions_per_address: count("sessionsPerAddress", default.sessions_per_address),
        streams: count("streamsPerClient", default.streams),
        calls: count("callsPerClient", default.calls),
        parked: count("parkedPerClient", default.parked),
    }
}

fn separator(top: Fields<'_>, problems: &mut Problems) -> Option<String> {
    let separator = top.string("separator")?;
    if separator.chars().all(|char| char.is_ascii_alphanumeric() || "_-.".contains(char)) {
        return Some(separator);
    }
    let what = "has characters that are not allowed in tool names";
    problems.warn(
        top.get("separator")?.line,
        "separator",
        what,
        Some("using the default (by profile)".to_owned()),
    );
    None
}

fn prefix_prompts(top: Fields<'_>) -> Option<PromptPrefix> {
    match (top.flag("prefixPrompts"), text(top, "prefixPrompts")) {
        (Some(true), _) | (_, Some("always")) => Some(PromptPrefix::Always),
        (Some(false), _) | (_, Some("never")) => Some(PromptPrefix::Never),
        (_, Some("onClash")) => Some(PromptPrefix::OnClash),
        _ => None,
    }
}

/// Returns whether our own tools are listed on stdio and over HTTP.
fn manager_tools(top: Fields<'_>, profile: Profile) -> (bool, bool) {
    let defaults = profile.defaults();
    if let Some(both) = top.flag("managerTools") {
        return (both, both);
    }
    let section = top.section("managerTools", &MANAGER_TOOLS);
    let flag = |name: &str, default: bool| section.and_then(|section| section.flag(name)).unwrap_or(default);
    (flag("stdio", defaults.manager_tools_stdio), flag("http", defaults.manager_tools_http))
}

fn logging(top: Fields<'_>, profile: Profile, environment: &Environment) -> LogSettings {
    let mut settings = LogSettings {
        level: LogLevel::Info,
        format: LogFormat::Text,
        console: true,
        file: profile.defaults().log_file.and_then(|path| path.locate(environment)),
        max_size_bytes: 10 * MIB as u64,
        max_files: 5,
    };
    let Some(section) = top.section("logging", &LOGGING) else { return settings };
    settings.level = match text(section, "level") {
        Some("error") => LogLevel::Error,
        Some("warn") => LogLevel::Warn,
        Some("debug") => LogLevel::Debug,
        Some("trace") => LogLevel::Trace,
        _ => LogLevel::Info,
    };
    if text(section, "format") == Some("json") {
        settings.format = LogFormat::Json;
    }
    settings.console = section.flag("console").unwrap_or(true);
    // An empty name is how a profile's log file is switched off.
    if section.text("file").is_some() {
        settings.file = section.path("file", environment).map(PathBuf::from);
    }
    settings.max_size_bytes = section.bytes("maxSize").unwrap_or(settings.max_size_bytes);
    settings.max_files = section.number("maxFiles").map_or(settings.max_files, as_usize);
    settings
}

fn text<'a>(fields: Fields<'a>, name: &str) -> Option<&'a str> {
    fields.text(name).map(|text| text.value.as_str())
}

pub(super) fn as_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
