//! `docs/tui.md`: its screens are those that are drawn, its keys those of the table. `UPDATE_EXPECT=1` writes them.

use std::path::Path;

use super::picture::{draw, text};
use super::screens::{feed_frames, press};
use super::world::state;
use crate::input::ACTIONS;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/tui.md");

/// The keys that lead to each screen of the page.
const SCREENS: [(&str, &str); 9] = [
    ("servers", ""),
    ("server", "Enter"),
    ("tools", "2"),
    ("call", "2 c a . t x t Tab 5 0"),
    ("traffic", "3"),
    ("problems", "7"),
    ("namespaces", "5"),
    ("logs", "6"),
    ("commands", ": r e s g"),
];

fn screen(name: &str, keys: &str) -> String {
    let mut state = state((80, 24));
    press(&mut state, keys);
    feed_frames(&mut state);
    format!("<!-- screen {name} -->\n```text\n{}```\n<!-- end -->", text(&draw(&state)))
}

fn keys() -> String {
    let mut table = "<!-- keys -->\n| action | keys | what it does |\n| --- | --- | --- |\n".to_owned();
    for row in ACTIONS {
        let keys: Vec<String> = row.keys.split_whitespace().map(|key| format!("`{key}`")).collect();
        table.push_str(&format!("| `{}` | {} | {} |\n", row.name, keys.join(" "), row.about));
    }
    table + "<!-- end -->"
}

#[test]
fn the_page_shows_what_is_drawn() {
    let path = Path::new(PAGE);
    let page = std::fs::read_to_string(path).expect("the page is there");
    let mut made = page.clone();
    let parts = SCREENS.iter().map(|(name, keys)| (format!("<!-- screen {name} -->"), screen(name, keys)));
    for (mark, part) in parts.chain([("<!-- keys -->".to_owned(), keys())]) {
        let begin = made.find(&mark).unwrap_or_else(|| panic!("{mark} is not on the page"));
        let end = begin + made[begin..].find("<!-- end -->").expect("it has an end") + "<!-- end -->".len();
        made.replace_range(begin..end, &part);
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(path, &made).expect("it can be written");
    }
    assert!(
        made == page || std::env::var_os("UPDATE_EXPECT").is_some(),
        "UPDATE_EXPECT=1 writes docs/tui.md anew"
    );
}
