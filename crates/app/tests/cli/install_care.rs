//! What `install` takes care of: that the entry still leads to us after an update, that a client which runs does not write over
//! it, and that many commands at once lose nothing.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Stdio};

use manifold_config::client;
use manifold_testkit::{Sandbox, bin};
use serde_json::json;

use crate::fake::ran;
use crate::install::{CURSOR, done, json_of, run};

/// Makes a folder that is not for temporary files, though it is removed after the test.
fn lasting_folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder")
}

fn link(folder: &Path) -> String {
    fs::create_dir_all(folder).expect("a folder");
    let link = folder.join("manifold");
    symlink(bin("manifold"), &link).expect("a link");
    link.display().to_string()
}

// The link is what an update turns to the next version; one that is gone after the next start of the machine is of no use.
#[test]
fn the_entry_names_a_link_on_the_path_that_lasts() {
    let program = fs::canonicalize(bin("manifold")).expect("the program");
    if program.starts_with("/tmp") {
        println!("not tested: the program itself lies in a folder for temporary files");
        return;
    }
    let sandbox = Sandbox::new();
    let lasting = lasting_folder();
    let temporary = tempfile::tempdir_in("/tmp").expect("a folder");
    let folders =
        [temporary.path().to_owned(), lasting.path().join("_npx/1/bin"), lasting.path().join("bin")];
    let links: Vec<String> = folders.iter().map(|folder| link(folder)).collect();
    let install = |folders: &[std::path::PathBuf]| {
        sandbox.write(".cursor/mcp.json", "{}");
        let mut command = sandbox.manifold();
        command.env("PATH", std::env::join_paths(folders).expect("a path"));
        let ran = ran({
            command.args(["install", "cursor", "--json"]).stdin(Stdio::null());
            command
        });
        assert_eq!(ran.code, Some(0), "{ran:?}");
        (fs::read_to_string(sandbox.path(".cursor/mcp.json")).expect("the file"), ran.stderr)
    };
    let (text, said) = install(&folders);
    assert!(text.contains(&links[2]) && !said.contains("install manifold for good"), "{text}{said}");
    // Where no link lasts, the program itself is named.
    let (text, _) = install(&folders[..2]);
    assert!(text.contains(&program.display().to_string()), "{text}");
}

/// Starts a program of this name that does nothing, in this home.
fn start_as(sandbox: &Sandbox, name: &str) -> Child {
    let program = sandbox.path(&format!("programs/{name}"));
    fs::create_dir_all(sandbox.path("programs")).expect("a folder");
    symlink("/bin/sleep", &program).expect("a link");
    sandbox.command(&program).arg("600").spawn().expect("it starts")
}

#[test]
fn a_client_that_runs_is_not_written_under() {
    let sandbox = Sandbox::new();
    let text = "{\"numStartups\": 1, \"mcpServers\": {\"git\": {\"command\": \"git\"}}}\n";
    let path = sandbox.write(".claude.json", text);
    let elsewhere = Sandbox::new();
    let mut other = start_as(&elsewhere, "claude");
    done(&sandbox, "install claude-code --json");
    done(&sandbox, "undo");
    let mut claude = start_as(&sandbox, "claude");
    for line in ["install claude-code", "install claude-code --take-over", "install claude-code --json"] {
        let ran = run(&sandbox, line);
        assert_eq!(ran.code, Some(1), "{line}: {ran:?}");
        assert!(
            ran.stderr.contains(&format!("process {}", claude.id())) && ran.stderr.contains("--force"),
            "{ran:?}"
        );
        assert!(!ran.stderr.contains(&other.id().to_string()), "{ran:?}");
        assert_eq!(fs::read_to_string(&path).expect("the file"), text);
    }
    assert!(!sandbox.path(".config/manifold/config.json").exists(), "nothing is imported for nothing");
    done(&sandbox, "install claude-code --force --json");
    for child in [&mut claude, &mut other] {
        child.kill().expect("it ends");
        child.wait().expect("it has ended");
    }
}

// As many processes as people have windows, and more: each has its entry in the end.
#[test]
fn many_commands_on_one_file_lose_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write(".cursor/mcp.json", CURSOR);
    let count = if std::env::var_os("MANIFOLD_LONG").is_some() { 200 } else { 40 };
    std::thread::scope(|scope| {
        for number in 0..count {
            let sandbox = &sandbox;
            scope.spawn(move || {
                let line = format!("uninstall zed cursor --name none{number} --json");
                let line =
                    if number % 4 == 0 { line } else { format!("install cursor --name m{number} --json") };
                done(sandbox, &line);
            });
        }
    });
    let path = sandbox.path(".cursor/mcp.json");
    let names = || {
        let text = fs::read_to_string(&path).expect("the file");
        client("cursor").expect("a client").names_in(&text, &path).expect("it is read")
    };
    let installed = count * 3 / 4;
    assert_eq!(names().len(), 1 + installed, "{:?}", names());
    assert!(
        (0..count).filter(|number| number % 4 != 0).all(|number| names().contains(&format!("m{number}")))
    );
    for _ in 0..30 {
        assert_eq!(json_of(&sandbox, "undo --json")["left"], json!([]));
    }
    assert_eq!(names().len(), 1 + installed - 30);
    if installed == 30 {
        assert_eq!(fs::read_to_string(&path).expect("the file"), CURSOR);
    }
}
