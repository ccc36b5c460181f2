//! Several processes at one store. Each is this test binary, told by variables what to do.

use std::process::{Child, Command, Stdio};

use super::*;

const HOME: &str = "MANIFOLD_TEST_HOME";
const WRITER: &str = "MANIFOLD_TEST_WRITER";
const WITH_KEY: &str = "MANIFOLD_TEST_KEY";
const WRITERS: usize = 5;
const SAVES: usize = 200;
const CREDENTIALS: usize = 50;

/// Returns this binary, to run one test of it that does nothing unless it is told to.
pub(super) fn as_child(test: &str, home: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", &format!("store::tests::{test}")]).env(HOME, home);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Returns the folder a child is to work in; none where nobody asked.
pub(super) fn home_of_child() -> Option<PathBuf> {
    std::env::var_os(HOME).map(Into::into)
}

fn store(home: &Path, key: Option<&str>) -> Store {
    Store::open(home, Keys::with(key.map(given), Home::new().keyring, home))
}

fn save(store: &Store, writer: &str) {
    for save in 0..SAVES {
        let login = Name::oauth(&format!("login {}", save % CREDENTIALS)).unwrap();
        // As a refresh does it: locked, read, compared, written.
        let _lock = store.lock_credential(&login).unwrap();
        let generation = store.load(&login).unwrap().map(|(entry, _)| entry.generation);
        store.set_if_generation(&login, &Value::new(format!("{writer}-{save}")), generation).unwrap();
    }
}

#[test]
fn child() {
    let (Some(home), Ok(writer)) = (home_of_child(), std::env::var(WRITER)) else { return };
    save(&store(&home, std::env::var(WITH_KEY).ok().as_deref()), &writer);
}

/// A thousand saves of fifty credentials, none lost: each file has counted every change of it.
fn check_thousand_saves(key: Option<&str>) {
    let home = tempfile::tempdir().unwrap();
    let writers: Vec<Child> = (0..WRITERS)
        .map(|writer| {
            let mut command = as_child("processes::child", home.path());
            command.env(WRITER, writer.to_string()).envs(key.map(|key| (WITH_KEY, key)));
            command.spawn().unwrap()
        })
        .collect();
    let ended: Vec<bool> = writers.into_iter().map(|mut writer| writer.wait().unwrap().success()).collect();
    assert_eq!(ended, [true; WRITERS]);
    let listed = store(home.path(), key).check().unwrap();
    let generations: Vec<u64> = listed.into_iter().map(|listed| listed.entry.unwrap().generation).collect();
    assert_eq!(generations, [(WRITERS * SAVES / CREDENTIALS) as u64; CREDENTIALS]);
    let mut names = home.path().join("manifold/credentials").read_dir().unwrap();
    assert!(!names.any(|name| name.unwrap().file_name().to_string_lossy().starts_with(".part")));
}

#[test]
fn many_processes_lose_nothing_in_a_plain_store() {
    check_thousand_saves(None);
}

#[test]
fn many_processes_lose_nothing_in_a_sealed_store() {
    check_thousand_saves(Some(KEY));
}
