//! Every screen at every size.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::picture::{draw, styled, text};
use super::world::{plain, state};
use crate::state::State;

const SIZES: [(u16, u16); 3] = [(80, 24), (160, 50), (40, 10)];

pub(crate) fn press(state: &mut State, keys: &str) {
    for key in keys.split_whitespace() {
        let code = match key {
            "Enter" => KeyCode::Enter,
            "Esc" => KeyCode::Esc,
            "Tab" => KeyCode::Tab,
            "Down" => KeyCode::Down,
            "Space" => KeyCode::Char(' '),
            key => KeyCode::Char(key.chars().next().unwrap()),
        };
        state.key(KeyEvent::new(code, KeyModifiers::NONE));
    }
}

/// Has frames come, as they do while they are looked at.
pub(super) fn feed_frames(state: &mut State) {
    if state.screen == crate::state::Screen::Traffic && state.model.traffic.frames.is_empty() {
        for frame in super::world::frames() {
            let item = manifold_admin::TrafficItem::Frame(Box::new(frame));
            let run = state.traffic_run;
            state.news(crate::effect::News::Traffic { run, item: crate::effect::Frames::Item(item) });
        }
    }
}

/// Draws what these keys lead to at every size, with colours named, and in plain letters at the first.
fn check(name: &str, keys: &str) {
    for size in SIZES {
        let mut state = state(size);
        press(&mut state, keys);
        feed_frames(&mut state);
        let picture = draw(&state);
        insta::assert_snapshot!(format!("{name}_{}x{}", size.0, size.1), text(&picture));
        if size == SIZES[0] {
            insta::assert_snapshot!(format!("{name}_colours"), styled(&picture));
        }
    }
    let mut state = plain(SIZES[0]);
    press(&mut state, keys);
    let picture = draw(&state);
    let shown = text(&picture);
    assert!(shown.is_ascii(), "{shown}");
    assert!(!styled(&picture).contains("[Red"), "{shown}");
    insta::assert_snapshot!(format!("{name}_ascii"), shown);
}

#[test]
fn servers() {
    check("servers", "");
}

#[test]
fn a_server() {
    check("server", "Enter");
}

#[test]
fn tools() {
    check("tools", "2");
}

#[test]
fn a_tool() {
    check("tool", "2 Enter");
}

#[test]
fn traffic() {
    check("traffic", "3");
}

#[test]
fn clients() {
    check("clients", "4");
}

#[test]
fn namespaces() {
    check("namespaces", "5");
}

#[test]
fn logs() {
    check("logs", "6");
}

#[test]
fn problems() {
    check("problems", "7");
}

#[test]
fn the_palette() {
    check("palette", ": r e s g i t");
}

#[test]
fn the_keys() {
    check("keys", "? c o p y");
}

#[test]
fn a_form() {
    check("form", "2 c a . t x t Tab 5 Tab Space");
}

#[test]
fn a_stop_names_who_would_miss_it() {
    check("stop", "x");
}

#[test]
fn a_filter() {
    check("filter", "/ f i l e Enter");
}

#[test]
fn a_lost_connection_keeps_what_was_known() {
    let mut state = state((80, 24));
    state.news(crate::effect::News::Lost { why: "the gateway cannot be reached".to_owned(), retry_ms: 2000 });
    state.note = None;
    insta::assert_snapshot!("lost_80x24", text(&draw(&state)));
}

#[test]
fn too_small_is_said_in_one_line() {
    for size in [(39, 24), (80, 7), (1, 1), (20, 5)] {
        let shown = text(&draw(&state(size)));
        assert!(
            shown.starts_with("too small".get(..usize::from(size.0.min(9)) - 1).unwrap_or_default()),
            "{shown}"
        );
    }
}

// C5: whatever the size, and whatever is open, there is a picture.
#[test]
fn a_storm_of_sizes_breaks_nothing() {
    let places = [
        "", "Enter", "2", "2 Enter", "2 c", "3", "4 Enter", "5", "6", "7 Enter", ":", "?", "x", "+", "_", "/",
    ];
    for keys in places {
        let mut state = state((80, 24));
        press(&mut state, keys);
        // All of them for one place, a part for the others.
        for step in 0..if keys.is_empty() { 200_u16 } else { 25 } {
            let size = (20 + step * 97 % 281, 5 + step * 31 % 96);
            state.resize(size);
            let picture = draw(&state);
            assert_eq!((picture.area.width, picture.area.height), size);
            press(&mut state, "Down");
        }
    }
}

#[test]
fn ten_thousand_tools_are_a_window_of_them() {
    use crate::model::tools::Listing;
    let items = (0..10_000).map(|n| manifold_admin::ListedItem {
        name: format!("big__tool_{n:05}"),
        server: "big".to_owned(),
        original: format!("tool_{n:05}"),
        description: Some("It does something".to_owned()),
        bytes: 100,
        item: None,
    });
    let mut state = state((80, 24));
    press(&mut state, "2");
    state.news(crate::effect::News::Tools(Ok(Listing { items: items.collect(), ..Listing::default() })));
    press(&mut state, "G");
    assert!(text(&draw(&state)).contains("big__tool_09999"));
    press(&mut state, "g");
    let first = text(&draw(&state));
    assert!(first.contains("big__tool_00000") && !first.contains("big__tool_00025"), "{first}");
    press(&mut state, "/ _ 0 7 7 7");
    assert!(text(&draw(&state)).contains("big__tool_07779"));
    assert_eq!(state.list().rows.len(), 10);
}
