//! The user's browser: what `$BROWSER` names, else whatever the desktop opens addresses with. No shell has a part in it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use manifold_config::Environment;

/// Has the browser show an address. Says why it cannot.
pub(crate) fn open(url: &str, environment: &Environment) -> Result<(), String> {
    let variable = |name: &str| environment.vars.get(name).filter(|value| !value.trim().is_empty());
    let named = variable("BROWSER");
    let has_screen = ["DISPLAY", "WAYLAND_DISPLAY"].into_iter().any(|name| variable(name).is_some());
    if named.is_none() && !has_screen && cfg!(target_os = "linux") {
        return Err("there is no screen to open a browser on".to_owned());
    }
    let usual = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let commands = named.map_or(usual, String::as_str);
    // A program whose name has a slash, a space or a colon in it is one all the same.
    let whole = named.filter(|named| named.contains(['/', ' ', ':']));
    let whole = whole.and_then(|named| match Path::new(named).is_file() {
        true => Some(PathBuf::from(named)),
        false => find(named, environment),
    });
    if let Some(program) = whole {
        return match run(&program, &[url.to_owned()], environment) {
            true => Ok(()),
            false => Err(format!("no browser could be started ({})", program.display())),
        };
    }
    // As others read it: several, with a colon between; `%s` is where the address goes.
    for command in commands.split(':').filter(|command| !command.trim().is_empty()) {
        if start(command, url, environment) {
            return Ok(());
        }
    }
    Err(format!("no browser could be started ({commands})"))
}

fn start(command: &str, url: &str, environment: &Environment) -> bool {
    let mut words: Vec<String> = command.split_whitespace().map(|word| word.replace("%s", url)).collect();
    if !command.contains("%s") {
        words.push(url.to_owned());
    }
    let Some((program, arguments)) = words.split_first() else { return false };
    let Some(program) = find(program, environment) else { return false };
    run(&program, arguments, environment)
}

fn run(program: &Path, arguments: &[String], environment: &Environment) -> bool {
    let mut command = Command::new(program);
    // What is meant for us alone is none of its business: our key may be among it.
    let theirs = environment.vars.iter().filter(|(name, _)| !name.starts_with("MANIFOLD_"));
    command
        .args(arguments)
        .env_clear()
        .envs(theirs)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // It may stay for as long as its window; nobody waits for it.
    command.spawn().is_ok()
}

/// Looks for a program where the user's shell would.
fn find(program: &str, environment: &Environment) -> Option<PathBuf> {
    let path = environment.vars.get("PATH")?;
    which::which_in(program, Some(path), &environment.cwd).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(vars: &[(&str, &str)]) -> Environment {
        let vars = vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Environment { vars, ..Environment::default() }
    }

    #[test]
    fn without_a_screen_or_a_browser_the_reason_is_told() {
        let why = open("http://127.0.0.1:1/ui/", &environment(&[("PATH", "/bin:/usr/bin")])).unwrap_err();
        assert_eq!(why, "there is no screen to open a browser on");
        let none = environment(&[("PATH", "/nowhere"), ("BROWSER", "a-browser %s:another")]);
        let why = open("http://127.0.0.1:1/ui/", &none).unwrap_err();
        assert_eq!(why, "no browser could be started (a-browser %s:another)");
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("my browser");
        std::fs::write(&program, "").unwrap();
        let named = program.to_str().unwrap();
        let why = open("http://127.0.0.1:1/ui/", &environment(&[("PATH", "/nowhere"), ("BROWSER", named)]))
            .unwrap_err();
        assert_eq!(
            why,
            format!("no browser could be started ({named})"),
            "it is one program, which does not start"
        );
        let found = folder.path().to_str().unwrap();
        std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        std::fs::write(&program, "#!/bin/sh\n").unwrap();
        open("http://127.0.0.1:1/ui/", &environment(&[("PATH", found), ("BROWSER", "my browser")])).unwrap();
    }
}
