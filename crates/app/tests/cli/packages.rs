//! `add --registry NAME` and `add FILE.mcpb`, with a registry of the test's own on this machine.

use std::fs;
use std::io::{Cursor, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use manifold_testkit::{RegistryFake, Sandbox};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::fake::{Gateway, Ran, ran};

const CONFIG: &str = ".config/manifold/config.json";
const BUNDLES: &str = ".local/share/manifold/bundles";
const CREDENTIALS: &str = ".local/share/manifold/credentials";
const KEY: &str = "sk-0123456789abcdefghijABCDEFGHIJ";

/// A home with a registry, and programs that do nothing.
struct Room {
    sandbox: Sandbox,
    registry: RegistryFake,
}

impl Room {
    fn new() -> Self {
        let (sandbox, registry) = (Sandbox::new(), RegistryFake::new());
        for program in ["npx", "uvx", "docker", "node"] {
            let path = sandbox.write(&format!("bin/{program}"), "#!/bin/sh\necho v22.0.0\n");
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("the mode can be set");
        }
        for text in [
            include_str!("../../../registry/fixtures/npm-search.json"),
            include_str!("../../../registry/fixtures/npm-filesystem.json"),
            include_str!("../../../registry/fixtures/pypi-weather.json"),
            include_str!("../../../registry/fixtures/oci-database.json"),
            include_str!("../../../registry/fixtures/remote-docs.json"),
            include_str!("../../../registry/fixtures/deprecated.json"),
        ] {
            registry.knows(&serde_json::from_str(text).expect("JSON"));
        }
        Self { sandbox, registry }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.sandbox.daemon();
        command.args(words).env("MANIFOLD_REGISTRY", self.registry.address()).env("NO_PROXY", "*");
        command.env("PATH", self.sandbox.path("bin")).stdin(Stdio::null());
        command
    }

    fn run(&self, words: &[&str]) -> Ran {
        ran(self.command(words))
    }

    #[track_caller]
    fn done(&self, words: &[&str]) -> Ran {
        let ran = self.run(words);
        assert_eq!(ran.code, Some(0), "{words:?}: {ran:?}");
        ran
    }

    /// Runs a command that is refused, and returns what is said of it. Nothing is written.
    #[track_caller]
    fn refused(&self, words: &[&str], code: i32) -> String {
        let ran = self.run(words);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), ""), "{words:?}: {ran:?}");
        assert!(!self.sandbox.path(CONFIG).exists(), "{words:?}");
        assert_eq!(self.names(BUNDLES), Vec::<String>::new(), "{words:?}");
        assert_eq!(self.names(CREDENTIALS), Vec::<String>::new(), "{words:?}");
        ran.stderr
    }

    fn server(&self, id: &str) -> Value {
        let text = fs::read_to_string(self.sandbox.path(CONFIG)).expect("a config");
        let config: Value = serde_json::from_str(&text).expect("JSON");
        config["mcpServers"][id].clone()
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.sandbox.path(folder)).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
        names.sort();
        names
    }

    fn secrets(&self) -> String {
        self.done(&["secret", "list", "-q"]).stdout
    }

    /// Has the registry offer a file under a hash.
    fn offers(&self, bytes: &[u8], sha256: &str) {
        self.registry.has("/files.mcpb", bytes);
        let url = format!("{}/files.mcpb", self.registry.address());
        let package = json!({"registryType": "mcpb", "identifier": url, "fileSha256": sha256,
            "transport": {"type": "stdio"}});
        let server = json!({"name": "com.example/files", "version": "1.0.0", "description": "",
            "packages": [package]});
        self.registry.knows(&json!({"server": server}));
    }
}

fn zip(files: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in files {
        zip.start_file(*name, SimpleFileOptions::default()).expect("a name");
        zip.write_all(text.as_bytes()).expect("memory");
    }
    zip.finish().expect("a zip").into_inner()
}

fn manifest() -> String {
    json!({"manifest_version": "0.3", "name": "files", "version": "1.0.0", "description": "",
        "author": {"name": "x"},
        "server": {"type": "node", "entry_point": "index.js", "mcp_config": {"command": "node",
            "args": ["${__dirname}/index.js", "${user_config.folders}"], "env": {"KEY": "${user_config.key}"}}},
        "user_config": {
            "key": {"type": "string", "title": "Key", "description": "a\u{1b}[2Jb", "sensitive": true,
                "required": true},
            "folders": {"type": "directory", "title": "Folders", "description": "Which", "multiple": true,
                "required": true}}})
    .to_string()
}

fn bundle() -> Vec<u8> {
    zip(&[("manifest.json", &manifest()), ("index.js", "//")])
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn npm_pypi_oci_and_addresses_become_entries() {
    let room = Room::new();
    let search = ["add", "--registry", "io.github.example/brave-search-mcp"];
    let said = room.done(&[&search[..], &["-e", "BRAVE_API_KEY"]].concat());
    assert_eq!(
        said.stdout,
        "brave-search has been added; it starts npx -y @example/brave-search-mcp@1.0.2\n"
    );
    assert_eq!(
        room.server("brave-search")["env"],
        json!({"BRAVE_API_KEY": "${BRAVE_API_KEY}", "LOG_LEVEL": "info"})
    );

    let weather = ["add", "sky", "--registry", "io.github.example/weather-mcp", "--version", "0.5.0"];
    let ran =
        room.done(&[&weather[..], &["--set", &format!("WEATHER_API_KEY={KEY}"), "-e", "EXTRA=1"]].concat());
    assert!(ran.stderr.contains("1 secret stored") && !ran.stderr.contains(KEY), "{ran:?}");
    assert_eq!(
        room.server("sky"),
        json!({"command": "uvx", "args": ["weather-mcp-server==0.5.0", "serve"],
            "env": {"WEATHER_API_KEY": "${secret:WEATHER_API_KEY}", "WEATHER_UNITS": "celsius", "EXTRA": "1"}})
    );
    assert_eq!(room.secrets(), "WEATHER_API_KEY\n");

    let answers = [
        "--set",
        "source_path=.",
        "--set",
        "db_type=mysql",
        "--set",
        "database_name=x",
        "-e",
        "DB_USERNAME=me",
        "-e",
        "DB_PASSWORD=${secret:WEATHER_API_KEY}",
    ];
    room.done(&[&["add", "--registry", "io.github.example/database-manager"], &answers[..]].concat());
    let database = room.server("database-manager");
    assert_eq!(database["command"], "docker", "{database}");
    assert_eq!(database["env"]["DB_PASSWORD"], "${secret:WEATHER_API_KEY}");

    let docs = ["add", "--registry", "com.example/docs", "--source", "http", "--set", "tenant_id=acme"];
    room.done(&[&docs[..], &["--set", &format!("token={KEY}-2")]].concat());
    let docs = room.server("docs");
    assert_eq!((&docs["url"], &docs["type"]), (&json!("https://acme.api.example.com/mcp"), &json!("http")));
    assert_eq!(docs["headers"]["Authorization"], "Bearer ${secret:DOCS_TOKEN}");
    room.done(&["add", "docs2", "--registry", "com.example/docs", "--source", "sse"]);
    assert_eq!(room.server("docs2")["url"], "https://api.example.com/sse");
    let ran = room.done(&["add", "--registry", "io.github.example/old-weather"]);
    assert!(ran.stderr.contains("its publisher calls it deprecated"), "{ran:?}");
    let text = fs::read_to_string(room.sandbox.path(CONFIG)).expect("a config");
    assert!(!text.contains(KEY), "{text}");
}

#[test]
fn what_has_to_be_known_is_listed_with_how_to_say_it() {
    let room = Room::new();
    let said = room.refused(&["add", "--registry", "io.github.example/database-manager"], 2);
    for line in [
        "\n  db_type: The kind of database (one of postgres, mysql)\n",
        "\n  DB_USERNAME: Who signs in\n",
        "\n  DB_PASSWORD (secret): The password\n",
        "`manifold secret set DB_PASSWORD`, and then ",
        "--set 'DB_PASSWORD=${secret:DB_PASSWORD}'",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    assert!(!said.contains("Where the database is"), "it has a default: {said}");
    let files = ["add", "--registry", "io.github.example/filesystem"];
    let said = room.refused(&[&files[..], &["--set", "readonly=true"]].concat(), 2);
    assert!(said.contains("the server does not ask for 'readonly'; did you mean `read-only`?"), "{said}");
    let key = ["--set", &format!("BRAVE_API_KEY={KEY}")];
    let search = [&["add", "--registry", "io.github.example/brave-search-mcp"][..], &key].concat();
    let said = room.refused(&[&search[..], &["-e", "LOG_LEVEL=loud"]].concat(), 2);
    assert!(said.contains("`LOG_LEVEL` must be one of: debug, info, warn"), "{said}");
    let said = room.refused(&[&search[..], &["-H", "A: b"]].concat(), 2);
    assert!(said.contains("`--header` is for addresses"), "what was stored goes again: {said}");
    room.done(&[&search[..], &["--dry-run"]].concat());
    assert!(!room.sandbox.path(CONFIG).exists() && room.secrets().is_empty());
    assert!(
        room.refused(&["add", "--registry", "io.github.example/none"], 7).contains("manifold search none")
    );
    for words in [&["add", "io.github.example/none"][..], &["add", "x", "io.github.example/none"]] {
        let said = room.refused(words, 7);
        assert!(said.contains("manifold search none"), "the registry is asked: {said}");
    }
    fs::create_dir_all(room.sandbox.path("io.github.example/none")).expect("a folder");
    let said = room.refused(&["add", "io.github.example/none"], 2);
    assert!(said.contains("`manifold add --registry io.github.example/none` adds the server"), "{said}");
    assert!(room.refused(&["add", "x", "--set", "A=1", "--", "true"], 2).contains("`-e NAME=VALUE`"));
}

#[test]
fn offline_it_takes_what_was_kept() {
    let room = Room::new();
    let said = room.refused(&["add", "x", "--offline", "--", "true"], 2);
    assert!(said.contains("`--offline` is for servers of the registry"), "{said}");
    let add = ["add", "--registry", "io.github.example/brave-search-mcp", "-e", "BRAVE_API_KEY"];
    let offline = [&add[..], &["--offline"]].concat();
    assert!(room.refused(&offline, 1).contains("nothing is kept of that"));
    assert_eq!(room.registry.asked(), Vec::<String>::new());
    room.done(&[&add[..], &["--dry-run"]].concat());
    let ran = room.done(&offline);
    assert!(ran.stderr.contains("as the registry had it"), "{ran:?}");
    let named = ["add", "again", "io.github.example/brave-search-mcp", "-e", "BRAVE_API_KEY", "--offline"];
    assert!(room.done(&named).stderr.contains("as the registry had it"));
    assert_eq!(room.registry.asked().len(), 1);
}

#[test]
fn a_bundle_is_checked_unpacked_and_told_what_it_asks_for() {
    let room = Room::new();
    let bytes = bundle();
    room.offers(&bytes, &sha256(&bytes));
    let add = ["add", "--registry", "com.example/files"];
    let said = room.refused(&add, 2);
    assert!(said.contains("\n  key (secret): ") && said.contains("\n  folders: "), "{said}");
    assert!(!said.contains('\u{1b}'), "{said}");
    let answers = ["--set", &format!("key={KEY}"), "--set", "folders=notes", "--set", "folders=/srv"];
    room.done(&[&add[..], &answers].concat());
    let name = format!("files-1.0.0-{}", &sha256(&bytes)[..12]);
    assert_eq!(room.names(BUNDLES), [name.as_str()]);
    let folder = room.sandbox.path(BUNDLES).join(&name).display().to_string();
    let notes = room.sandbox.path("notes").display().to_string();
    assert_eq!(
        room.server("files"),
        json!({"command": "node", "args": [format!("{folder}/index.js"), notes, "/srv"],
            "env": {"KEY": "${secret:FILES_KEY}"}, "cwd": folder})
    );
    let undone = room.done(&["undo"]);
    assert!(undone.stdout.contains("removed the secret FILES_KEY"), "{undone:?}");
    assert_eq!(room.secrets(), "");
    assert!(undone.stderr.contains(&format!("removed {folder}: no server needs it")), "{undone:?}");
    assert!(!room.sandbox.path(CONFIG).exists() && room.names(BUNDLES).is_empty());

    let room = Room::new();
    fs::write(room.sandbox.path("x.mcpb"), &bytes).expect("a file");
    room.done(&[&["add", "mine", "x.mcpb"], &answers[..]].concat());
    assert_eq!(room.server("mine")["env"]["KEY"], "${secret:MINE_KEY}");
    assert_eq!(room.registry.asked(), Vec::<String>::new());
    // The name may follow.
    let ran = room.done(&[&["add", "x.mcpb", "yours"], &answers[..], &["--json"]].concat());
    assert!(ran.stdout.contains("\"yours\"") && room.server("yours")["command"] == "node", "{ran:?}");
    room.done(&["undo"]);
    assert_eq!(room.secrets(), "MINE_KEY\n");
    // A name that is taken leaves everything as it was.
    let other = ["add", "mine", "x.mcpb", "--set", "key=another-value-1", "--set", "folders=/"];
    let taken = room.run(&other);
    assert_eq!(taken.code, Some(2), "{taken:?}");
    assert_eq!((room.secrets().as_str(), room.names(BUNDLES)), ("MINE_KEY\n", vec![name.clone()]));
    // What an undo could bring back keeps what it needs.
    room.done(&["remove", "mine"]);
    assert_eq!(room.names(BUNDLES), [name.as_str()]);
    room.done(&["undo"]);
    assert_eq!((room.server("mine")["command"].as_str(), room.names(BUNDLES)), (Some("node"), vec![name]));
    room.done(&["undo"]);
    assert!(room.names(BUNDLES).is_empty());
}

#[test]
fn another_file_than_was_promised_and_hostile_ones_are_refused() {
    let room = Room::new();
    let bytes = bundle();
    room.offers(&bytes, &sha256(b"another"));
    let answers = ["--set", &format!("key={KEY}"), "--set", "folders=/srv"];
    let said = room.refused(&[&["add", "--registry", "com.example/files"], &answers[..]].concat(), 1);
    assert!(said.contains("it was changed, or is another file"), "{said}");
    let manifest = manifest();
    for (file, why) in [
        (zip(&[("manifest.json", &manifest), ("../evil.js", "//")]), "leads out"),
        (zip(&[("manifest.json", &manifest), ("/etc/evil", "//")]), "leads out"),
        (zip(&[("index.js", "//")]), "manifest"),
        (b"no zip".to_vec(), "no zip file"),
    ] {
        fs::write(room.sandbox.path("x.mcpb"), file).expect("a file");
        let said = room.refused(&[&["add", "x.mcpb"], &answers[..]].concat(), 1);
        assert!(said.contains("is refused: ") && said.contains("nothing was written"), "{why}: {said}");
    }
    assert!(
        !room.sandbox.path("evil.js").exists() && !room.sandbox.path(BUNDLES).join("../evil.js").exists()
    );
    let said = room.refused(&["add", "missing.mcpb"], 1);
    assert!(said.contains("missing.mcpb"), "{said}");
}

#[test]
fn what_a_gateway_refuses_leaves_nothing() {
    let gateway = Gateway::new();
    let config = gateway.sandbox.path(CONFIG);
    let text = fs::read_to_string(&config).expect("a config");
    let told = json!({"path": config, "text": text, "revision": "r1", "problems": []});
    let gateway = gateway.says("GET /v1/config", &told).refuses(
        "PUT /v1/config/servers/mine",
        422,
        "config-refused",
        "not so",
    );
    fs::write(gateway.sandbox.path("x.mcpb"), bundle()).expect("a file");
    let ran = gateway.run(&format!("add mine x.mcpb --set key={KEY} --set folders=/srv"));
    assert_ne!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("not so"), "{ran:?}");
    let room = Room { sandbox: gateway.sandbox, registry: RegistryFake::new() };
    assert_eq!((room.names(BUNDLES), room.secrets()), (Vec::new(), String::new()));
}

/// Reads on until the screen shows something.
fn shown_until(screen: &mut fs::File, seen: &mut String, what: &str) {
    let mut chunk = [0; 4096];
    while !seen.contains(what) {
        let count = screen.read(&mut chunk).expect("the terminal is there");
        seen.push_str(&String::from_utf8_lossy(&chunk[..count]));
    }
}

/// Runs a command at a terminal and types what it is asked for. Returns what the screen showed.
fn typed(mut command: Command, script: &[(&str, &str)]) -> String {
    let pty = nix::pty::openpty(None, None).expect("a terminal");
    let line = || Stdio::from(pty.slave.try_clone().expect("a terminal"));
    let mut child = command.stdin(line()).stderr(line()).stdout(line()).spawn().expect("it starts");
    let (mut screen, mut all) = (fs::File::from(pty.master), String::new());
    for (asked, typed) in script {
        let mut seen = String::new();
        shown_until(&mut screen, &mut seen, asked);
        all.push_str(&seen);
        screen.write_all(typed.as_bytes()).expect("the terminal is there");
    }
    assert_eq!(child.wait().expect("it ends").code(), Some(0), "{all}");
    let _still_open = pty.slave;
    let mut seen = String::new();
    // The last line of every command there is.
    shown_until(&mut screen, &mut seen, "stored, which the config only names");
    all + &seen
}

#[test]
fn a_terminal_is_asked() {
    let room = Room::new();
    fs::write(room.sandbox.path("x.mcpb"), bundle()).expect("a file");
    let script = [
        ("folders, one at a time, Enter ends: ", "\n"),
        ("it has to be known\r\nfolders, one at a time, Enter ends: ", "/srv\n"),
        ("folders, one at a time, Enter ends: ", "\n"),
        ("key, not shown as it is typed: ", &*format!("{KEY}\n")),
    ];
    let seen = typed(room.command(&["add", "x.mcpb"]), &script);
    assert!(seen.contains("files: node ") && seen.contains("key (secret): "), "{seen}");
    assert!(!seen.contains(KEY) && !seen.contains("\u{1b}[2J"), "{seen}");
    assert_eq!(room.server("files")["env"]["KEY"], "${secret:FILES_KEY}");

    let token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let entry = json!({"mcpServers": {"hub": {"command": "hub", "env": {"HUB_TOKEN": token}}}});
    room.sandbox.write("mine.json", &entry.to_string());
    let script = [("Move them into the secret store? [y/N] ", "y\n")];
    let seen = typed(room.command(&["import", "--from", "mine.json"]), &script);
    assert!(seen.contains("1 secret stands in these entries as they are (hub env.HUB_TOKEN)"), "{seen}");
    assert!(!seen.contains(token), "{seen}");
    assert_eq!(room.server("hub")["env"]["HUB_TOKEN"], "${secret:HUB_TOKEN}");
}
