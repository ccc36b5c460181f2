use std::path::Path;

use super::*;

fn used(text: &str) -> VariablesUsed {
    variables_used_in(text, Some(Path::new("config.json"))).unwrap()
}

fn check_names(text: &str, expected: &[&str]) {
    let names = used(text).names;
    assert_eq!(names.iter().map(String::as_str).collect::<Vec<_>>(), expected, "{text}");
}

#[test]
fn every_way_to_name_a_variable_is_found() {
    check_names(r#"{"mcpServers": {}}"#, &["PATH"]);
    check_names(
        r#"{"mcpServers": {
            "a": {"command": "${TOOL:-x}", "args": ["-k", "${env:KEY}", "${A:-${B}}"], "env": {"X": "1${Y}2"},
                  "cwd": "${workspaceFolder}/${SUB}", "envFile": "${ENVS}/.env", "inheritEnv": ["LISTED", "MORE"]},
            "b": {"url": "https://${HOST}/", "headers": {"Authorization": "Bearer ${input:the-key}"},
                  "bearer_token_env_var": "BEARER", "env_http_headers": {"X-Key": "X_KEY"}, "description": "${NOT}"}
        }}"#,
        &[
            "A",
            "B",
            "BEARER",
            "ENVS",
            "HOST",
            "INPUT_THE_KEY",
            "KEY",
            "LISTED",
            "MORE",
            "PATH",
            "SUB",
            "TOOL",
            "X_KEY",
            "Y",
            "workspaceFolder",
        ],
    );
}

#[test]
fn servers_of_schemas_count_and_settings_do_not() {
    check_names(
        r#"{"server": {"token": "${TOKEN}"}, "schemas": {"s": {"enabled": false,
            "mcpServers": {"a": {"command": "x", "args": ["${ARG}"]}}}}}"#,
        &["ARG", "PATH"],
    );
}

#[test]
fn other_programs_files_are_read_as_they_mean_it() {
    let goose =
        r#"{"extensions": {"g": {"type": "stdio", "cmd": "x", "envs": {"T": "${T}"}, "env_keys": ["K"]}}}"#;
    assert!(used(goose).names.contains("T"), "{:?}", used(goose));
    let claude = r#"{"numStartups": 3, "mcpServers": {"a": {"command": "${A}"}},
        "projects": {"/one": {"mcpServers": {"p": {"command": "${P}"}}}, "/two": {"history": ["${NOT}"]}}}"#;
    check_names(claude, &["A", "P", "PATH"]);
}

#[test]
fn only_what_is_written_gets_everything() {
    let with = |inherit: &str| format!(r#"{{"mcpServers": {{"a": {{"command": "x"{inherit}}}}}}}"#);
    assert!(!used(&with("")).everything);
    assert!(!used(&with(r#", "inheritEnv": false"#)).everything);
    assert!(!used(&with(r#", "inheritEnv": ["A"]"#)).everything);
    assert!(used(&with(r#", "inheritEnv": true"#)).everything);
    assert!(used(&with(r#", "inherit_env": "true""#)).everything, "as it is meant");
}

#[test]
fn a_file_that_cannot_be_read_is_told() {
    let options = LoadOptions { path: Some("/no/such/file.json".into()), ..LoadOptions::default() };
    assert!(variables_used(&options).unwrap_err().to_string().contains("does not exist"));
    assert!(variables_used_in("{", Some(Path::new("config.json"))).is_err());
}
