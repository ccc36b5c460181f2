//! Where files are on each platform, and what shows that a program is there.

use std::path::Path;

use super::super::Scope;
use super::super::places::Platform;
use super::super::table::client;
use crate::environment::Environment;
use crate::testing::programs;

fn files(id: &str, platform: Platform, vars: &[(&str, &str)]) -> Vec<String> {
    let vars = vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let environment =
        Environment { vars, home: Some("/h".into()), cwd: "/work".into(), ..Environment::default() };
    let files = client(id).unwrap().places.user_files(platform, &environment);
    files.iter().map(|path| path.display().to_string()).collect()
}

#[test]
fn each_platform_has_its_own_places() {
    use Platform::{Linux, Macos, Windows};
    assert_eq!(files("claude-desktop", Linux, &[]), ["/h/.config/Claude/claude_desktop_config.json"]);
    assert_eq!(
        files("claude-desktop", Macos, &[]),
        ["/h/Library/Application Support/Claude/claude_desktop_config.json"]
    );
    assert_eq!(
        files("claude-desktop", Windows, &[("APPDATA", "/roaming")]),
        ["/roaming/Claude/claude_desktop_config.json"]
    );
    assert_eq!(files("zed", Linux, &[("XDG_CONFIG_HOME", "/x")]), ["/x/zed/settings.json"]);
    assert_eq!(files("zed", Macos, &[]), ["/h/.config/zed/settings.json"]);
    assert_eq!(files("zed", Windows, &[]), ["/h/AppData/Roaming/Zed/settings.json"]);
    assert_eq!(files("goose", Windows, &[]), ["/h/AppData/Roaming/Block/goose/config/config.yaml"]);
    assert_eq!(files("cursor", Windows, &[]), ["/h/.cursor/mcp.json"]);
    assert!(files("jetbrains", Linux, &[]).is_empty());
}

#[test]
fn a_variable_says_where_a_file_is_instead() {
    let on_linux = |id: &str, name: &str, value: &str| files(id, Platform::Linux, &[(name, value)]);
    assert_eq!(on_linux("codex", "CODEX_HOME", "/c"), ["/c/config.toml"]);
    assert_eq!(on_linux("codex", "CODEX_HOME", ""), ["/h/.codex/config.toml"]);
    assert_eq!(on_linux("claude-code", "CLAUDE_CONFIG_DIR", "there"), ["/work/there/.claude.json"]);
    assert_eq!(on_linux("gemini", "GEMINI_CLI_HOME", "/g"), ["/g/.gemini/settings.json"]);
    // That one is read beside the others.
    let all = ["/o.json", "/h/.config/opencode/opencode.json", "/h/.config/opencode/opencode.jsonc"];
    assert_eq!(on_linux("opencode", "OPENCODE_CONFIG", "/o.json"), all);
}

#[test]
fn a_program_is_there_by_its_file_its_folder_or_itself() {
    let home = tempfile::tempdir().unwrap();
    let path = programs(&["claude"]);
    let environment = |path: &Path| Environment {
        vars: [("PATH".to_owned(), path.display().to_string())].into(),
        home: Some(home.path().to_owned()),
        cwd: home.path().to_owned(),
        ..Environment::default()
    };
    let nowhere = environment(home.path());
    let present = |environment: &Environment| {
        let there = super::super::clients().iter().filter(|client| client.is_present(environment));
        there.map(|client| client.id()).collect::<Vec<_>>()
    };
    assert!(present(&nowhere).is_empty());
    assert_eq!(present(&environment(path.path())), ["claude-code"]);
    std::fs::create_dir_all(home.path().join(".config/zed")).unwrap();
    std::fs::write(home.path().join(".claude.json"), "{}").unwrap();
    assert_eq!(present(&nowhere), ["claude-code", "zed"]);
}

#[test]
fn the_file_that_is_there_is_the_one_to_write() {
    let home = tempfile::tempdir().unwrap();
    let environment = Environment {
        home: Some(home.path().to_owned()),
        cwd: home.path().join("site"),
        ..Environment::default()
    };
    let file = |id: &str, scope| {
        let file = client(id).unwrap().file(scope, &environment).unwrap();
        file.strip_prefix(home.path()).unwrap().display().to_string()
    };
    assert_eq!(
        file("cline", Scope::User),
        client("cline").unwrap().places.user[0].replace("$CONFIG", ".config")
    );
    std::fs::create_dir_all(home.path().join(".cline/data/settings")).unwrap();
    assert_eq!(file("cline", Scope::User), ".cline/data/settings/cline_mcp_settings.json");
    std::fs::create_dir_all(home.path().join(".config/opencode")).unwrap();
    assert_eq!(file("opencode", Scope::User), ".config/opencode/opencode.json");
    std::fs::write(home.path().join(".config/opencode/opencode.jsonc"), "{}").unwrap();
    assert_eq!(file("opencode", Scope::User), ".config/opencode/opencode.jsonc");
    assert_eq!(file("cursor", Scope::Project), "site/.cursor/mcp.json");
    assert!(client("jetbrains").unwrap().file(Scope::User, &environment).is_none());
}
