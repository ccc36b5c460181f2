//! What is secret is on no picture that is drawn.

use manifold_testkit::{HttpFake, Style, until};
use serde_json::json;

use super::pty::Tui;
use crate::{SOON, planted};

const SIZE: (u16, u16) = (300, 60);

/// Returns the number of the frame that is shown beside the list.
fn opened_frame(tui: &Tui) -> Option<u64> {
    let screen = tui.screen();
    let beside = screen.lines().find_map(|line| line.split_once("│ frame "))?;
    beside.1.split_whitespace().next()?.parse().ok()
}

// E4
#[test]
fn no_picture_has_a_secret_in_it() {
    let remote = HttpFake::start(Style::Json, &["echo"]);
    let home = planted::home(&remote);
    let mut window = home.open();
    let mut tui = Tui::open(&home, &[], SIZE);
    tui.sees("live");
    tui.types("3");
    // It may not watch yet when a call is made.
    let is_shown = until(SOON, || {
        window.call("fx__echo", json!({"text": "the first one"}));
        tui.screen().contains("← server")
    });
    assert!(is_shown, "{}", tui.screen());
    planted::pass(&mut window);

    // Every frame is opened, from the last to the first.
    tui.types("G");
    tui.sees(planted::LAST);
    let mut frames = 0;
    let mut frame = opened_frame(&tui).expect("a frame is open");
    while frame > 1 && frames < 60 {
        tui.types("k");
        assert!(until(SOON, || opened_frame(&tui).is_some_and(|now| now < frame)), "{}", tui.screen());
        frame = opened_frame(&tui).expect("a frame is open");
        frames += 1;
    }
    assert!(frames >= 40, "{frames} frames were opened");
    // And every other screen, with what is beside its lists.
    for (key, shown) in [("6", ""), ("1", "far"), ("2", "fx__echo"), ("4", "stdio"), ("7", "")] {
        tui.types(key);
        tui.sees(shown);
        tui.types("j");
    }
    tui.types("q");
    assert_eq!(tui.ends(), Some(0));
    let pictures = tui.pictures(SIZE);
    assert!(pictures.iter().filter(|picture| picture.contains("***")).count() >= 10);
    pictures.iter().for_each(|picture| planted::are_not_in("a picture", picture));
    window.leave();
    home.wait_gone();
}
