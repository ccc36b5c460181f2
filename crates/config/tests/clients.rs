//! Every client's file with our entry in it: made, added to, with comments, with the line ends and the mark of Windows,
//! and broken. What goes in comes out again, and nothing else changes.
#![expect(clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use std::path::{Path, PathBuf};

use expect_test::expect_file;
use manifold_config::{
    Client, Environment, LoadOptions, Plug, RemoteKind, Scope, Server, Transport, Writing, clients, load_text,
};

const NAME: &str = "manifold";
const CASES: [&str; 2] = ["append", "comments"];

fn stdio() -> Plug {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let env = vec![("MANIFOLD_PROFILE".to_owned(), "work".to_owned())];
    Plug::Stdio { command: "/usr/local/bin/manifold".to_owned(), args: words(&["serve", "--stdio"]), env }
}

fn http() -> Plug {
    let headers = vec![("Authorization".to_owned(), "Bearer key".to_owned())];
    Plug::Http { url: "http://127.0.0.1:7777/mcp".to_owned(), headers }
}

fn environment() -> Environment {
    Environment { home: Some("/home/ann".into()), cwd: "/work/site".into(), ..Environment::default() }
}

fn written() -> impl Iterator<Item = (&'static Client, PathBuf)> {
    clients().iter().filter(|client| client.writing() == Writing::File).map(|client| {
        let path = client.files(Scope::User, &environment()).into_iter().next();
        (client, path.unwrap_or_else(|| panic!("{} has no file", client.id())))
    })
}

fn extension(path: &Path) -> &str {
    path.extension().and_then(|extension| extension.to_str()).unwrap_or("json")
}

fn fixture(client: &Client, name: &str, path: &Path) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(client.id());
    folder.join(format!("{name}.{}", extension(path)))
}

fn put(client: &Client, text: &str, path: &Path, plug: &Plug) -> String {
    let put = client.put_entry(text, path, NAME, plug);
    put.unwrap_or_else(|error| panic!("{}: {error}\n{text}", client.id()))
}

fn take(client: &Client, text: &str, path: &Path) -> String {
    client.take_entry(text, path, NAME).unwrap_or_else(|error| panic!("{}: {error}\n{text}", client.id()))
}

fn servers(client: &Client, text: &str, path: &Path) -> Vec<Server> {
    let options = LoadOptions { environment: environment(), ..LoadOptions::default() };
    let config = load_text(text, Some(path), &options);
    config.unwrap_or_else(|error| panic!("{}: {error}\n{text}", client.id())).servers
}

/// The file means what it is to mean when it is read as the client reads it: us, and all others as before.
fn check_meaning(client: &Client, before: &str, after: &str, path: &Path) {
    let is_us = |server: &Server| server.key.id == NAME;
    let mut found = servers(client, after, path);
    let us = found.iter().position(is_us).map(|at| found.remove(at)).expect("our own entry");
    let Transport::Process(spec) = &us.transport else { panic!("{}: {us:?}", client.id()) };
    assert_eq!((spec.command.as_str(), spec.args.len()), ("/usr/local/bin/manifold", 2), "{}", client.id());
    assert_eq!(spec.env.len(), 1, "{}", client.id());
    assert!(us.enabled, "{}", client.id());
    if !before.is_empty() {
        let all = servers(client, before, path);
        let told = |servers: &[Server]| servers.iter().map(|one| format!("{one:?}")).collect::<Vec<_>>();
        assert_eq!(told(&all), told(&found), "{}", client.id());
    }
}

fn check_remote(client: &Client, text: &str, path: &Path) {
    let found = servers(client, text, path);
    let [Server { transport: Transport::Remote(spec), .. }] = found.as_slice() else {
        panic!("{}: {found:?}", client.id())
    };
    assert_eq!(spec.url, "http://127.0.0.1:7777/mcp", "{}", client.id());
    assert_ne!(spec.kind, RemoteKind::Sse, "{}", client.id());
    let headers: Vec<_> = spec.headers.iter().map(|(name, value)| (name.as_str(), value.expose())).collect();
    assert_eq!(headers, [("Authorization", "Bearer key")], "{}", client.id());
}

#[test]
fn a_new_file_has_our_entry() {
    for (client, path) in written() {
        let made = put(client, "", &path, &stdio());
        expect_file![fixture(client, "create", &path)].assert_eq(&made);
        check_meaning(client, "", &made, &path);
        assert_eq!(put(client, &made, &path, &stdio()), made);
        let taken = take(client, &made, &path);
        assert!(
            client.holds_nothing(&taken, &path).expect("a file that is read"),
            "{}: {taken}",
            client.id()
        );
        assert!(!client.holds_nothing(&made, &path).expect("a file that is read"));
        match client.no_remote() {
            Some(_) => assert!(client.put_entry("", &path, NAME, &http()).is_err()),
            None => {
                let made = put(client, "", &path, &http());
                expect_file![fixture(client, "create-http", &path)].assert_eq(&made);
                check_remote(client, &made, &path);
            }
        }
    }
}

#[test]
fn a_file_that_is_there_gets_our_entry_and_loses_it_again() {
    for (client, path) in written() {
        for case in CASES {
            let before = std::fs::read_to_string(fixture(client, &format!("{case}.before"), &path));
            // Its JSON has no comments.
            if client.id() == "copilot" && case == "comments" {
                continue;
            }
            let before = before.unwrap_or_else(|_| panic!("{} has no {case}.before", client.id()));
            let after = put(client, &before, &path, &stdio());
            expect_file![fixture(client, &format!("{case}.after"), &path)].assert_eq(&after);
            check_meaning(client, &before, &after, &path);
            assert_eq!(put(client, &after, &path, &stdio()), after, "{}", client.id());
            assert_eq!(take(client, &after, &path), before, "{}", client.id());
            // From one way to reach us to the other and back.
            if client.no_remote().is_none() {
                let remote = put(client, &after, &path, &http());
                assert_eq!(take(client, &remote, &path), before, "{}", client.id());
            }
        }
    }
}

// As editors on Windows leave them, and without a line end behind the last line.
#[test]
fn line_ends_and_the_byte_order_mark_stay() {
    let crlf = |text: &str| text.replace('\n', "\r\n");
    let marked = |text: &str| format!("\u{feff}{text}");
    let both = |text: &str| marked(&crlf(text));
    let unended = |text: &str| text.trim_end_matches('\n').to_owned();
    for (client, path) in written() {
        let before = std::fs::read_to_string(fixture(client, "append.before", &path)).expect("a fixture");
        let after = put(client, &before, &path, &stdio());
        for form in [&crlf as &dyn Fn(&str) -> String, &marked, &both, &unended] {
            let (before, after) = (form(&before), form(&after));
            let found = put(client, &before, &path, &stdio());
            assert_eq!(found, after, "{}", client.id());
            assert_eq!(take(client, &found, &path), before, "{}", client.id());
        }
    }
}

#[test]
fn a_broken_file_is_refused() {
    for (client, path) in written() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients");
        let text = std::fs::read_to_string(folder.join(format!("broken.{}", extension(&path))));
        let text = text.expect("a fixture");
        let put = client.put_entry(&text, &path, NAME, &stdio());
        let take = client.take_entry(&text, &path, NAME);
        for refused in [put, take] {
            let said = refused.expect_err("a broken file").to_string();
            assert!(said.contains(&path.display().to_string()), "{}: {said}", client.id());
        }
    }
}

// Other settings and no servers yet, or nothing that counts.
#[test]
fn a_file_without_servers_gets_our_entry() {
    let texts = |path: &Path| match extension(path) {
        "toml" => ["", "\n", "# mine\n", "theme = \"dark\"\n", "[ui]\ntheme = \"dark\" # mine\n"],
        "yaml" => ["", "\n", "# mine\n", "theme: dark\n", "ui: # mine\n  theme: dark\n"],
        _ => ["", "\n", "{}", "{\n}\n", "{\n  \"theme\": \"dark\"\n}\n"],
    };
    for (client, path) in written() {
        for text in texts(&path) {
            let after = put(client, text, &path, &stdio());
            assert_eq!(client.names_in(&after, &path).expect("names"), [NAME], "{}: {after}", client.id());
            check_meaning(client, "", &after, &path);
            let taken = take(client, &after, &path);
            assert!(client.names_in(&taken, &path).expect("names").is_empty(), "{}: {taken}", client.id());
            let is_nothing = !text.contains("theme");
            let holds_nothing = client.holds_nothing(&taken, &path).expect("a file that is read");
            assert_eq!(holds_nothing, is_nothing, "{}: {taken}", client.id());
            assert_eq!(taken.contains("mine"), text.contains("mine"), "{}: {taken}", client.id());
        }
    }
}

// Whatever is in a file: what we put in, and only that, comes out again.
#[test]
fn any_file_keeps_what_is_not_ours() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut tried = 0;
    for folder in ["fixtures", "fixtures/clients", "../../fuzz/seeds/config"] {
        for file in std::fs::read_dir(root.join(folder)).expect("a folder") {
            let Ok(text) = std::fs::read_to_string(file.expect("a file").path()) else { continue };
            for (client, path) in written() {
                let Ok(names) = client.names_in(&text, &path) else { continue };
                let Ok(after) = client.put_entry(&text, &path, NAME, &stdio()) else { continue };
                assert!(client.entry_in(&after, &path, NAME).expect("a file").is_some(), "{after}");
                if !names.iter().any(|name| name == NAME) {
                    let taken = client.take_entry(&after, &path, NAME).expect("what was put in");
                    assert_eq!(
                        client.names_in(&taken, &path).expect("names"),
                        names,
                        "{}: {taken}",
                        client.id()
                    );
                    tried += 1;
                }
            }
        }
    }
    assert!(tried > 200, "{tried}");
}
