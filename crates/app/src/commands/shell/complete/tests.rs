use super::*;

#[test]
fn every_shell_is_told_how_to_ask() {
    for shell in [ShellArg::Bash, ShellArg::Zsh, ShellArg::Fish] {
        let script = registration(shell).unwrap();
        assert!(script.contains("MANIFOLD_COMPLETE") && script.contains("manifold"), "{shell:?}: {script}");
    }
    assert!(registration(ShellArg::Zsh).unwrap().starts_with("#compdef manifold"));
    let script = registration(ShellArg::Nushell).unwrap();
    assert!(script.contains("export extern \"manifold call\" ["), "{script}");
    assert!(script.contains("    address: string@\"nu-complete manifold words\""), "{script}");
    assert_eq!(script.matches("def \"nu-complete manifold words\"").count(), 1);
}

#[test]
fn the_tool_is_known_once_it_is_typed() {
    let tool = |line: &str| {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        after(&words, "call").map(str::to_owned)
    };
    assert_eq!(tool("manifold call t__add a"), Some("t__add".to_owned()));
    assert_eq!(tool("manifold call --json t__add "), Some("t__add".to_owned()));
    assert_eq!(tool("manifold call t__a"), None);
    assert_eq!(tool("manifold tools "), None);
}
