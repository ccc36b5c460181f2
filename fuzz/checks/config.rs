//! No file makes the loader panic, and no problem it reports shows a value of a variable.

use std::path::Path;

use manifold_config::{Environment, LoadOptions, load_text};

pub(crate) fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut environment = Environment { cwd: "/".into(), ..Environment::default() };
    environment.vars.insert("S".to_owned(), "top-secret-value".to_owned());
    let options = LoadOptions { environment, ..LoadOptions::default() };
    for name in ["c.json", "c.toml", "c.yaml"] {
        let shown = match load_text(text, Some(Path::new(name)), &options) {
            Ok(config) => format!("{:?}", config.problems),
            Err(error) => error.to_string(),
        };
        assert!(!shown.contains("top-secret-value"));
    }
}
