//! What this crate's tests share.

use std::path::Path;

use crate::environment::Environment;
use crate::load::{LoadError, LoadOptions, load_text};
use crate::model::{Config, Server};
use crate::secrets::Secrets;

/// A value that must not turn up in any output.
pub(crate) const SECRET: &str = "hunter2-hunter2";

/// An environment with a home, a few variables, and no programs at all.
pub(crate) fn environment() -> Environment {
    let vars = [("KEY", SECRET), ("NAME", "ann"), ("EMPTY", ""), ("TRICK", "${NAME} ~/x"), ("PATH", "")];
    Environment {
        vars: vars.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        home: Some("/home/ann".into()),
        cwd: "/".into(),
        program: None,
        secrets: Secrets::default(),
    }
}

pub(crate) fn options() -> LoadOptions {
    LoadOptions { environment: environment(), ..LoadOptions::default() }
}

pub(crate) fn try_load(text: &str) -> Result<Config, LoadError> {
    load_text(text, Some(Path::new("config.json")), &options())
}

pub(crate) fn load(text: &str) -> Config {
    try_load(text).expect("a configuration that loads")
}

/// Returns every problem on a line of its own, fatal or not.
pub(crate) fn problems(text: &str) -> String {
    let problems = try_load(text).map_or_else(|error| error.problems, |config| config.problems);
    problems.iter().map(|problem| format!("{problem}\n")).collect()
}

/// Adds a server to settings: a file without any is told of.
pub(crate) fn with_server(settings: &str) -> String {
    settings.replacen('{', r#"{"mcpServers": {"t": {"builtin": "time"}}, "#, 1)
}

pub(crate) fn server<'a>(config: &'a Config, id: &str) -> &'a Server {
    config.servers.iter().find(|server| server.key.id == id).expect("a server of that id")
}

/// Makes a directory with programs of these names in it, to be used as `PATH`.
#[cfg(unix)]
pub(crate) fn programs(names: &[&str]) -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt as _;

    let directory = tempfile::tempdir().unwrap();
    for name in names {
        let path = directory.path().join(name);
        std::fs::write(&path, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    directory
}
