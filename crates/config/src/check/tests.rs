use expect_test::expect;

use crate::testing::{problems, with_server};

// Decision 2: unknown keys warn and name the nearest known one.
#[test]
fn unknown_keys_name_the_nearest() {
    expect![[r#"
        config.json:2: unknown key `mcpservers`; did you mean `mcpServers`?
        config.json:3: unknown key `zzz`
        config.json:4: logging: unknown key `levle`; did you mean `level`?
        config.json:5: servers.a: unknown key `start_timeout`; did you mean `startTimeout`?
        config.json:5: servers.a: unknown key `Eager`; did you mean `eager`?
    "#]]
    .assert_eq(&problems(
        r#"{
  "mcpservers": {},
  "zzz": 1,
  "logging": {"levle": "debug"},
  "servers": {"a": {"builtin": "time", "start_timeout": 5, "Eager": true}}
}"#,
    ));
}

// Decision 2: out-of-range numbers are used, wrong types fall back, both with a warning.
#[test]
fn odd_values_are_told() {
    expect![[r#"
        config.json:2: server.port: 99999 is outside 0 to 65535; using the default (3095)
        config.json:3: callTimeout: 5 is outside 1000 to 3600000; it is used all the same
        config.json:4: prefixDescriptions: expected true or false, found text; using the default (by profile)
        config.json:5: logging.level: expected one of `error`, `warn`, `info`, `debug`, `trace`, found `loud`; using the default (info)
        config.json:5: logging.maxSize: expected a size such as `10MB`, found text; using the default (10MB)
        config.json:6: limits: expected an object, found a number; using the default (see there)
        config.json:7: namespaces[0]: expected an object, found a number; write `{ … }`, or remove it
        config.json:8: roots: expected a list of texts, or a list of objects, found text; using the default (none)
        config.json:9: mcpServers.a.timeout: 0 is outside 1000 to 300000; using the default (`callTimeout`)
        config.json:9: mcpServers.a.retries: 11 is outside 0 to 10; it is used all the same
    "#]]
    .assert_eq(&problems(
        r#"{
  "server": {"port": 99999},
  "callTimeout": 5,
  "prefixDescriptions": "yes",
  "logging": {"level": "loud", "maxSize": "huge"},
  "limits": 3,
  "namespaces": [3],
  "roots": "x",
  "mcpServers": {"a": {"builtin": "time", "timeout": 0, "retries": 11}}
}"#,
    ));
}

#[test]
fn null_is_as_good_as_nothing() {
    assert_eq!(
        problems(
            r#"{"server": null, "mcpServers": {"a": {"builtin": "time", "timeout": null, "cwd": null, "env": {"A": null}}}}"#
        ),
        ""
    );
}

// S0-17: an invalid value in `cli.stdio` means the default and a warning.
#[test]
fn invalid_stdio_settings_are_told_and_not_used() {
    expect![[r#"
        config.json:2: cli.stdio.encoding: expected one of `utf8`, `utf-8`, `UTF-8`, found `latin1`; using the default (utf8)
        config.json:3: cli.stdio.delimiter: expected one of `\n`, `\r\n`, found `;`; using the default (\n)
        config.json:4: cli.stdio.timeout: 999 is outside 1000 to 300000; using the default (`callTimeout`)
        config.json:5: cli.stdio: unknown key `timeot`; did you mean `timeout`?
    "#]]
    .assert_eq(&problems(&with_server(
        r#"{"cli": {"stdio": {
  "encoding": "latin1",
  "delimiter": ";",
  "timeout": 999,
  "timeot": 1
}}}"#,
    )));
    expect![[r#"
        config.json:1: cli.stdio: expected an object, found a list; using the default (see there)
    "#]]
    .assert_eq(&problems(&with_server(r#"{"cli": {"stdio": []}}"#)));
}
