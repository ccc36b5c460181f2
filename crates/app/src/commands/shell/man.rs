//! Manual pages, made of the same grammar as the help.

use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::process::ExitCode;

use clap_mangen::Man;

use super::super::{fail, print};
use crate::cli::{self, USAGE};

/// Prints the page of a command, or of the program: for `man` in a pipe, for people on a terminal.
pub(super) fn print_page(verb: &[String]) -> ExitCode {
    // `daemon start` is as good as `daemon` `start`.
    let verb: Vec<&str> = verb.iter().flat_map(|words| words.split_whitespace()).collect();
    let Some(mut command) = find(&verb) else {
        return fail(
            &format!("there is no command `{}`; `manifold --help` lists them", verb.join(" ")),
            USAGE,
        );
    };
    if io::stdout().is_terminal() {
        return print(&command.render_long_help().to_string());
    }
    match page(command) {
        Ok(page) => print(&page),
        Err(error) => fail(&format!("the page cannot be written: {error}"), 1),
    }
}

/// Writes a page for every command.
pub(super) fn write_all(folder: &Path) -> ExitCode {
    let written =
        std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(cli::command(), folder));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&format!("cannot write to {}: {error}", folder.display()), 1),
    }
}

fn find(verb: &[&str]) -> Option<clap::Command> {
    verb.iter().try_fold(cli::command(), |command, word| command.find_subcommand(word).cloned())
}

fn page(command: clap::Command) -> io::Result<String> {
    let mut page = Vec::new();
    Man::new(command).render(&mut page)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

#[cfg(test)]
#[test]
fn every_command_has_a_page() {
    let text = page(find(&["call"]).unwrap()).unwrap();
    assert!(text.contains(".TH manifold-call 1"), "{text}");
    assert!(text.contains("\\-\\-timeout") && !text.contains("\\-\\-tls\\-cert"), "{text}");
    assert!(page(find(&["daemon", "start"]).unwrap()).unwrap().contains(".TH manifold-daemon-start 1"));
    assert!(find(&["cal"]).is_none());
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(write_all(folder.path()), ExitCode::SUCCESS);
    let pages = std::fs::read_dir(folder.path()).unwrap().count();
    assert!(pages > 12, "{pages}");
    assert!(folder.path().join("manifold-call.1").exists() && folder.path().join("manifold.1").exists());
}
