//! Finds where in `manifold add npx -y x` the server's own command line begins, and marks it as `--` would.

use std::ffi::OsString;
use std::path::Path;

use clap::Command;

/// Programs that are the first word of a command more likely than a server's name.
const RUNNERS: [&str; 24] = [
    "npx", "bunx", "pnpx", "uvx", "uv", "pipx", "docker", "podman", "node", "deno", "bun", "npm", "pnpm",
    "yarn", "python", "python3", "java", "dotnet", "go", "cargo", "claude", "codex", "gemini", "code",
];

/// Returns the command line with a `--` before the command of `add`, where somebody left it out.
pub(in crate::cli) fn with_command_marked(args: Vec<OsString>, grammar: &Command) -> Vec<OsString> {
    match place(&args, grammar) {
        Some(at) => {
            let mut marked = args;
            marked.insert(at, "--".into());
            marked
        }
        None => args,
    }
}

/// Returns where the mark belongs; `None`: nowhere, or it is there.
fn place(args: &[OsString], grammar: &Command) -> Option<usize> {
    let add = grammar.find_subcommand("add")?;
    let mut words = Words { args, at: 1, grammar, add: None };
    if words.next()?.1 != "add" {
        return None;
    }
    words.add = Some(add);
    let (at, first) = words.next()?;
    // Another program's command for adding servers may have a mark of its own.
    let follows = |word: &str| args.get(at + 1).is_some_and(|next| next == word);
    let adds = args.get(at + 2).is_some_and(|word| word == "add" || word == "add-json");
    if follows("mcp") && adds && args.get(at - 1).is_some_and(|before| before != "--") {
        return Some(at);
    }
    if args.iter().any(|arg| arg == "--") {
        return None;
    }
    // A bundle that is there is no name, and nothing after it a command.
    if first.ends_with(".mcpb") && Path::new(first).is_file() {
        return None;
    }
    let second = words.next();
    let is_name_too = second.is_some_and(|(_, second)| second == first);
    if RUNNERS.contains(&first) && !is_name_too {
        return Some(at);
    }
    // A command of several words in one is cut into words later.
    let (at, second) = second?;
    let is_one_thing = second.contains("://")
        || second.contains(char::is_whitespace)
        || second.starts_with(['{', '['])
        || second.ends_with(".mcpb")
        || is_of_registry(second)
        || second == "-";
    (!is_one_thing).then_some(at)
}

/// Returns whether it is a name such as `io.github.somebody/something`, and no program here.
fn is_of_registry(word: &str) -> bool {
    let is_name =
        word.split_once('/').is_some_and(|(space, _)| space.contains('.') && !space.starts_with('.'));
    is_name && !Path::new(word).exists()
}

/// The words of a command line that are neither options nor their values.
struct Words<'a> {
    args: &'a [OsString],
    at: usize,
    grammar: &'a Command,
    add: Option<&'a Command>,
}

impl<'a> Iterator for Words<'a> {
    type Item = (usize, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let at = self.at;
            let word = self.args.get(at)?.to_str()?;
            self.at += 1;
            if word == "-" || !word.starts_with('-') {
                return Some((at, word));
            }
            if self.takes_next(word) {
                self.at += 1;
            }
        }
    }
}

impl Words<'_> {
    /// Returns whether the word after an option is its value.
    fn takes_next(&self, option: &str) -> bool {
        let mut known = self.add.into_iter().chain([self.grammar]).flat_map(Command::get_arguments);
        let found = match option.strip_prefix("--") {
            Some(long) if long.contains('=') => None,
            Some(long) => known.find(|arg| {
                let aliases = arg.get_all_aliases().unwrap_or_default();
                arg.get_long() == Some(long) || aliases.contains(&long)
            }),
            // `-eNAME=VALUE` has its value with it.
            None if option.chars().count() > 2 => None,
            None => known.find(|arg| arg.get_short() == option.chars().nth(1)),
        };
        found.is_some_and(|arg| arg.get_action().takes_values())
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    #[track_caller]
    fn check(line: &[&str], expected: &[&str]) {
        let args = line.iter().map(OsString::from).collect();
        let expected: Vec<OsString> = expected.iter().map(OsString::from).collect();
        assert_eq!(with_command_marked(args, &Cli::command()), expected);
    }

    fn unmarked(line: &[&str]) {
        check(line, line);
    }

    #[test]
    fn a_command_is_marked_where_it_begins() {
        check(&["m", "add", "npx", "-y", "x"], &["m", "add", "--", "npx", "-y", "x"]);
        check(&["m", "add", "fs", "npx", "-y", "x"], &["m", "add", "fs", "--", "npx", "-y", "x"]);
        check(
            &["m", "-c", "add", "add", "-e", "A=1", "docker", "run", "-e", "B", "i"],
            &["m", "-c", "add", "add", "-e", "A=1", "--", "docker", "run", "-e", "B", "i"],
        );
        check(&["m", "add", "tickets", "ticket-server"], &["m", "add", "tickets", "--", "ticket-server"]);
        check(
            &["m", "add", "git", "--force", "uvx", "--x"],
            &["m", "add", "git", "--force", "--", "uvx", "--x"],
        );
        check(&["m", "add", "docker", "docker", "run"], &["m", "add", "docker", "--", "docker", "run"]);
        check(
            &["m", "add", "claude", "mcp", "add", "--transport", "http", "s", "https://x"],
            &["m", "add", "--", "claude", "mcp", "add", "--transport", "http", "s", "https://x"],
        );
        check(
            &["m", "add", "--force", "amp", "mcp", "add", "-s", "user", "x", "--", "npx", "-y", "y"],
            &["m", "add", "--force", "--", "amp", "mcp", "add", "-s", "user", "x", "--", "npx", "-y", "y"],
        );
    }

    #[test]
    fn what_is_plain_stays() {
        unmarked(&["m", "add", "git", "--", "uvx", "mcp-server-git"]);
        unmarked(&["m", "add", "npx", "--", "npx", "-y"]);
        unmarked(&["m", "add", "--", "claude", "mcp", "add", "x", "--", "npx"]);
        unmarked(&["m", "add", "docs", "https://docs.example/mcp", "-H", "A: b"]);
        unmarked(&["m", "add", "docs", "-H", "A: b", "https://docs.example/mcp"]);
        unmarked(&["m", "add", "npx -y x"]);
        unmarked(&["m", "add", "fs", "npx -y x", "--force"]);
        unmarked(&["m", "add", "fs", "{\"command\": \"x\"}"]);
        unmarked(&["m", "add", "--registry", "io.github.x/y", "y"]);
        unmarked(&["m", "add", "y", "io.github.x/y", "--version", "1"]);
        unmarked(&["m", "add", "x.mcpb"]);
        let folder = tempfile::tempdir().expect("a folder");
        let bundle = folder.path().join("x.mcpb").display().to_string();
        check(&["m", "add", &bundle, "y"], &["m", "add", &bundle, "--", "y"]);
        std::fs::write(&bundle, "").expect("a file");
        unmarked(&["m", "add", &bundle, "y", "--set", "a=b", "--json"]);
        unmarked(&["m", "add"]);
        unmarked(&["m", "get", "npx", "-y", "x"]);
        unmarked(&["m", "call", "add", "npx"]);
    }
}
