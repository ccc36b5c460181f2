//! Text of servers and clients that would have the terminal do something.

use manifold_admin::{Error, Happening, LogLine, is_unsafe};

use super::picture::draw;
use super::screens::press;
use super::world::{connected, happened, listing, server, state};
use crate::effect::News;

const EVIL: &str = "a\u{1b}[2J\u{1b}]52;c;aGk=\u{7}\u{9b}31m\u{202e}b\u{2066}\r\n\u{8}c\u{feff}\u{e0041}";

// C7: no control byte of a server's reaches the terminal.
#[test]
fn nothing_that_a_terminal_would_obey_is_drawn() {
    let screens = [
        "", "Enter", "2", "2 Enter", "2 c", "3", "4", "4 Enter", "5 Enter", "6", "6 Enter", "7", "7 Enter",
        ":", "x",
    ];
    for size in [(80, 24), (160, 50)] {
        for keys in screens {
            let mut state = state(size);
            let News::Connected { about, mut snapshot } = connected() else { unreachable!() };
            for one in &mut snapshot.servers {
                one.key.id = format!("{}{EVIL}", one.key.id);
                one.env = vec![EVIL.to_owned()];
                one.error =
                    Some(Error { text: EVIL.to_owned(), hint: Some(EVIL.to_owned()), ..Error::default() });
            }
            for one in &mut snapshot.clients {
                one.name = Some(EVIL.to_owned());
                one.cwd = Some(EVIL.to_owned());
            }
            for one in &mut snapshot.namespaces {
                one.id = Some(EVIL.to_owned());
                one.description = EVIL.to_owned();
            }
            state.news(News::Connected { about, snapshot });
            let mut tools = listing();
            for tool in &mut tools.items {
                (tool.name, tool.description) = (EVIL.to_owned(), Some(EVIL.to_owned()));
            }
            state.news(News::Tools(Ok(tools)));
            let line = LogLine { server: Some(EVIL.to_owned()), line: EVIL.to_owned(), ..LogLine::default() };
            state.news(happened(Happening::Log { line }));
            press(&mut state, keys);
            for cell in &draw(&state).content {
                assert!(!cell.symbol().chars().any(is_unsafe), "{keys:?}: {:?}", cell.symbol());
            }
        }
    }
}

// C7, C3: a line of ten megabytes is cut where it comes in, and what is shown of it is what fits.
#[test]
fn a_line_of_ten_megabytes_costs_what_is_seen_of_it() {
    let mut state = state((80, 24));
    let line = LogLine { server: Some("files".to_owned()), line: "x".repeat(10 << 20), ..LogLine::default() };
    state.news(happened(Happening::Log { line }));
    let kept = state.model.logs.lines.back().unwrap();
    assert!(kept.text.len() < 16 << 10 && kept.text.ends_with("bytes more"));
    press(&mut state, "6 Enter");
    draw(&state);
    let mut big = server("big", manifold_admin::State::Failed, 1);
    big.error = Some(Error { text: "y ".repeat(5 << 20), ..Error::default() });
    state.news(happened(Happening::Server { server: Box::new(big) }));
    press(&mut state, "7");
    draw(&state);
}
