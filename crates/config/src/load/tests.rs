use expect_test::expect;

use super::*;
use crate::model::{Builtin, Transport};
use crate::testing::{SECRET, load as load_str, options, problems, with_server};

// Decision 2: no file at the default path is the built-in time server, in every profile, and nothing is written.
#[test]
fn without_a_file_there_is_the_time_server() {
    let home = tempfile::tempdir().unwrap();
    for profile in Profile::ALL {
        let mut options = LoadOptions { profile: Some(profile), ..options() };
        options.environment.home = Some(home.path().to_path_buf());
        let config = load(&options).unwrap();
        assert_eq!(config.profile, profile);
        assert_eq!(config.source.format, Format::Embedded);
        assert_eq!(config.source.path, None);
        assert_eq!(config.servers.len(), 1);
        assert_eq!(config.servers[0].exposed_id, "time");
        assert_eq!(config.servers[0].transport, Transport::Builtin(Builtin::Time));
        assert_eq!(config.problems, []);
    }
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn the_default_path_is_that_of_the_profile_known_without_the_file() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join(".mcps-proxy")).unwrap();
    let file = home.path().join(".mcps-proxy/config.json");
    std::fs::write(&file, r#"{"profile": "mcp-studio", "schemas": {}}"#).unwrap();
    let mut options = LoadOptions { program_profile: Some(Profile::McpsProxy), ..options() };
    options.environment.home = Some(home.path().to_path_buf());
    let config = load(&options).unwrap();
    assert_eq!(config.source, Source { path: Some(file), format: Format::Schemas, client: None, root: None });
    assert_eq!(config.profile, Profile::McpStudio);
}

// S1-4: a leading `~` is ours to expand.
#[test]
fn an_explicit_path_may_start_at_home() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("my.json"), "{}").unwrap();
    let mut options = LoadOptions { path: Some("~/my.json".into()), ..options() };
    options.environment.home = Some(home.path().to_path_buf());
    let config = load(&options).unwrap();
    // A file with no servers: no servers.
    assert_eq!(config.servers, []);
    assert_eq!(config.source.path, Some(home.path().join("my.json")));
}

#[test]
fn an_explicit_file_that_is_missing_is_named() {
    let options = LoadOptions { path: Some("/no/such/file.json".into()), ..options() };
    expect![
        "/no/such/file.json: does not exist; name an existing file, or leave out --config for the default"
    ]
    .assert_eq(&load(&options).unwrap_err().to_string());
}

#[test]
fn a_file_that_cannot_be_read_says_why() {
    let directory = tempfile::tempdir().unwrap();
    let error = |path: &Path| {
        let options = LoadOptions { path: Some(path.to_path_buf()), ..options() };
        load(&options).unwrap_err().to_string()
    };
    assert!(error(directory.path()).contains("cannot be read: "));
    let binary = directory.path().join("binary.json");
    std::fs::write(&binary, [0xff, 0xfe]).unwrap();
    assert!(error(&binary).ends_with("is not UTF-8 text; save it as UTF-8"));
}

// Section 3: `--profile`, the config's, the program's name, `manifold`.
#[test]
fn the_profile_is_chosen_in_order() {
    let profile = |explicit, text: &str, program| {
        let options = LoadOptions { profile: explicit, program_profile: program, ..options() };
        load_text(text, Some(Path::new("config.json")), &options).unwrap().profile
    };
    let (studio, proxy) = (Profile::McpStudio, Profile::McpsProxy);
    let written = r#"{"profile": "mcp-all-in-one"}"#;
    assert_eq!(profile(Some(studio), written, Some(proxy)), studio);
    assert_eq!(profile(None, written, Some(proxy)), Profile::McpAllInOne);
    assert_eq!(profile(None, "{}", Some(proxy)), proxy);
    assert_eq!(profile(None, "{}", None), Profile::Manifold);
    // B6: one that does not exist would mean other names and other defaults than were asked for.
    expect![[r#"
        config.json:1: profile: expected one of `manifold`, `mcps-proxy`, `mcp-studio`, `mcp-all-in-one`, found `x`; correct it
    "#]]
    .assert_eq(&problems(&with_server(r#"{"profile": "x"}"#)));
    assert!(load_text(r#"{"profile": "x"}"#, Some(Path::new("config.json")), &options()).is_err());
}

// Decision 24: no token is ever made up, and a missing one is no open door.
#[test]
fn a_token_or_certificate_that_is_not_there_stops_us() {
    expect![[r#"
        config.json:2: server.token: variable `NONE` is not set; set it, or remove `token` to go without on loopback
        config.json:3: server.tls: needs a `cert` and a `key`; give both, or remove `tls`
    "#]]
    .assert_eq(&problems("{\"server\": {\n\"token\": \"${NONE}\",\n\"tls\": {\"cert\": \"x\"}}}"));
    let token = load_str(r#"{"server": {"token": "${KEY}"}}"#).settings.http.token.unwrap();
    assert_eq!(token.expose(), SECRET);
}

#[test]
fn problems_are_told_to_machines_too() {
    let config = load_str(&with_server("{\n\"zzz\": 1}"));
    expect![[r#"{"severity":"warning","file":"config.json","line":2,"place":"","what":"unknown key `zzz`","hint":null}"#]]
        .assert_eq(&serde_json::to_string(&config.problems[0]).unwrap());
}
