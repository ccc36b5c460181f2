//! The terminal interface in a real terminal: what a person does with it, and the terminal as it was afterwards.

mod pty;
mod secrets;
mod speed;

use manifold_testkit::{fake, until};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::SOON;
use crate::home::{Home, signal};
use pty::Tui;

fn servers() -> Value {
    let echo = json!({
        "name": "echo",
        "description": "Says it back",
        "inputSchema": {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}},
    });
    json!({
        "clock": {"builtin": "time"},
        "fx": fake(json!({"tools": [echo], "noise": true})),
        "hostile": {"command": "/bin/sh", "args": ["-c", "printf '\\033]52;c;aGk=\\007\\033[2Jhostile line\\n' >&2; exit 3"]},
    })
}

// S1-1, C6: the daily round, over a restart of the daemon.
#[test]
fn a_person_does_the_daily_round() {
    let home = Home::new(servers());
    let mut tui = Tui::open(&home, &[], (80, 24));
    tui.sees("live");
    let first = tui.sees("○ idle     fx");
    assert!(first.contains("1 Servers") && first.contains("? keys"), "{first}");

    // Starts a server; the selection stays with it.
    tui.types("j");
    tui.types("s");
    tui.sees("● ready    fx");

    // Calls a tool by the form of its schema.
    tui.types("2");
    tui.sees("fx__echo");
    tui.types("/echo\r");
    tui.sees("/echo");
    tui.types("c");
    tui.sees("Ctrl-S send");
    tui.types("hello there");
    tui.sees("hello there");
    tui.types("\u{13}");
    let result = tui.sees("· ok ·");
    assert!(result.contains("hello there"), "{result}");
    tui.types("\u{1b}");
    tui.loses("· ok ·");

    // Follows what a server writes, and finds what is wrong.
    tui.types("7");
    tui.types(":start hostile\r");
    tui.sees("7 Problems(1)");
    let wrong = tui.sees("✗ error");
    assert!(wrong.contains("hostile"), "{wrong}");
    tui.types("l");
    tui.sees("hostile line");

    // A window comes, and who would stop its server is told.
    let window = home.open();
    tui.types("1");
    tui.types("4");
    tui.sees("stdio");
    tui.types("1");
    tui.types("x");
    tui.sees("stop fx?");
    tui.sees("It is used by");
    tui.types("y");
    tui.sees("■ stopped  fx");

    // Sees another daemon come, and still has the server selected.
    let restarted = home.order(&["restart"]);
    assert!(restarted.status.success(), "{restarted:?}");
    tui.sees("○ idle     fx");
    tui.sees("live");
    assert!(
        tui.screen().lines().any(|line| line.starts_with('›') && line.contains("fx")),
        "{}",
        tui.screen()
    );

    // Any size.
    tui.resizes((160, 50));
    tui.sees("last calls");
    tui.resizes((39, 10));
    tui.sees("too small");
    tui.resizes((80, 24));
    tui.sees("? keys");
    tui.types("?");
    tui.sees("next-screen");
    tui.types("\r");
    tui.loses("next-screen");

    tui.types("q");
    assert_eq!(tui.ends(), Some(0));
    tui.left_the_terminal_as_it_was();
    // C7: the only control sequences in it are ours.
    assert!(
        !tui.written().windows(5).any(|part| part == b"\x1b]52;"),
        "what a server says reaches nobody's clipboard"
    );
    drop(window);
    home.wait_gone();
}

// S1-1: what passes is filtered, opened, recorded and made again.
#[test]
fn a_person_looks_at_the_traffic() {
    let home = Home::new(servers());
    let mut tui = Tui::open(&home, &[], (110, 30));
    tui.sees("live");
    let mut window = home.open();
    tui.types("3");
    tui.sees("f follow");
    let mut call = |text: &str| window.call("fx__echo", json!({"text": text}));
    // It may not watch yet when a call is made.
    let is_shown = until(SOON, || {
        call("a first one");
        tui.screen().contains("→ server")
    });
    assert!(is_shown, "{}", tui.screen());
    tui.types("/hop:client kind:request method:tools/call\r");
    tui.loses("→ server");
    let is_shown = until(SOON, || {
        call("a second one");
        tui.screen().contains("client →")
    });
    assert!(is_shown, "{}", tui.screen());
    tui.types("G");
    tui.types("\r");
    let frame = tui.sees("BODY");
    assert!(frame.contains("tools/call") && frame.contains("fx__echo"), "{frame}");
    tui.types("\u{1b}");
    tui.loses("BODY");

    tui.types("w");
    tui.sees("record the traffic");
    tui.types("\u{13}");
    tui.sees("● recording tui-1");
    call("a third one");
    tui.types("w");
    tui.loses("● recording tui-1");
    let file = home.sandbox.path(".local/state/manifold/recordings/tui-1.mfr");
    let recorded = std::fs::read_to_string(file).expect("the file is there");
    assert!(recorded.contains("a third one"), "{recorded}");

    tui.types("R");
    tui.sees("call fx__echo again?");
    tui.types("y");
    let result = tui.sees("· ok ·");
    assert!(result.contains(" one"), "{result}");
    tui.types("\u{1b}");
    tui.loses("· ok ·");
    tui.types("q");
    assert_eq!(tui.ends(), Some(0));
    tui.left_the_terminal_as_it_was();
    window.leave();
    home.wait_gone();
}

#[test]
fn without_a_daemon_its_own_gateway_ends_with_it() {
    let home = Home::new(servers());
    let mut tui = Tui::open(&home, &["--alone"], (80, 24));
    tui.sees("own gateway");
    tui.types("j");
    tui.types("s");
    tui.sees("● ready    fx");
    assert!(home.daemons().is_empty());
    tui.types("q");
    assert_eq!(tui.ends(), Some(0));
    tui.left_the_terminal_as_it_was();
    home.wait_gone();
}

#[test]
fn who_may_only_look_changes_nothing() {
    let home = Home::new(servers());
    let mut tui = Tui::open(&home, &["--read-only"], (80, 24));
    tui.sees("read-only · live");
    tui.types("j");
    tui.types("s");
    tui.sees("nothing is changed");
    tui.types("q");
    assert_eq!(tui.ends(), Some(0));
    home.wait_gone();
}

// C5: however it ends, the terminal is as it was.
#[test]
fn signals_leave_the_terminal_as_it_was() {
    let home = Home::new(servers());
    for (how, code) in [(Signal::SIGTERM, 143), (Signal::SIGHUP, 129), (Signal::SIGINT, 130)] {
        let mut tui = Tui::open(&home, &[], (80, 24));
        tui.sees("live");
        signal(tui.pid(), how);
        assert_eq!(tui.ends(), Some(code), "{how}");
        tui.left_the_terminal_as_it_was();
    }
    home.wait_gone();
}

// C5: also where it breaks, and what it says then can be read.
#[test]
#[cfg(debug_assertions)]
fn a_panic_leaves_the_terminal_as_it_was() {
    let home = Home::new(servers());
    let mut tui = Tui::open_with(&home, &[], (80, 24), &[("MANIFOLD_TEST_PANIC", "1")]);
    tui.sees("live");
    tui.types("j");
    assert_eq!(tui.ends(), Some(101));
    tui.left_the_terminal_as_it_was();
    tui.sees("MANIFOLD_TEST_PANIC is set");
    home.wait_gone();
}

// C5: Ctrl-Z gives the terminal back, and `fg` takes it again.
#[test]
fn it_stops_and_goes_on() {
    let home = Home::new(servers());
    let mut tui = Tui::open(&home, &[], (80, 24));
    tui.sees("live");
    tui.types("\u{1a}");
    let is_stopped = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", tui.pid())).unwrap_or_default();
        stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('T'))
    };
    assert!(until(SOON, is_stopped), "it does not stop");
    tui.loses("live");
    signal(tui.pid(), Signal::SIGCONT);
    tui.sees("live");
    tui.types("\u{3}");
    assert_eq!(tui.ends(), Some(0));
    tui.left_the_terminal_as_it_was();
    home.wait_gone();
}

#[test]
fn a_wrong_key_in_the_config_is_named_before_anything_is_drawn() {
    let home = Home::with(
        json!({"mcpServers": servers(), "daemon": {"linger": 1000}, "tui": {"keys": {"fly": "x"}}}),
    );
    let mut tui = Tui::open(&home, &[], (120, 24));
    tui.sees("tui.keys.fly: there is no such action");
    assert_eq!(tui.ends(), Some(2));
    tui.left_the_terminal_as_it_was();
    home.wait_gone();
}

// By tmux as well, where it is installed: another terminal that judges every sequence.
#[test]
fn tmux_shows_the_same() {
    let Some(tmux) = pty::Tmux::open() else {
        println!("not run: there is no `tmux`");
        return;
    };
    let home = Home::new(servers());
    tmux.runs(&home, (100, 30));
    let first = tmux.sees("○ idle     fx");
    assert!(first.contains("live"), "{first}");
    tmux.types("2");
    tmux.sees("fx__echo");
    tmux.types("q");
    tmux.sees("ended with 0");
    drop(tmux);
    home.wait_gone();
}
