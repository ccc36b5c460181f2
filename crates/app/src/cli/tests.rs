use super::*;

#[track_caller]
fn check(line: &str, expected: Task) {
    let args = line.split_whitespace().map(OsString::from);
    match parse(args) {
        Ok(invocation) => assert_eq!(invocation.task, expected, "{line}"),
        Err(_) => panic!("{line} is refused"),
    }
}

#[track_caller]
fn check_refused(line: &str) {
    assert!(parse(line.split_whitespace().map(OsString::from)).is_err(), "{line} is accepted");
}

#[test]
fn one_grammar_for_every_seed() {
    check("manifold", Task::Http); // S0-1
    check("manifold --http", Task::Http); // S0-1
    check("mcps-proxy", Task::Http); // S0-1
    check("manifold --stdio", Task::Stdio); // S0-4
    check("/usr/local/bin/mcps-proxy --stdio --schema=workspace", Task::Stdio); // S0-5
    check("mcps-proxy --stdio --schema workspace", Task::Stdio); // S0-5
    check("manifold serve", Task::Stdio); // S1-3
    check("manifold serve --stdio --config ~/x.json --namespace work --log-level debug --eager", Task::Stdio);
    check("manifold serve --http", Task::Http);
    check("mcp-all-in-one stdio --mcp-config mcp.json", Task::Stdio); // S3-1
    check("mcp-all-in-one http -p 4000 --host 127.0.0.1 -l debug -s", Task::Http);
    check("manifold status", Task::Status(StatusArgs::default())); // S1-1
    check("manifold litemcp", Task::LiteMcp { tool: None });
    check("manifold litemcp --tool t__now", Task::LiteMcp { tool: Some("t__now".to_owned()) });
    check("manifold tui", Task::Tui(TuiArgs::default())); // S1-1
    check("manifold config check x.json", Task::ConfigCheck { file: Some("x.json".into()), json: false });
    check(
        "mcp-all-in-one --validate-mcp-config x.json",
        Task::ConfigCheck { file: Some("x.json".into()), json: false },
    );
    check("manifold config schema", Task::ConfigSchema);
    let list = ServerCommand::List(forms::ListForm { json: false, quiet: true });
    check("manifold ls -q --config x.json", Task::Servers(list));
    check("mcp-studio", Task::Help);
    check("mcp-all-in-one", Task::Help);
}

#[test]
fn what_cannot_be_meant_is_refused() {
    check_refused("manifold --stdio --http"); // S0-15
    check_refused("manifold --http --stdio"); // S0-15
    check_refused("manifold serve --http --stdio"); // S0-15
    check_refused("manifold stdio --http");
    check_refused("manifold http --stdio");
    check_refused("manifold litemcp --http");
    check_refused("manifold litemcp --port 4000");
    check_refused("manifold litemcp --framing newline");
    check_refused("manifold --stdio --port 4000");
    check_refused("mcps-proxy --http --schema workspace"); // decision 4
    check_refused("manifold --nonsense");
    check_refused("manifold serve --log-level loud");
    check_refused("manifold config");
    check_refused("manifold list --port 4000");
    check_refused("manifold list -q --json");
}

// Two tokens or one, both flags name the same thing.
#[test]
fn aliases_are_one_flag() {
    for line in
        ["m --stdio --schema w", "m --stdio --schema=w", "m serve --namespace w", "m --namespace=w --stdio"]
    {
        let invocation = parse(line.split(' ').map(OsString::from)).unwrap();
        assert_eq!(invocation.flags.namespace.as_deref(), Some("w"), "{line}");
    }
    for line in ["m --stdio --config c", "m --stdio --mcp-config c", "m --stdio -c c", "m -c c serve"] {
        let invocation = parse(line.split(' ').map(OsString::from)).unwrap();
        assert_eq!(invocation.flags.config.as_deref(), Some(Path::new("c")), "{line}");
    }
}

// S1-9
#[test]
fn stdio_mode_is_told_from_wrong_lines_too() {
    let stdio = |line: &str| speaks_stdio(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
    assert!(stdio("m serve --nonsense"));
    assert!(stdio("m --stdio --http"));
    assert!(stdio("m serve --stdio --help"));
    assert!(!stdio("m --help"));
    assert!(!stdio("m serve --http --help"));
}

#[test]
fn every_command_is_on_the_first_page() {
    let page = help();
    let shown: Vec<&str> = page
        .lines()
        .skip_while(|line| *line != "Servers:")
        .take_while(|line| !line.starts_with("Options"))
        .filter_map(|line| line.strip_prefix("  ")?.split("  ").next())
        .flat_map(|names| names.split(", "))
        .collect();
    let mut commands: Vec<String> =
        Cli::command().get_subcommands().map(|one| one.get_name().to_owned()).collect();
    let mut shown: Vec<String> = shown.into_iter().map(str::to_owned).collect();
    commands.sort();
    shown.sort();
    assert_eq!(shown, commands);
}

// What a verb asks or orders is a route of the control API; others serve, or read files.
#[test]
fn every_verb_has_its_route() {
    let local = [
        "serve",
        "stdio",
        "http",
        "litemcp",
        "tui",
        "config schema",
        "completions",
        "man",
        "search",
        "secret set",
        "secret list",
        "secret rm",
        "secret rekey",
        "secret export",
        "secret import",
        "token create",
        "token list",
        "token revoke",
        "record show",
        "replay diff",
    ];
    let of_files = ["init"];
    let of_this_process =
        ["daemon run", "daemon self-check", "daemon start", "daemon install", "daemon uninstall"];
    let routed: Vec<&str> = manifold_admin::ROUTES.iter().flat_map(|route| route.verbs).copied().collect();
    for command in Cli::command().get_subcommands() {
        let name = command.get_name();
        let below: Vec<String> =
            command.get_subcommands().map(|below| format!("{name} {}", below.get_name())).collect();
        for verb in if below.is_empty() { vec![name.to_owned()] } else { below } {
            let group = verb.split(' ').next().unwrap_or_default();
            let is_known = local.contains(&verb.as_str())
                || of_files.contains(&verb.as_str())
                || of_this_process.contains(&verb.as_str());
            let is_routed = routed.contains(&verb.as_str()) || routed.contains(&group);
            assert!(is_known || is_routed, "`{verb}` comes to no route");
        }
    }
    let cli = Cli::command();
    for verb in routed {
        let found = verb.split(' ').try_fold(&cli, |command, word| command.find_subcommand(word));
        assert!(found.is_some(), "no command is `{verb}`");
    }
}

#[test]
fn spans_are_read_as_people_write_them() {
    let seconds = |text| values::span(text).map(|span| span.as_secs()).ok();
    assert_eq!(["90", "30s", "10m", "2h", "1d"].map(seconds), [90, 30, 600, 7200, 86_400].map(Some));
    assert_eq!(
        ["", "m", "1y", "-1s", "99999999999999999999d", "9999999999999999999d"].map(seconds),
        [None; 6]
    );
}

#[test]
fn the_grammar_is_sound() {
    Cli::command().debug_assert();
}

/// Returns every line of our own in code on a page: those in blocks, and those between back quotes.
fn commands(page: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page);
    let text = std::fs::read_to_string(path).unwrap();
    let quoted = text.split('`').skip(1).step_by(2).flat_map(str::lines);
    // What the shell takes for itself ends the command.
    let lines = text.lines().chain(quoted).filter_map(|line| line.split(['&', '|', '>', '#']).next());
    let lines = lines.map(str::trim);
    lines.filter(|line| *line == "manifold" || line.starts_with("manifold ")).map(str::to_owned).collect()
}

#[test]
fn every_command_on_the_pages_is_understood() {
    for page in ["README.md", "docs/cli.md", "docs/calling.md", "docs/config.md", "docs/litemcp.md"] {
        for line in commands(page) {
            let refused = parse(line.split_whitespace().map(OsString::from)).err();
            // Help is told by way of an error.
            let wrong = refused.filter(|_| !line.contains("--help"));
            assert!(wrong.is_none(), "{page}: {line}");
        }
    }
    assert!(commands("README.md").len() >= 6);
}

/// How it serves is in its config, or by pipes that others open.
#[test]
fn the_daemon_takes_no_word_on_how_it_serves() {
    for flag in ["--http", "--stdio"] {
        for command in ["daemon", "daemon run", "daemon start", "daemon status"] {
            check_refused(&format!("manifold {command} {flag}"));
        }
    }
    check("manifold daemon start", Task::Daemon(DaemonCommand::Start(Default::default())));
}
