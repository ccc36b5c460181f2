use std::collections::BTreeMap;
use std::io::{Cursor, Write};
use std::os::unix::fs::PermissionsExt;

use expect_test::expect;
use tempfile::TempDir;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::*;
use crate::answer::{Answer, AnswerError, Answers, Kind};
use crate::hash::hex_of;
use crate::testing::{FakeWeb, server};

const NODE: &str = r#"{"manifest_version":"0.3","name":"My Files","version":"1.2.0","description":"Files",
    "author":{"name":"Ada"},
    "server":{"type":"node","entry_point":"server/index.js","mcp_config":{"command":"node",
        "args":["${__dirname}/server/index.js","${user_config.folders}","--depth","${user_config.depth}"],
        "env":{"API_KEY":"${user_config.api_key}","CACHE":"${HOME}${/}cache","ALL":"${user_config.folders}"}}},
    "compatibility":{"platforms":["darwin","win32","linux"],"runtimes":{"node":">=16.0.0"}},
    "user_config":{
        "folders":{"type":"directory","title":"Folders","description":"What may be used","multiple":true,"required":true,
            "default":["${HOME}/Desktop","${DOCUMENTS}"]},
        "api_key":{"type":"string","title":"Key","description":"","sensitive":true},
        "depth":{"type":"number","title":"Depth","description":"How deep","default":3,"min":1,"max":9}}}"#;

/// A folder for bundles, and one for what is packed.
struct Room {
    folder: TempDir,
}

impl Room {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn bundles(&self) -> PathBuf {
        self.folder.path().join("bundles")
    }

    fn file(&self, bytes: &[u8]) -> PathBuf {
        let path = self.folder.path().join("x.mcpb");
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Opens and unpacks; what fails leaves nothing.
    fn unpack(&self, bytes: &[u8]) -> Result<Unpacked, BundleError> {
        let unpacked = Bundle::open(&self.file(bytes)).and_then(|mut bundle| bundle.unpack(&self.bundles()));
        if unpacked.is_err() {
            assert_eq!(self.left(), Vec::<String>::new());
        }
        unpacked
    }

    fn left(&self) -> Vec<String> {
        let entries = fs::read_dir(self.bundles()).into_iter().flatten();
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
    }
}

fn places() -> Places {
    Places::below(Path::new("/home/ada"))
}

/// Packs files by name; a mode of zero is none.
fn packed(files: &[(&str, &[u8], u32)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content, mode) in files {
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
        let options = if *mode == 0 { options } else { options.unix_permissions(*mode) };
        if name.ends_with('/') {
            zip.add_directory(*name, options).unwrap();
        } else {
            zip.start_file(*name, options).unwrap();
            zip.write_all(content).unwrap();
        }
    }
    zip.finish().unwrap().into_inner()
}

fn manifest(kind: &str, server: &str) -> String {
    format!(
        r#"{{"manifest_version":"0.4","name":"a","version":"1","description":"","author":{{"name":"x"}},
            "server":{{"type":"{kind}",{server}}}}}"#
    )
}

fn node_bundle(more: &[(&str, &[u8], u32)]) -> Vec<u8> {
    let mut files = vec![("manifest.json", NODE.as_bytes(), 0o644), ("server/index.js", b"//", 0o755)];
    files.extend_from_slice(more);
    packed(&files)
}

/// Writes another text of the same length over every occurrence: heads that no writer would write.
fn patched(mut bytes: Vec<u8>, from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let places: Vec<usize> =
        (0..bytes.len().saturating_sub(from.len())).filter(|at| bytes[*at..].starts_with(from)).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at..at + to.len()].copy_from_slice(to);
    }
    bytes
}

/// Sets the mode in the directory's entry of a file, which is where links are told.
fn with_mode(mut bytes: Vec<u8>, name: &str, mode: u32) -> Vec<u8> {
    let entry = (0..bytes.len() - 46)
        .filter(|at| bytes[*at..].starts_with(b"PK\x01\x02"))
        .find(|at| bytes[at + 46..].starts_with(name.as_bytes()));
    let at = entry.unwrap() + 38;
    bytes[at..at + 4].copy_from_slice(&(mode << 16).to_le_bytes());
    bytes
}

#[test]
fn a_bundle_is_unpacked_and_started_as_its_manifest_says() {
    let room = Room::new();
    let bytes = node_bundle(&[("lib/", b"", 0), ("lib/tool", b"\x7fELF", 0o4755)]);
    let mut bundle = Bundle::open(&room.file(&bytes)).unwrap();
    assert_eq!(bundle.sha256(), hex_of(&bytes));
    assert_eq!(bundle.manifest().runtimes(), [Runtime { program: "node", versions: ">=16.0.0".to_owned() }]);
    let plan = bundle.plan(&room.bundles(), &places()).unwrap();
    assert_eq!(plan.suggested_id(), "my-files");
    assert_eq!(room.left(), Vec::<String>::new(), "a plan writes nothing");

    let unpacked = bundle.unpack(&room.bundles()).unwrap();
    let name = format!("my-files-1.2.0-{}", &hex_of(&bytes)[..12]);
    assert_eq!((unpacked.is_new, room.left()), (true, vec![name]));
    assert_eq!(fs::read(unpacked.folder.join("server/index.js")).unwrap(), b"//");
    for file in ["server/index.js", "lib/tool", "manifest.json"] {
        let mode = fs::metadata(unpacked.folder.join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o600, "{file}");
    }

    let answers: Answers = [("api_key", Answer::Secret("FILES_KEY".to_owned()))].into_iter().collect();
    let entry = plan.entry(&answers).unwrap().replace(unpacked.folder.to_str().unwrap(), "FOLDER");
    expect![[r#"
        {
          "command": "node",
          "args": [
            "FOLDER/server/index.js",
            "/home/ada/Desktop",
            "/home/ada/Documents",
            "--depth",
            "3"
          ],
          "env": {
            "ALL": "/home/ada/Desktop:/home/ada/Documents",
            "API_KEY": "${secret:FILES_KEY}",
            "CACHE": "/home/ada/cache"
          },
          "cwd": "FOLDER"
        }"#]]
    .assert_eq(&entry);
    let two = Answer::Many(vec!["/a".to_owned(), "/b".to_owned()]);
    let answers: Answers = [("folders", two), ("depth", Answer::Text("7".to_owned()))].into_iter().collect();
    let entry = plan.entry(&answers).unwrap().replace(unpacked.folder.to_str().unwrap(), "FOLDER");
    expect![[r#"
        {
          "command": "node",
          "args": [
            "FOLDER/server/index.js",
            "/a",
            "/b",
            "--depth",
            "7"
          ],
          "env": {
            "ALL": "/a:/b",
            "CACHE": "/home/ada/cache"
          },
          "cwd": "FOLDER"
        }"#]]
    .assert_eq(&entry);
    let deep = [("depth", Answer::Text("10".to_owned()))].into_iter().collect();
    assert!(plan.entry(&deep).is_err());
    assert_eq!(plan.questions()[0].kind, Kind::Folder);

    // A second time it is there already, and not ours to take away.
    let again = room.unpack(&bytes).unwrap();
    assert!(!again.is_new);
    again.remove().unwrap();
    assert!(again.folder.exists());
    unpacked.remove().unwrap();
    assert_eq!(room.left(), Vec::<String>::new());
}

#[test]
fn only_programs_are_executable() {
    let room = Room::new();
    let text = manifest("binary", r#""entry_point":"bin/run","mcp_config":{"command":"bin/run","args":[]}"#);
    let files: [(&str, &[u8], u32); 4] = [
        ("manifest.json", text.as_bytes(), 0o644),
        ("bin/run", b"x", 0),
        ("bin/help", b"x", 0o755),
        ("data", b"x", 0o644),
    ];
    let bytes = packed(&files);
    let plan = Bundle::open(&room.file(&bytes)).unwrap().plan(&room.bundles(), &places()).unwrap();
    let folder = room.unpack(&bytes).unwrap().folder;
    let modes: BTreeMap<&str, u32> = ["bin/run", "bin/help", "data"]
        .into_iter()
        .map(|name| (name, fs::metadata(folder.join(name)).unwrap().permissions().mode() & 0o777))
        .collect();
    assert_eq!(modes, BTreeMap::from([("bin/run", 0o700), ("bin/help", 0o700), ("data", 0o600)]));
    assert_eq!(plan.summary(), format!("{}/bin/run", folder.display()));
}

#[test]
fn what_a_manifest_leaves_out_follows_from_its_kind() {
    let room = Room::new();
    let summary = |kind: &str, server: &str| {
        let text = manifest(kind, server);
        let bytes = packed(&[("manifest.json", text.as_bytes(), 0), ("src/server.py", b"", 0)]);
        let bundle = Bundle::open(&room.file(&bytes)).unwrap();
        let folder = bundle.folder(&room.bundles()).display().to_string();
        let plan = bundle.plan(&room.bundles(), &places());
        plan.map_or_else(|error| error.to_string(), |plan| plan.summary().replace(&folder, "FOLDER"))
    };
    let entry = r#""entry_point":"src/server.py""#;
    assert_eq!(summary("uv", entry), "uv run --directory FOLDER src/server.py");
    assert_eq!(summary("python", entry), "python3 FOLDER/src/server.py");
    assert_eq!(summary("node", r#""entry_point":"no.js""#), "it has no `no.js`");
    let overridden = r#""entry_point":"src/server.py","mcp_config":{"command":"node","args":["1"],"env":{"A":"b"},
        "platform_overrides":{"linux":{"command":"bun"},"darwin":{"command":"deno"},"win32":{"command":"d"}}}"#;
    let expected = if cfg!(target_os = "linux") { "bun 1" } else { "deno 1" };
    assert_eq!(summary("node", overridden), expected);
    let foreign =
        r#""entry_point":"src/server.py","mcp_config":{"command":"node","args":["${secret:TOKEN}"]}"#;
    assert!(summary("node", foreign).contains("would read your variables and secrets"));
    let unknown =
        r#""entry_point":"src/server.py","mcp_config":{"command":"node","args":["${user_config.nobody}"]}"#;
    assert!(summary("node", unknown).contains("does not say what that is"));
}

#[test]
fn a_manifest_that_leads_out_of_its_bundle_is_refused() {
    let room = Room::new();
    let planned = |kind: &str, entry_point: &str, command: &str, args: &str| {
        let server = format!(
            r#""entry_point":"{entry_point}","mcp_config":{{"command":"{command}","args":[{args}]}}"#
        );
        let text = manifest(kind, &server);
        let bytes = packed(&[("manifest.json", text.as_bytes(), 0), ("a/b.js", b"", 0), ("run", b"", 0)]);
        let bundle = Bundle::open(&room.file(&bytes)).unwrap();
        bundle.plan(&room.bundles(), &places()).map(|_| ()).map_err(|error| error.to_string())
    };
    for entry_point in ["../../x.js", "a/../a/b.js", "/a/b.js", "a", "", "no.js", "${__dirname}/../x.js"] {
        let why = planned("node", entry_point, "node", "").unwrap_err();
        assert_eq!(why, format!("it has no `{entry_point}`"));
    }
    for entry_point in ["a/b.js", "./a/b.js", "${__dirname}/a/b.js"] {
        assert_eq!(planned("node", entry_point, "node", ""), Ok(()));
    }
    for arg in [
        "${__dirname}/../../x.js",
        "${__dirname}/a/../../x.js",
        "${__dirname}${/}..${/}x.js",
        "--import=file://${__dirname}/../x.js",
        "a/b.js:${__dirname}/..",
        "../x.js",
        "--root=..",
        "a\\\\..\\\\..",
    ] {
        let why = planned("node", "a/b.js", "node", &format!(r#""{arg}""#)).unwrap_err();
        assert!(why.contains("leads out of the bundle's folder"), "{arg}: {why}");
    }
    for arg in
        ["${__dirname}/a/../a/b.js", "a..b", "...", "/data", "${__dirname}", "https://example.com/../x"]
    {
        assert_eq!(planned("node", "a/b.js", "node", &format!(r#""{arg}""#)), Ok(()), "{arg}");
    }
    for command in ["/bin/sh", "sh", "bash", "/usr/bin/node", "../run", "a/../../run", "curl"] {
        for kind in ["binary", "node"] {
            let why = planned(kind, "run", command, r#""-c","id""#).unwrap_err();
            assert!(
                why.contains("is neither in the bundle nor a program that runs servers"),
                "{command}: {why}"
            );
        }
    }
    for command in ["run", "./run", "${__dirname}/run", "uv"] {
        assert_eq!(planned("binary", "run", command, ""), Ok(()), "{command}");
    }
    assert!(planned("binary", "run", "${__dirname}/../run", "").is_err());
    let env = r#""entry_point":"run","mcp_config":{"command":"run","env":{"X":"${__dirname}/../y"}}"#;
    let text = manifest("binary", env);
    let bytes = packed(&[("manifest.json", text.as_bytes(), 0), ("run", b"", 0)]);
    let plan = Bundle::open(&room.file(&bytes)).unwrap().plan(&room.bundles(), &places());
    assert!(plan.unwrap_err().to_string().contains("env.`X`: `${__dirname}/../y` leads out"));
}

#[test]
fn parts_of_a_manifest_do_not_become_a_variable_where_they_meet() {
    let room = Room::new();
    let text = NODE.replace("--depth", "$${user_config.word}").replace(
        r#""depth":{"#,
        r#""word":{"type":"string","title":"","description":"","default":"{secret:TOKEN}"},"depth":{"#,
    );
    let bytes = packed(&[("manifest.json", text.as_bytes(), 0), ("server/index.js", b"", 0)]);
    let plan = Bundle::open(&room.file(&bytes)).unwrap().plan(&room.bundles(), &places()).unwrap();
    assert_eq!(plan.entry(&Answers::default()), Err(AnswerError::Meeting));
}

#[test]
fn other_formats_and_systems_are_refused() {
    let room = Room::new();
    let refused = |text: &str| {
        let bytes = packed(&[("manifest.json", text.as_bytes(), 0)]);
        room.unpack(&bytes).unwrap_err().to_string()
    };
    let newer = manifest("node", r#""entry_point":"x""#).replace("0.4", "0.5");
    assert!(refused(&newer).contains("newer than this program"));
    let none = manifest("node", r#""entry_point":"x""#).replace("manifest_version", "other");
    assert!(refused(&none).contains("manifest_version: is missing"));
    let elsewhere = NODE.replace(r#"["darwin","win32","linux"]"#, r#"["amiga"]"#);
    assert!(refused(&elsewhere).contains("is made for `amiga`"));
    assert!(refused(&manifest("rust", r#""entry_point":"x""#)).contains("cannot be read"));
    assert!(refused("[1,").contains("cannot be read"));
    assert!(refused(&format!("{}{}", NODE, " ".repeat(2 << 20))).contains("larger than"));
    let bytes = packed(&[("other.json", b"{}", 0)]);
    assert_eq!(room.unpack(&bytes).unwrap_err().to_string(), "it has no `manifest.json`");
    let old = NODE.replace(r#""manifest_version":"0.3""#, r#""dxt_version":"0.1""#);
    assert!(room.unpack(&packed(&[("manifest.json", old.as_bytes(), 0)])).is_ok());
}

#[test]
fn names_that_lead_out_are_refused_and_nothing_is_left() {
    let room = Room::new();
    let bundle = node_bundle(&[("aaa/bbb/ccc", b"x", 0)]);
    let bad: [&[u8; 11]; 6] =
        [b"../bbb/cccc", b"aaa/../../x", b"/etc/passwd", b"aaa\\bbb\\ccc", b"C:/aaa/bbbb", b"aaa//bb/ccc"];
    for name in bad {
        let refused = room.unpack(&patched(bundle.clone(), b"aaa/bbb/ccc", name)).unwrap_err();
        assert!(matches!(refused, BundleError::Name { .. }), "{refused:?}");
    }
    assert!(!room.folder.path().join("bbb").exists());
}

#[test]
fn two_heads_with_two_names_are_refused() {
    let room = Room::new();
    let mut bytes = node_bundle(&[("aaa/bbb/ccc", b"x", 0)]);
    let first = bytes.windows(11).position(|window| window == b"aaa/bbb/ccc").unwrap();
    bytes[first..first + 11].copy_from_slice(b"../../../cc");
    assert!(matches!(room.unpack(&bytes), Err(BundleError::Zip(_))));
}

#[test]
fn links_and_devices_are_refused() {
    let room = Room::new();
    let bundle = node_bundle(&[("link", b"/etc/passwd", 0)]);
    // A link, a device of each kind, a pipe, a socket, and a folder that is none by its name.
    for mode in [0o120_777, 0o020_666, 0o060_666, 0o010_644, 0o140_755, 0o040_755] {
        let refused = room.unpack(&with_mode(bundle.clone(), "link", mode)).unwrap_err();
        assert!(matches!(refused, BundleError::Special(_)), "{mode:o}: {refused:?}");
    }
}

#[test]
fn names_that_are_there_twice_are_refused() {
    let room = Room::new();
    let two = node_bundle(&[("aaa", b"x", 0), ("bbb", b"y", 0)]);
    for name in [b"aaa", b"AAA"] {
        let refused = room.unpack(&patched(two.clone(), b"bbb", name)).unwrap_err();
        assert!(
            matches!(refused, BundleError::Name { flaw: NameFlaw::Twice, .. } | BundleError::Zip(_)),
            "{refused:?}"
        );
    }
    // A file that is also a folder on the way to another.
    let refused = room.unpack(&node_bundle(&[("aaa", b"x", 0), ("aaa/b", b"y", 0)])).unwrap_err();
    assert!(matches!(refused, BundleError::Name { flaw: NameFlaw::Twice, .. }), "{refused:?}");
}

#[test]
fn what_is_really_unpacked_is_counted() {
    let room = Room::new();
    let zeros = vec![0; 4 << 20];
    let bytes = node_bundle(&[("zeros", &zeros, 0)]);
    assert!(bytes.len() < 100 << 10, "it is a bomb in small");
    let mut bundle = Bundle::open(&room.file(&bytes)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let refused = bundle.unpack_into(folder.path(), 1 << 20).unwrap_err();
    assert!(matches!(refused, BundleError::TooLargeUnpacked(_)), "{refused:?}");
    assert!(fs::metadata(folder.path().join("zeros")).unwrap().len() <= 1 << 20);

    // What says itself that it is too large is not begun.
    let size = (4_u32 << 20).to_le_bytes();
    let honest = patched(bytes.clone(), &size, &(513_u32 << 20).to_le_bytes());
    assert!(matches!(room.unpack(&honest), Err(BundleError::TooLargeUnpacked(MAX_UNPACKED_BYTES))));

    // Both heads say that it is small.
    let lying = patched(bytes, &size, &10_u32.to_le_bytes());
    let mut bundle = Bundle::open(&room.file(&lying)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    assert!(bundle.unpack_into(folder.path(), 1 << 20).is_err());
    assert!(fs::metadata(folder.path().join("zeros")).unwrap().len() <= 1 << 20);
}

#[test]
fn a_broken_bundle_leaves_nothing() {
    let room = Room::new();
    let noise: Vec<u8> =
        (0..100_000_u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let mut bytes = node_bundle(&[("noise", &noise, 0)]);
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    assert!(matches!(room.unpack(&bytes), Err(BundleError::Zip(_))));
    for bytes in [&b""[..], b"PK", b"not a zip at all", &bytes[..middle]] {
        assert!(matches!(room.unpack(bytes), Err(BundleError::Zip(_))));
    }
    assert!(matches!(Bundle::open(room.folder.path()), Err(BundleError::NotAFile)));
    let huge = room.folder.path().join("huge");
    File::create(&huge).unwrap().set_len(MAX_ARCHIVE_BYTES + 1).unwrap();
    assert!(matches!(Bundle::open(&huge), Err(BundleError::TooLarge(_))));
    assert!(matches!(Bundle::open(&room.folder.path().join("none")), Err(BundleError::Io(_))));
}

#[test]
fn too_many_entries_are_refused() {
    let room = Room::new();
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for number in 0..=MAX_ENTRIES {
        zip.start_file(number.to_string(), options).unwrap();
    }
    let bytes = zip.finish().unwrap().into_inner();
    assert!(matches!(room.unpack(&bytes), Err(BundleError::TooManyEntries(_))));
    // A directory that is nothing but entries is not even begun.
    let bytes = b"PK\x01\x02".repeat(MAX_NESTED_ENTRIES + 1);
    assert!(matches!(room.unpack(&bytes), Err(BundleError::TooManyEntries(_))));
}

#[test]
fn a_signature_behind_the_zip_is_none_of_its_business() {
    let room = Room::new();
    let mut bytes = node_bundle(&[]);
    let signature = vec![0x30; 2000];
    bytes.extend_from_slice(b"MCPB_SIG_V1");
    bytes.extend_from_slice(&2000_u32.to_le_bytes());
    bytes.extend_from_slice(&signature);
    bytes.extend_from_slice(b"MCPB_SIG_END");
    let unpacked = room.unpack(&bytes).unwrap();
    assert!(unpacked.folder.ends_with(format!("my-files-1.2.0-{}", &hex_of(&bytes)[..12])));
}

#[test]
fn a_fetched_bundle_must_be_the_one_that_is_meant() {
    let room = Room::new();
    let bytes = node_bundle(&[]);
    let url = "https://a.example/x.mcpb";
    let web = FakeWeb::with(url, bytes.clone());
    let described = |sha256: &str| {
        server(&format!(
            r#"{{"name":"com.example/x","version":"1","packages":[{{"registryType":"mcpb","identifier":"{url}",
                "fileSha256":"{sha256}","transport":{{"type":"stdio"}},
                "environmentVariables":[{{"name":"EXTRA","isRequired":true}}]}}]}}"#
        ))
    };
    let wrong = described(&"0".repeat(64));
    let refused = wrong.choices()[0].fetch_bundle(&web, &room.bundles()).unwrap_err();
    assert!(refused.to_string().contains("it was changed, or is another file"), "{refused}");
    assert_eq!(room.left(), Vec::<String>::new());

    let right = described(&hex_of(&bytes));
    let mut bundle = right.choices()[0].fetch_bundle(&web, &room.bundles()).unwrap();
    let plan = bundle.plan(&room.bundles(), &places()).unwrap();
    let answers = [("EXTRA", Answer::Text("more".to_owned()))].into_iter().collect();
    assert!(plan.entry(&Answers::default()).is_err());
    assert!(plan.entry(&answers).unwrap().contains(r#""EXTRA": "more""#));
    let unpacked = bundle.unpack(&room.bundles()).unwrap();
    drop(bundle);
    assert_eq!(room.left(), [unpacked.folder.file_name().unwrap().to_str().unwrap()]);
}
