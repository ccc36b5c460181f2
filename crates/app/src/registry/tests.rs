//! From a name, or a file, to an entry, with a registry of the test's own on this machine.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Cursor, Write};

use manifold_registry::{Answer, Answers};
use manifold_testkit::RegistryFake;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;

/// A home with a registry.
struct Room {
    home: TempDir,
    registry: RegistryFake,
    environment: Environment,
}

impl Room {
    /// With these programs on its `PATH`.
    fn new(programs: &[&str]) -> Self {
        let (home, registry) = (tempfile::tempdir().unwrap(), RegistryFake::new());
        let folder = home.path().join("bin");
        fs::create_dir(&folder).unwrap();
        for program in programs {
            let path = folder.join(program);
            fs::write(&path, "#!/bin/sh\necho v14.0.0\n").unwrap();
            fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        }
        let vars = [("PATH", folder.to_str().unwrap()), ("MANIFOLD_REGISTRY", registry.address())];
        let vars: BTreeMap<String, String> =
            vars.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let home_path = Some(home.path().to_owned());
        let environment =
            Environment { vars, home: home_path, cwd: home.path().to_owned(), ..Environment::default() };
        Self { home, registry, environment }
    }

    fn prepare(&self, name: &str, source: Option<&str>) -> Result<Prepared, Failure> {
        let client = RegistryClient::new(&self.environment, Freshness::Hour).unwrap();
        client.prepare(Wanted { name, version: None, source })
    }

    /// Returns what is left below the folder of bundles.
    fn bundles(&self) -> Vec<String> {
        let folder = self.home.path().join(".local/share/manifold/bundles");
        let entries = fs::read_dir(folder).into_iter().flatten();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    /// Has the registry know a bundle at this path.
    fn offer_bundle(&self, path: &str, sha256: &str) {
        let url = format!("{}{path}", self.registry.address());
        self.registry.knows(
            &json!({"server": {"name": "com.example/files", "version": "1.0.0", "description": "",
            "packages": [{"registryType": "mcpb", "identifier": url, "fileSha256": sha256,
                "transport": {"type": "stdio"}}]}}),
        );
    }
}

fn bundle() -> Vec<u8> {
    let manifest = json!({"manifest_version": "0.3", "name": "files", "version": "1.0.0", "description": "",
        "author": {"name": "x"}, "compatibility": {"runtimes": {"node": ">=16"}},
        "server": {"type": "node", "entry_point": "index.js", "mcp_config": {"command": "node",
            "args": ["${__dirname}/index.js"], "env": {"KEY": "${user_config.key}"}}},
        "user_config": {"key": {"type": "string", "title": "Key", "description": "", "sensitive": true,
            "required": true}}});
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in [("manifest.json", manifest.to_string()), ("index.js", "//".to_owned())] {
        zip.start_file(name, SimpleFileOptions::default()).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn recorded(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn key() -> Answers {
    [("key", Answer::Secret("FILES_KEY".to_owned()))].into_iter().collect()
}

#[test]
fn a_name_becomes_an_entry_once_its_questions_are_answered() {
    let room = Room::new(&["npx"]);
    room.registry.knows(&recorded(include_str!("../../../registry/fixtures/npm-search.json")));
    let mut prepared = room.prepare("io.github.example/brave-search-mcp", None).unwrap();
    assert_eq!(prepared.suggested_id(), "brave-search");
    assert_eq!(prepared.summary(), "npx -y @example/brave-search-mcp@1.0.2");
    assert_eq!(prepared.remarks(), Vec::<String>::new());
    let names: Vec<&str> = prepared.questions().iter().map(|question| question.name.as_str()).collect();
    assert_eq!(names, ["BRAVE_API_KEY", "LOG_LEVEL"]);
    let refused = prepared.make(&Answers::default()).err().unwrap();
    assert_eq!((refused.exit, refused.message.as_str()), (Exit::Usage, "`BRAVE_API_KEY` needs an answer"));
    let answers = [("BRAVE_API_KEY", Answer::Secret("BRAVE".to_owned()))].into_iter().collect();
    let made = prepared.make(&answers).unwrap();
    let entry: Value = serde_json::from_str(&made.entry).unwrap();
    assert_eq!(
        entry,
        json!({"command": "npx", "args": ["-y", "@example/brave-search-mcp@1.0.2"],
            "env": {"BRAVE_API_KEY": "${secret:BRAVE}", "LOG_LEVEL": "info"}})
    );
    assert!(made.unpacked.is_none());
}

#[test]
fn the_way_is_taken_whose_program_is_here() {
    let hybrid = recorded(include_str!("../../../registry/fixtures/hybrid.json"));
    let summary = |programs: &[&str], source| {
        let room = Room::new(programs);
        room.registry.knows(&hybrid);
        room.prepare("com.example/hybrid", source).map(|prepared| prepared.summary())
    };
    assert!(summary(&["npx"], None).unwrap().starts_with("npx -y"));
    assert_eq!(summary(&[], None).unwrap(), "https://mcp.example.com/mcp");
    assert!(summary(&[], Some("npm")).unwrap().starts_with("npx -y"));
    let refused = summary(&["npx"], Some("oci")).unwrap_err();
    assert!(refused.message.contains("there is npm, npm, http"), "{refused:?}");
}

#[test]
fn what_is_deprecated_or_gone_is_said() {
    let room = Room::new(&[]);
    room.registry.knows(&recorded(include_str!("../../../registry/fixtures/deprecated.json")));
    room.registry.knows(&recorded(include_str!("../../../registry/fixtures/deleted.json")));
    let prepared = room.prepare("io.github.example/old-weather", None).unwrap();
    assert_eq!(
        prepared.remarks(),
        [
            "its publisher calls it deprecated: Use io.github.example/weather-mcp",
            "it needs `npx`, which is not here; install it before the server is used"
        ]
    );
    let gone = room.prepare("io.github.example/gone", None).err().unwrap();
    assert!(gone.message.contains("was taken out of the registry"), "{gone:?}");
    let unknown = room.prepare("io.github.example/never-was", None).err().unwrap();
    assert_eq!(
        (unknown.exit, unknown.hint.as_deref()),
        (Exit::Unknown, Some("try `manifold search never-was`"))
    );
    let none = room.prepare("weather", None).err().unwrap();
    assert_eq!(none.exit, Exit::Usage);
}

#[test]
fn a_bundle_is_fetched_checked_and_unpacked() {
    let room = Room::new(&["node"]);
    let bytes = bundle();
    room.registry.has("/files.mcpb", bytes.clone());
    room.offer_bundle("/files.mcpb", &sha256(&bytes));
    let mut prepared = room.prepare("com.example/files", None).unwrap();
    assert_eq!(prepared.remarks(), ["it needs `node` >=16, and here is 14.0.0"]);
    assert!(prepared.make(&Answers::default()).is_err());
    let name = format!("files-1.0.0-{}", &sha256(&bytes)[..12]);
    assert!(!room.bundles().contains(&name), "nothing is unpacked before the answers are good");
    let made = prepared.make(&key()).unwrap();
    drop(prepared);
    assert_eq!(room.bundles(), [name]);
    let entry: Value = serde_json::from_str(&made.entry).unwrap();
    let folder = made.unpacked.as_ref().unwrap().folder.to_str().unwrap();
    assert_eq!(
        entry,
        json!({"command": "node", "args": [format!("{folder}/index.js")], "env": {"KEY": "${secret:FILES_KEY}"},
            "cwd": folder})
    );
    made.unpacked.unwrap().remove().unwrap();
    assert_eq!(room.bundles(), Vec::<String>::new());
}

#[test]
fn another_file_than_the_registry_has_is_refused_and_nothing_is_left() {
    let room = Room::new(&["node"]);
    let bytes = bundle();
    room.registry.has("/files.mcpb", bytes.clone());
    room.offer_bundle("/files.mcpb", &sha256(b"another"));
    let refused = room.prepare("com.example/files", None).err().unwrap();
    assert!(refused.message.contains("it was changed, or is another file"), "{refused:?}");
    assert_eq!(room.bundles(), Vec::<String>::new());

    let room = Room::new(&["node"]);
    room.registry.redirects("/files.mcpb", "http://evil.example/files.mcpb");
    room.offer_bundle("/files.mcpb", &sha256(&bytes));
    let refused = room.prepare("com.example/files", None).err().unwrap();
    assert!(refused.message.contains("redirects to another host, or away from https"), "{refused:?}");
    assert_eq!(room.bundles(), Vec::<String>::new());
}

#[test]
fn a_file_of_the_users_own_is_looked_into() {
    let room = Room::new(&[]);
    let client = RegistryClient::new(&room.environment, Freshness::Hour).unwrap();
    let path = room.home.path().join("files.mcpb");
    fs::write(&path, bundle()).unwrap();
    let mut prepared = client.prepare_file(&path).unwrap();
    assert_eq!(prepared.suggested_id(), "files");
    assert!(prepared.make(&key()).unwrap().unpacked.unwrap().is_new);
    assert_eq!(room.registry.asked(), Vec::<String>::new());
    fs::write(&path, "no zip").unwrap();
    let refused = client.prepare_file(&path).err().unwrap();
    assert!(refused.message.contains("files.mcpb' is refused: it is no zip file"), "{refused:?}");
}
