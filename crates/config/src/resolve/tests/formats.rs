//! Every format we read, as its users have it on disk. These files stay for good.

use std::path::Path;
use std::time::Duration;

use expect_test::expect;

use crate::load::{LoadOptions, load_text};
use crate::model::*;
use crate::profile::Profile;
use crate::testing::{SECRET, environment, load, options, problems, programs, server};

/// Loads a fixture as its own program would, with the programs it needs on the `PATH`.
fn fixture(text: &str, profile: Profile) -> Config {
    let directory = programs(&["fs-server", "fs", "uvx"]);
    let mut environment = environment();
    environment.vars.insert("PATH".into(), directory.path().display().to_string());
    environment.vars.insert("REMOTE_TOKEN".into(), SECRET.into());
    environment.vars.insert("REMOTE_KEY".into(), SECRET.into());
    let options = LoadOptions { program_profile: Some(profile), environment, ..options() };
    load_text(text, Some(Path::new("config.json")), &options).unwrap()
}

fn key(schema: Option<&str>, id: &str) -> ServerKey {
    ServerKey { schema: schema.map(str::to_owned), id: id.to_owned() }
}

fn told(config: &Config) -> String {
    config.problems.iter().map(|problem| format!("{problem}\n")).collect()
}

// S0-2, S0-10, S0-16 and section 2.1.
#[test]
fn mcps_proxy() {
    let config = fixture(include_str!("../../../fixtures/mcps-proxy.json"), Profile::McpsProxy);
    expect![[r#"
        config.json:2: server.cors.origins: `*` only means every loopback origin, or every origin where a token is asked for; name the origins that need access
    "#]]
    .assert_eq(&told(&config));
    assert_eq!(config.source.format, Format::Schemas);
    assert_eq!(config.settings.stdio_timeout, Some(Duration::from_secs(30)));
    assert_eq!(config.settings.http.port, 3095);
    let cors = config.settings.http.cors.as_ref().unwrap();
    assert_eq!(cors.allowed_headers, ["Content-Type", "Authorization"]);
    assert_eq!(
        config.settings.logging.file.as_deref(),
        Some(Path::new("/home/ann/.mcps-proxy/logs/mcps-proxy.log"))
    );
    assert_eq!(config.settings.logging.max_size_bytes, 10 * 1024 * 1024);

    let default = Some("default");
    assert_eq!(config.namespaces.len(), 1);
    assert_eq!(config.namespaces[0].id, "default");
    assert_eq!(config.namespaces[0].servers, [key(default, "fs"), key(default, "api"), key(default, "ev")]);

    let fs = server(&config, "fs");
    assert_eq!((fs.start, fs.call_timeout), (ServerStart::Eager, Some(Duration::from_secs(30))));
    let Transport::Process(spec) = &fs.transport else { panic!("{fs:?}") };
    assert_eq!((spec.command.as_str(), spec.cwd.as_deref()), ("fs-server", Some(Path::new("."))));
    assert_eq!((spec.env["A"].expose(), spec.restart_delay), ("1", Some(Duration::from_secs(5))));

    let Transport::Remote(api) = &server(&config, "api").transport else { panic!() };
    assert_eq!((api.kind, api.retries), (RemoteKind::StreamableHttp, 3));
    assert_eq!(api.headers[0].1.expose(), format!("Bearer {SECRET}"));
    assert_eq!(api.credential_variables, ["KEY"]);

    let Transport::Remote(ev) = &server(&config, "ev").transport else { panic!() };
    assert_eq!((ev.kind, ev.max_retries), (RemoteKind::Sse, 5));
}

// S1-10, S1-16, S1-20 and section 2.2, the shape at the time of S1.
#[test]
fn mcp_studio() {
    let config = fixture(include_str!("../../../fixtures/mcp-studio.json"), Profile::McpStudio);
    assert_eq!(told(&config), "");
    assert_eq!(config.source.format, Format::Servers);
    assert_eq!(config.default_namespace.as_deref(), Some("w1rk"));
    let fs = server(&config, "a1b2");
    assert_eq!((fs.exposed_id.as_str(), fs.display_name.as_str()), ("a1b2", "Filesystem"));
    assert_eq!((fs.start, fs.enabled, &fs.fault), (ServerStart::Lazy, true, &None));
    let Transport::Process(spec) = &fs.transport else { panic!() };
    assert_eq!(spec.cwd, None);
    let Transport::Remote(remote) = &server(&config, "c3d4").transport else { panic!() };
    assert_eq!(remote.kind, RemoteKind::Sse);

    let [work] = config.namespaces.as_slice() else { panic!() };
    assert_eq!((work.id.as_str(), work.name.as_str()), ("w1rk", "work"));
    assert_eq!(work.servers, [key(None, "a1b2")]);
    assert!(!work.permissions.rules[&("a1b2".into(), "delete".into())]);
}

// Section 2.2, today's shape: names are the keys.
#[test]
fn mcpmu() {
    let config = fixture(include_str!("../../../fixtures/mcpmu.json"), Profile::McpStudio);
    assert_eq!(told(&config), "");
    assert_eq!(config.default_namespace.as_deref(), Some("work"));
    let fs = server(&config, "filesystem");
    assert_eq!((fs.start, &fs.denied_tools), (ServerStart::Eager, &vec!["delete_file".to_owned()]));
    assert_eq!((fs.start_timeout, fs.call_timeout), (Duration::from_secs(10), Some(Duration::from_secs(60))));
    let remote = server(&config, "remote");
    assert_eq!(remote.shared, Sharing::PerClient);
    let Transport::Remote(spec) = &remote.transport else { panic!() };
    let headers: Vec<_> = spec.headers.iter().map(|(name, value)| (name.as_str(), value.expose())).collect();
    let bearer = format!("Bearer {SECRET}");
    assert_eq!(headers, [("X-Team", "red"), ("X-Key", SECRET), ("Authorization", &bearer)]);
    assert_eq!(spec.credential_variables, ["REMOTE_TOKEN", "REMOTE_KEY"]);

    let work = &config.namespaces[0].permissions;
    assert!(work.deny_by_default && !work.server_defaults["remote"]);
    assert!(work.rules[&("filesystem".into(), "read_file".into())]);
    assert_eq!(config.namespaces[1].servers, [key(None, "filesystem")]);
}

// S3-9, S3-10, S3-17 and section 2.3: the unset key marks that one service only.
#[test]
fn mcp_all_in_one() {
    let config = fixture(include_str!("../../../fixtures/mcp-all-in-one.json"), Profile::McpAllInOne);
    expect![[r#"
        config.json:13: mcpServers.zhipu-web-search.headers.Authorization: variable `Z_AI_API_KEY` is not set; set it, or write `${Z_AI_API_KEY:-default}`
    "#]]
    .assert_eq(&told(&config));
    assert_eq!(config.source.format, Format::McpServers);
    assert_eq!(config.namespaces, []);
    assert_eq!(server(&config, "Time").fault, None);
    let search = server(&config, "zhipu-web-search");
    assert_eq!(search.exposed_id, "zhipu-web-search");
    let variable = "Z_AI_API_KEY".to_owned();
    assert_eq!(search.fault, Some(ServerFault::MissingVariable { variable, credential: true }));
    let Transport::Remote(spec) = &search.transport else { panic!() };
    assert_eq!(spec.credential_variables, ["Z_AI_API_KEY"]);
}

#[test]
fn minimal() {
    let config = fixture(include_str!("../../../fixtures/minimal.json"), Profile::Manifold);
    assert_eq!(told(&config), "");
    assert_eq!(server(&config, "time").transport, Transport::Builtin(Builtin::Time));
}

#[test]
fn clients_spellings() {
    let config = fixture(include_str!("../../../fixtures/clients.json"), Profile::Manifold);
    assert_eq!(told(&config), "");
    let kind = |id: &str| match &server(&config, id).transport {
        Transport::Remote(spec) => Some(spec.kind),
        _ => None,
    };
    assert_eq!(kind("code"), Some(RemoteKind::StreamableHttp));
    assert_eq!(kind("surf"), Some(RemoteKind::Auto));
    assert_eq!(kind("gemini"), Some(RemoteKind::StreamableHttp));
    assert_eq!(kind("old"), Some(RemoteKind::Sse));
    assert_eq!(kind("lite"), Some(RemoteKind::LiteMcp));
    assert_eq!(server(&config, "gemini").denied_tools, ["rm"]);
    assert!(!server(&config, "cline").enabled);
    assert_eq!(config.namespaces[0].servers, [key(None, "code"), key(None, "surf")]);
}

// Decision 3: the same id in two schemas is two servers. S0-14: a disabled schema is kept.
#[test]
fn schemas_own_their_servers() {
    let config = load(
        r#"{"schemas": {"a": {"mcpServers": {"t": {"builtin": "time"}}},
                        "b": {"enabled": false, "mcpServers": {"t": {"command": "nowhere"}}}}}"#,
    );
    let keys: Vec<_> = config.servers.iter().map(|server| server.key.clone()).collect();
    assert_eq!(keys, [key(Some("a"), "t"), key(Some("b"), "t")]);
    assert!(config.servers.iter().all(|server| server.exposed_id == "t"));
    assert!(!config.namespaces[1].enabled);
    assert_eq!(config.namespaces[1].servers, [key(Some("b"), "t")]);
    // Nobody minds a program that is missing in a schema that is off.
    assert_eq!(config.problems, []);
}

#[test]
fn only_one_set_of_servers_counts() {
    expect![[r#"
        config.json:1: mcpServers: is not used beside `servers`; move its entries to `servers`
    "#]]
    .assert_eq(&problems(
        r#"{"servers": {"a": {"builtin": "time"}}, "mcpServers": {"b": {"builtin": "time"}}}"#,
    ));
    let config = load(r#"{"schemas": {}, "mcpServers": {"b": {"builtin": "time"}}}"#);
    assert_eq!((config.source.format, config.servers.len()), (Format::McpServers, 1));
    assert_eq!(load(r#"{"schemas": {}}"#).source.format, Format::Schemas);
    expect![[r#"
        config.json:1: namespaces: is not used beside `schemas`; a schema owns its servers
        config.json:1: schemas: has no servers; add one
    "#]]
    .assert_eq(&problems(r#"{"schemas": {"a": {}}, "namespaces": {}}"#));
}

#[test]
fn namespaces_refer_to_servers_that_exist() {
    expect![[r#"
        config.json:2: namespaces[0].serverIds: there is no server 'gti'; did you mean `git`?
        config.json:2: namespaces[0].serverDefaults: `fs` is not a server of this namespace
        config.json:3: namespaces[1]: there is another namespace 'a'; the first one counts
        config.json:4: namespaces[2]: has no `id`; it is left out
        config.json:5: toolPermissions[0]: there is no namespace 'b'; it changes nothing
        config.json:5: toolPermissions[1]: 'fs' is not a server of namespace 'a'; it changes nothing
        config.json:5: toolPermissions[2]: has no `toolName`, `promptName` or `resourceUri`; name it, or remove the rule
    "#]]
    .assert_eq(&problems(
        r#"{"servers": {"git": {"builtin": "time"}}, "namespaces": [
  {"id": "a", "serverIds": ["gti", "git", "git"], "serverDefaults": {"fs": true}},
  {"id": "a"},
  {}],
  "toolPermissions": [{"namespace": "b", "server": "git", "toolName": "x"}, {"namespace": "a", "server": "fs", "toolName": "x"}, {"namespace": "a", "server": "git"}]}"#,
    ));
}
