use expect_test::{Expect, expect};
use manifold_admin::{CommandError, ErrorCode};

use super::escaped_line;
use super::*;

const PLAIN: Paint = Paint(false);

fn servers() -> Table {
    let mut table = Table::new([
        Column::id("ID"),
        Column::text("STATE"),
        Column::number("TOOLS"),
        Column::text("WHAT IS WRONG"),
    ]);
    let long = "it ended at once with code 1: module `server` was not found in /usr/lib/node_modules";
    table.row([Cell::new("git"), Cell::new("ready").tone(Tone::Good), Cell::new("12"), Cell::default()]);
    table.row([Cell::new("files"), Cell::new("failed").tone(Tone::Bad), Cell::new("0"), Cell::new(long)]);
    table.row([
        Cell::new("时间"),
        Cell::new("idle"),
        Cell::new("2"),
        Cell::new("two\nlines\tand \u{1b}[31m"),
    ]);
    table
}

fn check(text: &str, expected: Expect) {
    expected.assert_eq(text);
}

#[test]
fn a_table_is_aligned_and_cut_to_the_terminal() {
    check(
        &servers().render(60, PLAIN),
        expect![[r#"
            ID     STATE   TOOLS  WHAT IS WRONG
            git    ready      12
            files  failed      0  it ended at once with code 1: module…
            时间   idle        2  two lines and \u{1b}[31m
        "#]],
    );
    let narrow = servers().render(30, PLAIN);
    assert!(narrow.lines().all(|line| unicode_width::UnicodeWidthStr::width(line) <= 30), "{narrow}");
    assert!(Table::new([Column::id("ID")]).render(80, PLAIN).is_empty(), "no heading over nothing");
}

#[test]
fn colours_are_put_on_where_they_are_wanted() {
    let colored = servers().render(200, Paint(true));
    assert!(colored.contains("\u{1b}[1mID\u{1b}[0m") && colored.contains("\u{1b}[32mready\u{1b}[0m"));
    assert!(!servers().render(200, PLAIN).contains('\u{1b}'));
}

#[test]
fn rows_in_a_pipe_are_whole_and_can_be_split() {
    check(
        &plain::rows(&servers(), PLAIN),
        expect![[r#"
            git  ready  12  -
            files  failed  0  it ended at once with code 1: module `server` was not found in /usr/lib/node_modules
            时间  idle  2  two lines and \u{1b}[31m
        "#]],
    );
    assert!(plain::rows(&servers(), PLAIN).lines().all(|line| line.split("  ").count() == 4));
}

// T27
#[test]
fn nothing_a_terminal_would_obey_passes() {
    let all: String = (0..=0x10_ffff).filter_map(char::from_u32).collect();
    let obeyed = |c: char| {
        c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c) || ('\u{2066}'..='\u{2069}').contains(&c)
    };
    let text = escaped_text(&all);
    assert!(!text.contains(|c: char| obeyed(c) && c != '\n' && c != '\t'));
    assert!(!escaped_line(&all).contains(obeyed));
    let json = pretty(&all);
    assert!(!json.contains(obeyed), "nor in JSON");
    assert_eq!(serde_json::from_str::<String>(&json).unwrap(), all, "which means the same");
    assert_eq!(escaped_text("a\r\nb\rc"), "a\nb\\u{d}c");
    for kept in ["plain", "ünïcödé", "时间", "👩‍🚀", "two words", ""] {
        assert_eq!((escaped_text(kept), escaped_line(kept)), (kept.into(), kept.into()));
    }
}

#[test]
fn colour_is_a_matter_of_flag_variable_and_terminal() {
    let with = |variables: &[(&str, &str)]| Environment {
        vars: variables.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
        ..Environment::default()
    };
    let usual = with(&[("TERM", "xterm")]);
    assert!(ColorArg::Auto.is_wanted(true, &usual));
    assert!(!ColorArg::Auto.is_wanted(false, &usual));
    assert!(!ColorArg::Auto.is_wanted(true, &with(&[("TERM", "xterm"), ("NO_COLOR", "1")])));
    assert!(ColorArg::Auto.is_wanted(true, &with(&[("TERM", "xterm"), ("NO_COLOR", "")])));
    assert!(!ColorArg::Auto.is_wanted(true, &with(&[("TERM", "dumb")])));
    assert!(ColorArg::Always.is_wanted(false, &with(&[("NO_COLOR", "1")])));
    assert!(!ColorArg::Never.is_wanted(true, &usual));
}

#[test]
fn a_failure_says_what_to_do_next() {
    let mut error = CommandError::new(ErrorCode::UnknownServer, "there is no server 'gti\u{1b}[2J'");
    error.hint = Some("did you mean `git`?".to_owned());
    let failure = Failure::from(error);
    assert_eq!(failure.exit, Exit::Unknown);
    let text = r"manifold: there is no server 'gti\u{1b}[2J'; did you mean `git`?";
    assert_eq!(failure.as_text(PLAIN), text);
    let json = r#"{"error":{"code":"unknown-server","message":"there is no server 'gti\u001b[2J'","hint":"did you mean `git`?"}}"#;
    assert_eq!(failure.as_json(), json);
    let asked = Failure::usage("there is no `n`; did you mean `m`?").hint("it is called so: t(m)");
    assert_eq!(asked.as_text(PLAIN), "manifold: there is no `n`; did you mean `m`? it is called so: t(m)");
    assert_eq!(Failure::not_running().exit.code(), 3);
}

#[test]
fn every_refusal_has_its_exit_code() {
    let codes = [
        (ErrorCode::UnknownServer, 7),
        (ErrorCode::UnknownNamespace, 7),
        (ErrorCode::UnknownItem, 7),
        (ErrorCode::UnknownClient, 7),
        (ErrorCode::Denied, 8),
        (ErrorCode::SignIn, 6),
        (ErrorCode::FailedToStart, 4),
        (ErrorCode::TimedOut, 124),
        (ErrorCode::BadRequest, 2),
        (ErrorCode::ConfigRefused, 2),
        (ErrorCode::Stale, 2),
        (ErrorCode::AmbiguousServer, 2),
        (ErrorCode::AmbiguousItem, 2),
        (ErrorCode::ServerError, 1),
        (ErrorCode::Unsupported, 1),
        (ErrorCode::ShuttingDown, 1),
    ];
    for (code, exit) in codes {
        assert_eq!(Exit::of(code).code(), exit, "{code:?}");
    }
    let others = [Exit::Ok, Exit::ToolError, Exit::NotRunning, Exit::Interrupted].map(Exit::code);
    assert_eq!(others, [0, 5, 3, 130]);
}

#[test]
fn the_nearest_name_is_suggested_and_nothing_far() {
    let among = |meant| Suggestion::among(["git", "github", "filesystem"], meant).or("see `manifold list`");
    assert_eq!(among("gti"), "did you mean `git`?");
    assert_eq!(among("FileSystm"), "did you mean `filesystem`?");
    assert_eq!(among("zzz"), "see `manifold list`");
}

#[test]
fn when_something_was_is_told_to_the_second() {
    let now = "2026-11-17T10:00:00.25Z".parse().unwrap();
    let ago = std::time::Duration::from_millis;
    assert_eq!(moment::before(now, ago(90_500)).to_string(), "2026-11-17T09:58:29Z");
    assert_eq!(moment::before(now, ago(0)).to_string(), "2026-11-17T10:00:00Z");
}
