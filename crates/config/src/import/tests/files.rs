//! Files that are there, that are not, and that cannot be read.

use std::path::Path;

use super::client;
use crate::import::{Scope, files_to_import, find_servers, read_to_import, servers_in};
use crate::testing::environment;

fn why(text: &str) -> String {
    servers_in(text, Path::new("/x/mcp.json"), None, &environment()).unwrap_err().to_string()
}

#[test]
fn a_file_that_is_broken_or_empty_is_refused() {
    assert_eq!(
        why("{\"mcpServers\": {"),
        "/x/mcp.json:1: the `{` that opens here is never closed; add the `}` that belongs to it"
    );
    assert_eq!(why(""), "/x/mcp.json: is empty; write at least `{}`");
    for none in [
        "{}",
        r#"{"mcpServers": {}}"#,
        r#"{"mcpServers": 5}"#,
        r#"{"theme": "x"}"#,
        r#"{"mcpServers": {"x": null}}"#,
    ] {
        assert_eq!(
            why(none),
            "/x/mcp.json: has no servers; name a file that has some, such as a client's config"
        );
    }
    let of_codex = servers_in("x = 1", Path::new("/x/config.toml"), Some(client("codex")), &environment());
    assert!(of_codex.unwrap_err().to_string().contains("has no servers"));
    // What is switched off must not be switched on for want of understanding.
    let list = r#"{"numStartups": 1, "projects": {"/a": {"mcpServers": {"x": {"command": "x"}}, "disabledMcpServers": {"x": true}}}}"#;
    assert!(why(list).contains("disabledMcpServers: is no list of names"), "{}", why(list));
}

#[test]
fn a_file_with_too_many_servers_is_refused() {
    let servers = (0..2000).map(|number| format!(r#""{number}": {{"command": "x"}}"#)).collect::<Vec<_>>();
    let text = format!(r#"{{"mcpServers": {{{}}}}}"#, servers.join(","));
    assert_eq!(
        why(&text),
        "/x/mcp.json: has more than 1000 servers; it is hardly a config; name another file"
    );
}

#[test]
fn a_file_too_large_is_refused_before_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mcp.json");
    // A hole: nothing of it is on disk, and nothing of it is read.
    std::fs::File::create(&path).unwrap().set_len(100 << 20).unwrap();
    assert!(read_to_import(&path).unwrap_err().to_string().contains("is larger than 64 MiB"));
}

#[test]
fn files_of_the_project_come_first_and_each_once() {
    let folder = tempfile::tempdir().unwrap();
    let (home, site) = (folder.path().join("home"), folder.path().join("site"));
    let write = |path: &Path, text: &str| {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    std::fs::create_dir_all(site.join(".git")).unwrap();
    write(&site.join(".mcp.json"), "{}");
    write(&site.join("src/.cursor/mcp.json"), "{}");
    write(&home.join(".cursor/mcp.json"), "{}");
    write(&home.join(".claude.json"), "{}");
    let mut environment = environment();
    environment.home = Some(home.clone());
    let told = |cwd: &Path| {
        let files = files_to_import(&environment, cwd).into_iter();
        files.map(|(client, scope, path)| (client.id, scope, path)).collect::<Vec<_>>()
    };
    let of_user = [
        ("claude-code", Scope::User, home.join(".claude.json")),
        ("cursor", Scope::User, home.join(".cursor/mcp.json")),
    ];
    let of_project = [
        ("cursor", Scope::Project, site.join("src/.cursor/mcp.json")),
        ("claude-code", Scope::Project, site.join(".mcp.json")),
    ];
    assert_eq!(told(&site.join("src")), [of_project, of_user.clone()].concat());
    // At home the user's file is not a project's.
    assert_eq!(told(&home), of_user);
}

#[test]
fn a_scan_goes_on_past_what_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let write = |place: &str, text: &str| {
        let path = folder.path().join(place);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write(".cursor/mcp.json", "{");
    write(".kiro/settings/mcp.json", " ");
    write(".gemini/settings.json", r#"{"theme": "x"}"#);
    write(".factory/mcp.json", r#"{"mcpServers": {"x": {"command": "x"}}}"#);
    let mut environment = environment();
    environment.home = Some(folder.path().to_path_buf());
    let scan = find_servers(&environment, folder.path());
    assert_eq!(scan.servers.len(), 1);
    assert_eq!(scan.files.len(), 3);
    assert_eq!(scan.unread.len(), 1);
    assert!(scan.unread[0].0.ends_with(".cursor/mcp.json"));
}

// The lists of Claude Code are the user's word on what a project brings; the project's own are not.
#[test]
fn claude_code_knows_what_was_approved() {
    let folder = tempfile::tempdir().unwrap();
    let (home, site) = (folder.path().join("home"), folder.path().join("site"));
    std::fs::create_dir_all(&home).unwrap();
    let lists = format!(
        r#"{{"numStartups": 1, "projects": {{{:?}: {{"enabledMcpjsonServers": ["yes"], "disabledMcpjsonServers": ["no"]}}}}}}"#,
        site.display().to_string()
    );
    std::fs::write(home.join(".claude.json"), lists).unwrap();
    let mut environment = environment();
    environment.home = Some(home);
    let text = r#"{"enabledMcpjsonServers": ["new"], "mcpServers": {"yes": {"command": "a"}, "no": {"command": "b"}, "new": {"command": "c"}}}"#;
    let found = servers_in(text, &site.join(".mcp.json"), None, &environment).unwrap();
    let told: Vec<_> = found.iter().map(|one| (one.id.as_str(), one.approved, one.enabled)).collect();
    assert_eq!(told, [("yes", true, true), ("no", false, false), ("new", false, true)]);
}
