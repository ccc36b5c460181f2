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
    check("manifold status", Task::Status { json: false }); // S1-1
    check("manifold litemcp", Task::LiteMcp { tool: None });
    check("manifold litemcp --tool t__now", Task::LiteMcp { tool: Some("t__now".to_owned()) });
    check("manifold tui", Task::NotYet("tui")); // S1-1
    check("manifold config check x.json", Task::ConfigCheck { file: Some("x.json".into()), json: false });
    check(
        "mcp-all-in-one --validate-mcp-config x.json",
        Task::ConfigCheck { file: Some("x.json".into()), json: false },
    );
    check("manifold config schema", Task::ConfigSchema);
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
    for page in ["README.md", "docs/config.md", "docs/litemcp.md", "docs/calling.md"] {
        for line in commands(page) {
            let refused = parse(line.split_whitespace().map(OsString::from)).err();
            // Help is told by way of an error.
            let wrong = refused.filter(|_| !line.contains("--help"));
            assert!(wrong.is_none(), "{page}: {line}");
        }
    }
    assert!(commands("README.md").len() >= 6);
}
