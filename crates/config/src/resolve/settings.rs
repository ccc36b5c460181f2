//! Everything beside servers and namespaces, on top of the profile's defaults.

use std::path::PathBuf;
use std::time::Duration;

use super::roots;
use crate::environment::Environment;
use crate::fields::Fields;
use crate::file::Value;
use crate::keys::table::{CLI, CORS, HTTP, LIMITS, LOGGING, MANAGER_TOOLS, STDIO, TLS};
use crate::model::{
    ClientLimits, Cors, HttpSettings, Limits, LogFormat, LogLevel, LogSettings, Settings, Tls,
};
use crate::problem::Problems;
use crate::profile::{ErrorCodes, Profile, PromptPrefix, StartPolicy, ValidateArguments};
use crate::secret::Secret;

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
        drain_timeout: top.duration("drainTimeout").unwrap_or(Duration::from_secs(5)),
        watch_config: top.flag("watchConfig").unwrap_or(true),
        roots: roots::resolve(top, environment),
        http: http(top, environment, problems)?,
        logging: logging(top, profile, environment),
        stdio_timeout: stdio.and_then(|stdio| stdio.duration("timeout")),
    })
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

fn http(top: Fields<'_>, environment: &Environment, problems: &mut Problems) -> Option<HttpSettings> {
    let mut settings = HttpSettings {
        host: "127.0.0.1".to_owned(),
        port: 3095,
        token: None,
        allowed_hosts: Vec::new(),
        cors: None,
        tls: None,
        lenient_headers: false,
    };
    let Some(server) = top.section("server", &HTTP) else { return Some(settings) };
    if let Some(host) = server.string("host").filter(|host| !host.is_empty()) {
        settings.host = host;
    }
    if let Some(port) = server.number("port").and_then(|port| u16::try_from(port).ok()) {
        settings.port = port;
    }
    settings.allowed_hosts = server.strings("allowedHosts").unwrap_or_default();
    settings.lenient_headers = server.flag("lenientHeaders").unwrap_or(false);
    settings.cors = server.section("cors", &CORS).and_then(|section| cors(section, problems));
    // Both are judged before giving up, so that every problem is told at once.
    let (token, tls) = (token(server, problems), tls(server, environment, problems));
    (settings.token, settings.tls) = (token?, tls?);
    Some(settings)
}

/// Returns the token, if any. A token that was asked for and is not there must not mean an open door.
fn token(server: Fields<'_>, problems: &mut Problems) -> Option<Option<Secret>> {
    let Some(node) = server.present("token") else { return Some(None) };
    let what = match &node.value {
        Value::Text(text) if !text.missing.is_empty() => {
            format!("variable `{}` is not set", text.missing.join("`, `"))
        }
        Value::Text(text) if text.value.trim().is_empty() => "is empty".to_owned(),
        Value::Text(text) => return Some(Some(Secret::new(text.value.clone()))),
        // The check has told that it is not text.
        _ => return None,
    };
    let hint = "set it, or remove `token` to go without on loopback";
    problems.error(node.line, TOKEN, what, Some(hint.to_owned()));
    None
}

fn tls(server: Fields<'_>, environment: &Environment, problems: &mut Problems) -> Option<Option<Tls>> {
    let Some(node) = server.present("tls") else { return Some(None) };
    let section = server.section("tls", &TLS);
    let path = |name: &str| section.and_then(|section| section.path(name, environment)).map(PathBuf::from);
    if let (Some(cert), Some(key)) = (path("cert"), path("key")) {
        return Some(Some(Tls { cert, key }));
    }
    let hint = "give both, or remove `tls`";
    problems.error(node.line, "server.tls", "needs a `cert` and a `key`", Some(hint.to_owned()));
    None
}

fn cors(section: Fields<'_>, problems: &mut Problems) -> Option<Cors> {
    if !section.flag("enabled").unwrap_or(true) {
        return None;
    }
    let origins = section.strings("origins").unwrap_or_default();
    if let Some(node) = section.get("origins").filter(|_| origins.iter().any(|origin| origin == "*")) {
        let what = "`*` only means every loopback origin, or every origin where a token is asked for";
        problems.warn(
            node.line,
            "server.cors.origins",
            what,
            Some("name the origins that need access".to_owned()),
        );
    }
    let or = |name: &str, default: &[&str]| {
        section.strings(name).unwrap_or_else(|| default.iter().map(|&text| text.to_owned()).collect())
    };
    Some(Cors {
        origins,
        methods: or("methods", &["GET", "POST", "DELETE", "OPTIONS"]),
        allowed_headers: or(
            "allowedHeaders",
            &[
                "Content-Type",
                "Accept",
                "Authorization",
                "Mcp-Session-Id",
                "MCP-Protocol-Version",
                "Mcp-Method",
                "Mcp-Name",
                "Last-Event-ID",
            ],
        ),
        credentials: section.flag("credentials").unwrap_or(false),
    })
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
