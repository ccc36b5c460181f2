//! No file makes the loader, an edit or an import panic, and no problem that is reported shows a value of a variable.

use std::path::Path;

use manifold_config::{Edit, Environment, LoadOptions, apply, load_text, plan_import, servers_in};

pub(crate) fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut environment = Environment { cwd: "/".into(), ..Environment::default() };
    environment.vars.insert("S".to_owned(), "top-secret-value".to_owned());
    let options = LoadOptions { environment, ..LoadOptions::default() };
    for name in ["c.json", "c.toml", "c.yaml"] {
        let loaded = load_text(text, Some(Path::new(name)), &options);
        let shown = match &loaded {
            Ok(config) => format!("{:?}", config.problems),
            Err(error) => error.to_string(),
        };
        assert!(!shown.contains("top-secret-value"));
        check_import(text, name, &options);
        let first = loaded.ok().and_then(|config| Some(config.servers.first()?.key.id.clone()));
        check_edits(text, name, &first.unwrap_or_default(), &options);
    }
}

/// What is imported from a file is planned whole, and nothing but entries shows what stands in them.
fn check_import(text: &str, name: &str, options: &LoadOptions) {
    let Ok(found) = servers_in(text, Path::new(name), None, &options.environment) else { return };
    let plan = plan_import(&[], &found);
    assert_eq!(plan.outcomes.len(), found.len());
    let mut ids: Vec<&str> = plan.added.iter().map(|added| added.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), plan.added.len());
    assert!(!format!("{found:?}").contains("top-secret-value"));
}

/// An edit that is made twice changes nothing the second time.
fn check_edits(text: &str, name: &str, id: &str, options: &LoadOptions) {
    let entry = r#"{"command": "x", "env": {"A": "b"}}"#.to_owned();
    let id = id.to_owned();
    let edits = [
        Edit::SetEnabled { id: id.clone(), enabled: false },
        Edit::SetEnabled { id: id.clone(), enabled: true },
        Edit::PutServer { id: "new".to_owned(), entry },
    ];
    for edit in &edits {
        if let Ok(new) = apply(text, Some(Path::new(name)), edit, options) {
            assert_eq!(apply(&new, Some(Path::new(name)), edit, options), Ok(new));
        }
    }
    for edit in [Edit::RenameServer { id: id.clone(), to: "other".to_owned() }, Edit::RemoveServer { id }] {
        let _ = apply(text, Some(Path::new(name)), &edit, options);
    }
}
