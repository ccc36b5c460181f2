//! What a person sees: a real terminal, by way of `script`, which the system has or has not.

use std::process::{Command, Stdio};

use crate::fake::{Gateway, ran};
use crate::{files, git, snapshot};

/// Runs a command on a terminal of this width and returns what it wrote there; `None`: there is no such program.
fn on_terminal(gateway: &Gateway, line: &str, width: usize, more: &[(&str, &str)]) -> Option<String> {
    Command::new("script").arg("--version").output().ok()?;
    let plain = gateway.command(line);
    let program = plain.get_program().to_str()?;
    let mut script = Command::new("script");
    script.arg("-qec").arg(format!("stty rows 24 cols {width} && exec {program} {line}")).arg("/dev/null");
    script.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    script.env("TERM", "xterm").env("SHELL", "/bin/sh").envs(more.iter().copied());
    script.current_dir(gateway.sandbox.home()).stdin(Stdio::null());
    Some(ran(script).stdout.replace('\r', ""))
}

#[test]
fn a_terminal_gets_a_table_of_its_width_in_colours() {
    let gateway = Gateway::new().says("GET /v1/snapshot", &snapshot(vec![git(), files()]));
    let Some(shown) = on_terminal(&gateway, "list", 60, &[]) else {
        println!("not run: there is no `script`");
        return;
    };
    assert!(shown.starts_with("\u{1b}[1mID\u{1b}[0m"), "{shown:?}");
    assert!(
        shown.contains("\u{1b}[32mready\u{1b}[0m") && shown.contains("\u{1b}[31mfailed\u{1b}[0m"),
        "{shown:?}"
    );
    assert!(shown.contains("it said \\u{1b}[31m"), "what a server says is shown and not obeyed: {shown:?}");
    let plain = on_terminal(&gateway, "list", 60, &[("NO_COLOR", "1")]).expect("it was there before");
    assert!(!plain.contains('\u{1b}'), "{plain:?}");
    assert!(plain.lines().all(|line| line.chars().count() <= 60), "{plain}");
    assert!(plain.lines().any(|line| line.ends_with('…')), "{plain}");
    let dumb = on_terminal(&gateway, "list", 60, &[("TERM", "dumb")]).expect("it was there before");
    assert_eq!(dumb, plain);
}
