//! What is secret is on no picture that is drawn.

use manifold_testkit::{HttpFake, Sandbox, Style, until};
use serde_json::json;

use super::pty::Tui;
use crate::home::Home;
use crate::{SOON, fake_with, text_of};

const SIZE: (u16, u16) = (300, 60);

const VARIABLE: &str = "canary/of+a variable";
const OTHER_VARIABLE: &str = "canary-of-another-05";
const HEADER: &str = "canary-of-a-header-06";
const TOKEN: &str = "canary-of-a-token-07";

/// Twelve, in the forms in which they might be seen.
const PLANTED: [&str; 12] = [
    VARIABLE,
    "Y2FuYXJ5L29mK2EgdmFyaWFibGU",
    "canary%2Fof%2Ba%20variable",
    "canary%2Fof%2Ba+variable",
    OTHER_VARIABLE,
    HEADER,
    TOKEN,
    "canary-named-password-08",
    "canary-named-api-key-09",
    "canary-named-authorization-10",
    "canary-named-cookie-11",
    "canary-named-token-12",
];

/// Returns the number of the frame that is shown beside the list.
fn opened_frame(tui: &Tui) -> Option<u64> {
    let screen = tui.screen();
    let beside = screen.lines().find_map(|line| line.split_once("│ frame "))?;
    beside.1.split_whitespace().next()?.parse().ok()
}

// E4
#[test]
fn no_picture_has_a_secret_in_it() {
    let sandbox = Sandbox::new();
    let mut local = fake_with(&["env", "echo", "complain"], json!({}));
    local["env"] = json!({"KEY": VARIABLE, "OTHER_KEY": OTHER_VARIABLE});
    let remote = HttpFake::start(Style::Json, &["echo"]);
    let headers = json!({"X-Key": HEADER, "Authorization": format!("Bearer {TOKEN}")});
    let far = json!({"url": remote.url(), "headers": headers});
    let home = Home::within(sandbox, json!({"mcpServers": {"fx": local, "far": far}}));
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
    for (name, value) in [("KEY", VARIABLE), ("OTHER_KEY", OTHER_VARIABLE)] {
        assert_eq!(text_of(&window.call("fx__env", json!({ "name": name }))), value);
    }
    let coloured = "canary/\u{1b}[1mof+a\u{1b}[0m variable";
    for text in PLANTED[..7].iter().chain([&coloured]) {
        window.call("fx__echo", json!({ "text": text }));
        window.call("fx__complain", json!({ "text": text }));
        window.call("far__echo", json!({ "text": text }));
    }
    let named = json!({
        "text": "x",
        "password": PLANTED[7],
        "api_key": PLANTED[8],
        "headers": {"Authorization": PLANTED[9], "Cookie": PLANTED[10]},
        "deep": [{"token": PLANTED[11]}],
    });
    window.call("fx__echo", named);
    window.call("fx__echo", json!({"text": "the last one"}));

    // Every frame is opened, from the last to the first.
    tui.types("G");
    tui.sees("the last one");
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
    for picture in &pictures {
        for secret in PLANTED {
            assert!(!picture.contains(secret), "{secret} in\n{picture}");
        }
    }
    window.leave();
    home.wait_gone();
}
