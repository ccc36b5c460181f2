//! The settings, and the profile's defaults below them.

use std::path::Path;
use std::time::Duration;

use expect_test::expect;

use crate::load::{LoadOptions, load_text};
use crate::model::*;
use crate::profile::{ErrorCodes, Profile, PromptPrefix, StartPolicy, ValidateArguments};
use crate::testing::{load, options, problems, with_server};

#[test]
fn an_empty_file_has_the_profiles_defaults() {
    for profile in Profile::ALL {
        let options = LoadOptions { profile: Some(profile), ..options() };
        let settings = load_text("{}", Some(Path::new("x")), &options).unwrap().settings;
        let defaults = profile.defaults();
        assert_eq!(settings.separator, defaults.separator);
        assert_eq!(settings.call_timeout, defaults.call_timeout);
        assert_eq!(settings.server_name, defaults.server_name);
        assert_eq!(settings.server_version.as_deref(), defaults.server_version);
        assert_eq!(settings.start, defaults.start);
        assert_eq!(settings.logging.file.is_some(), defaults.log_file.is_some());
        assert_eq!(settings.max_name_length, 64);
        assert_eq!(settings.drain_timeout, Duration::from_secs(5));
        // Decision 33
        let mib = 1024 * 1024;
        assert_eq!(
            settings.limits,
            Limits {
                request_bytes: 16 * mib,
                message_bytes: 64 * mib,
                held_bytes: None,
                // M8
                clients: ClientLimits {
                    sessions: 20_000,
                    sessions_per_address: 1_000,
                    streams: 64,
                    calls: 1_024,
                    parked: 256
                }
            }
        );
        assert_eq!((settings.http.host.as_str(), settings.http.port), ("127.0.0.1", 3095));
        // Decision 31: off unless configured.
        assert_eq!((settings.http.cors, settings.http.token, settings.stdio_timeout), (None, None, None));
    }
}

#[test]
fn every_setting_can_be_set() {
    let config = load(&with_server(
        r#"{
  "separator": ".", "prefixDescriptions": false, "prefixPrompts": "onClash", "managerTools": {"http": true},
  "start": "eager", "validateArguments": "full", "callTimeout": 60000, "errorCodes": "standard",
  "serverName": "hub", "serverVersion": "9", "maxNameLength": 128, "limits": {"requestBytes": "1MB", "messageBytes": 2048, "heldBytes": "1GB",
    "sessions": 1, "sessionsPerAddress": 2, "streamsPerClient": 3, "callsPerClient": 4, "parkedPerClient": 5},
  "drainTimeout": 0, "roots": ["/srv"],
  "server": {"host": "0.0.0.0", "port": 0, "token": "${NAME}", "allowedHosts": ["hub.local"],
             "cors": {"origins": ["https://a.example"]}, "tls": {"cert": "~/c.pem", "key": "/k.pem"}},
  "logging": {"level": "debug", "format": "json", "console": false, "file": "~/hub.log", "maxSize": "1GB", "maxFiles": 9},
  "cli": {"stdio": {"timeout": 45000}}
}"#,
    ));
    assert_eq!(config.problems, []);
    let settings = config.settings;
    assert_eq!((settings.separator.as_str(), settings.prefix_descriptions), (".", false));
    assert_eq!(settings.prefix_prompts, PromptPrefix::OnClash);
    assert!(settings.manager_tools_stdio && settings.manager_tools_http);
    assert_eq!((settings.start, settings.validate_arguments), (StartPolicy::Eager, ValidateArguments::Full));
    assert_eq!(
        (settings.call_timeout, settings.error_codes),
        (Duration::from_secs(60), ErrorCodes::Standard)
    );
    assert_eq!((settings.server_name.as_str(), settings.server_version.as_deref()), ("hub", Some("9")));
    assert_eq!(settings.max_name_length, 128);
    assert_eq!(
        settings.limits,
        Limits {
            request_bytes: 1024 * 1024,
            message_bytes: 2048,
            held_bytes: Some(1 << 30),
            clients: ClientLimits { sessions: 1, sessions_per_address: 2, streams: 3, calls: 4, parked: 5 }
        }
    );
    assert_eq!((settings.drain_timeout, settings.roots.len()), (Duration::ZERO, 1));
    assert_eq!(settings.roots[0].uri, "file:///srv");
    assert_eq!((settings.http.host.as_str(), settings.http.port), ("0.0.0.0", 0));
    assert_eq!(settings.http.token.unwrap().expose(), "ann");
    assert_eq!(settings.http.allowed_hosts, ["hub.local"]);
    assert_eq!(settings.http.cors.unwrap().origins, ["https://a.example"]);
    assert_eq!(
        settings.http.tls,
        Some(Tls { cert: "/home/ann/c.pem".into(), key: "/k.pem".into(), clients: None })
    );
    let logging = settings.logging;
    assert_eq!((logging.level, logging.format, logging.console), (LogLevel::Debug, LogFormat::Json, false));
    assert_eq!(logging.file.as_deref(), Some(Path::new("/home/ann/hub.log")));
    assert_eq!((logging.max_size_bytes, logging.max_files), (1024 * 1024 * 1024, 9));
    // S0-16
    assert_eq!(settings.stdio_timeout, Some(Duration::from_secs(45)));
}

// S0-17: the rest of the section still counts, and so does the rest of the file.
#[test]
fn an_invalid_stdio_timeout_is_not_used() {
    for timeout in ["999", "300001", "-1", "\"30000\"", "1e999"] {
        let config = load(&with_server(&format!(r#"{{"cli": {{"stdio": {{"timeout": {timeout}}}}}}}"#)));
        assert_eq!((config.settings.stdio_timeout, config.problems.len()), (None, 1), "{timeout}");
    }
}

#[test]
fn out_of_range_numbers_are_used_where_they_can_be() {
    let config = load(&with_server(r#"{"callTimeout": 5, "maxNameLength": 300, "drainTimeout": 1e15}"#));
    assert_eq!(config.settings.call_timeout, Duration::from_millis(5));
    assert_eq!(config.settings.max_name_length, 300);
    assert_eq!(config.settings.drain_timeout, Duration::from_secs(5));
    assert_eq!(config.problems.len(), 3);
}

#[test]
fn flags_stand_for_the_whole_choice() {
    let settings = load(r#"{"prefixPrompts": false, "managerTools": false}"#).settings;
    assert_eq!(settings.prefix_prompts, PromptPrefix::Never);
    assert!(!settings.manager_tools_stdio && !settings.manager_tools_http);
    let cors = with_server(r#"{"server": {"cors": {"enabled": false, "origins": ["*"]}}}"#);
    assert_eq!(load(&cors).problems, []);
}

#[test]
fn a_profiles_log_file_can_be_switched_off() {
    let options = LoadOptions { profile: Some(Profile::McpsProxy), ..options() };
    let file = |text: &str| load_text(text, Some(Path::new("x")), &options).unwrap().settings.logging.file;
    assert!(file("{}").is_some() && file(r#"{"logging": {"level": "warn"}}"#).is_some());
    assert_eq!(file(r#"{"logging": {"file": ""}}"#), None);
}

#[test]
fn settings_keep_a_placeholder_without_a_value() {
    let text = r#"{"serverName": "${NONE}", "separator": "a b"}"#;
    expect![[r#"
        config.json:1: serverName: variable `NONE` is not set; set it, or write `${NONE:-default}`; it stays as written
        config.json:1: separator: has characters that are not allowed in tool names; using the default (by profile)
    "#]]
    .assert_eq(&problems(&with_server(text)));
    let settings = load(text).settings;
    assert_eq!((settings.server_name.as_str(), settings.separator.as_str()), ("${NONE}", "__"));
}

#[test]
fn the_daemon_is_there_unless_it_is_said_not_to_be() {
    let daemon = |written: &str| load(&with_server(&format!("{{{written}}}"))).settings.daemon;
    let default = DaemonSettings { enabled: true, linger: Duration::from_secs(60), http: false };
    assert_eq!(daemon(r#""separator": "_""#), default);
    assert_eq!(daemon(r#""daemon": true"#), default);
    assert_eq!(daemon(r#""daemon": false"#), DaemonSettings { enabled: false, ..default });
    let said = DaemonSettings { linger: Duration::from_secs(1), http: true, ..default };
    assert_eq!(daemon(r#""daemon": {"linger": 1000, "http": true}"#), said);
    // Shorter than a moment is a mistake.
    assert_eq!(daemon(r#""daemon": {"linger": 999}"#), default);
    expect![[r#"
        config.json:1: daemon.linger: 999 is outside 1000 to 31536000000; using the default (60000)
    "#]]
    .assert_eq(&problems(&with_server(r#"{"daemon": {"linger": 999}}"#)));
}

#[test]
fn a_server_that_is_meant_to_run_once_needs_what_replicas_share() {
    let told = |scale: &str| {
        let server = r#""mcpServers": {"s": {"command": "s", "replicas": "one"}}"#;
        problems(&format!(r#"{{"scale": {scale}, {server}}}"#)).matches("s.replicas: is `one`").count()
    };
    assert_eq!(told(r#"{"stateKeyFile": "/k"}"#), 1);
    assert_eq!(told(r#"{"stateKeyFile": "/k", "state": "redis://r:6379/0"}"#), 0);
    assert_eq!(told("{}"), 0, "one that is alone runs it once");
}
