//! Windows that open and close for a long time leave nothing behind.
#![expect(clippy::disallowed_types, reason = "real processes run in real time")]

use std::time::{Duration, Instant};

use manifold_testkit::processes::{descendants, descriptors};
use manifold_testkit::{Client, own_kib, until};
use serde_json::json;

use crate::home::Home;
use crate::{Random, SOON, fake_with, figure, text_of};

/// What a daemon has when one window is open and nothing is under way.
#[derive(Debug, Clone, Copy)]
struct Having {
    descriptors: usize,
    processes: usize,
}

impl Having {
    fn now(daemon: u32) -> Having {
        Having { descriptors: descriptors(daemon), processes: descendants(daemon).len() }
    }

    /// What was seen first may count a connection that was just being closed, so less is no fault.
    fn is_within(self, before: Having) -> bool {
        self.descriptors <= before.descriptors && self.processes <= before.processes
    }
}

// A19
#[test]
fn windows_that_come_and_go_leave_nothing_behind() {
    let home = Home::new(json!({
        "a": fake_with(&["echo"], json!({})),
        "b": fake_with(&["echo"], json!({})),
    }));
    let mut stays = home.open();
    for server in ["a", "b"] {
        assert_eq!(text_of(&stays.call(&format!("{server}__echo"), json!({"text": "x"}))), "x");
    }
    let daemon = home.daemon();
    let length = Duration::from_secs(figure(20, 600) as u64);
    let begun = Instant::now();
    let mut random = Random(7);
    let mut first: Option<(Having, u64)> = None;
    let mut rounds = 0_u64;
    while begun.elapsed() < length {
        let mut windows: Vec<Client> = (0..5).map(|_| home.open()).collect();
        for window in &mut windows {
            assert_eq!(text_of(&window.call("a__echo", json!({"text": "y"}))), "y");
            window.tool_names();
        }
        for window in windows {
            // Some say good-bye, some are killed.
            if random.below(2) == 0 { window.leave() } else { drop(window) }
        }
        let alone = || home.status().is_some_and(|status| status["clients"] == json!(1));
        assert!(until(SOON, alone), "{:?}", home.status());
        rounds += 1;
        // What is kept for the next comer is there after the first few.
        if rounds == 10 {
            first = Some((Having::now(daemon), own_kib(daemon)));
        }
        if let (Some((had, _)), true) = (first, rounds.is_multiple_of(10)) {
            let nothing_more = until(SOON, || Having::now(daemon).is_within(had));
            assert!(nothing_more, "after {rounds} rounds: {:?}, before {had:?}", Having::now(daemon));
        }
    }
    assert_eq!(home.daemon(), daemon);
    let Some((_, had_kib)) = first else { return println!("too few rounds for a verdict: {rounds}") };
    let grown_kib = own_kib(daemon).saturating_sub(had_kib);
    println!("{} windows; memory grew by {grown_kib} KiB from {had_kib}", rounds * 5);
    assert!(grown_kib <= 768, "{grown_kib} KiB more after {rounds} rounds");
}
