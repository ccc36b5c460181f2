//! What the terminal interface costs, as figures: how soon it shows something, and what it takes idle and under load.
#![expect(clippy::disallowed_types, reason = "real processes run in real time")]

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use manifold_testkit::{Client, figures};
use serde_json::{Value, json};

use super::pty::Tui;
use crate::home::Home;
use crate::{SOON, fake_with};

const SIZE: (u16, u16) = (160, 50);

/// The whole figure where somebody wants it; else just enough to see that it can be taken.
fn at_length<T>(short: T, long: T) -> T {
    if figures::are_wanted() { long } else { short }
}

fn ten_servers() -> Home {
    let entry = fake_with(&["echo"], json!({}));
    let servers: serde_json::Map<String, Value> =
        (0..10).map(|n| (format!("server-{n}"), entry.clone())).collect();
    Home::new(servers.into())
}

/// Waits more closely than `until` does, and returns how long it took.
#[track_caller]
fn waits(begun: Instant, what: &str, condition: impl Fn() -> bool) -> Duration {
    while !condition() {
        assert!(begun.elapsed() < SOON, "{what} does not come");
        thread::sleep(Duration::from_millis(1));
    }
    begun.elapsed()
}

/// Returns what a process has had of the processors, in all its threads that live.
fn cpu(pid: u32) -> Duration {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).expect("it lives").filter_map(Result::ok);
    let of_thread = |path: std::path::PathBuf| -> Option<u64> {
        fs::read_to_string(path.join("schedstat")).ok()?.split_whitespace().next()?.parse().ok()
    };
    Duration::from_nanos(threads.filter_map(|thread| of_thread(thread.path())).sum())
}

fn percentile(mut times: Vec<Duration>, share: f64) -> Duration {
    times.sort_unstable();
    times[((times.len() - 1) as f64 * share) as usize]
}

// C1
#[test]
fn the_first_whole_picture() {
    let home = ten_servers();
    let window = home.open();
    let mut times = Vec::new();
    for _ in 0..at_length(1, 20) {
        let begun = Instant::now();
        let mut tui = Tui::open(&home, &[], SIZE);
        times.push(waits(begun, "the first picture", || {
            let screen = tui.screen();
            screen.contains("live") && screen.contains("server-9")
        }));
        tui.types("q");
        assert_eq!(tui.ends(), Some(0));
    }
    let what = "C1: from start to the first whole picture, ten servers";
    figures::took(what, percentile(times, 0.5), Duration::from_millis(100));
    window.leave();
}

// C2
#[test]
fn nothing_happens_for_a_minute() {
    let home = ten_servers();
    let window = home.open();
    let length = at_length(Duration::from_secs(1), Duration::from_secs(60));
    for (key, shown, what, wanted) in [
        ("5", "RULES", "nothing ages", Duration::from_millis(1)),
        ("4", "stdio", "ages are shown", Duration::from_millis(60)),
    ] {
        let mut tui = Tui::open(&home, &[], SIZE);
        tui.sees("live");
        tui.types(key);
        tui.sees(shown);
        // What was asked for is there, and what was said of it is gone.
        thread::sleep(at_length(Duration::ZERO, Duration::from_secs(10)));
        let (pid, before) = (tui.pid(), cpu(tui.pid()));
        thread::sleep(length);
        let what = format!("C2: processor time of {} s idle, {what}", length.as_secs());
        figures::took(&what, cpu(pid).saturating_sub(before), wanted);
        tui.types("q");
        assert_eq!(tui.ends(), Some(0));
    }
    window.leave();
}

/// Makes five hundred calls a second, of each of which two events are told, as far as the machine keeps up.
fn load(window: &mut Client, is_over: &AtomicBool) -> usize {
    const EVERY: Duration = Duration::from_millis(20);
    let (begun, mut calls) = (Instant::now(), 0_u32);
    while !is_over.load(Ordering::Relaxed) {
        let call = json!({"name": "server-0__echo", "arguments": {"text": "x"}});
        let asked: Vec<u64> = (0..10).map(|_| window.request("tools/call", call.clone())).collect();
        asked.into_iter().for_each(|id| _ = window.wait_for(id, SOON));
        calls += 10;
        thread::sleep((EVERY * (calls / 10)).saturating_sub(begun.elapsed()));
    }
    calls as usize
}

// C4
#[test]
fn a_thousand_events_a_second() {
    let home = ten_servers();
    let mut window = home.open();
    let mut tui = Tui::open(&home, &[], SIZE);
    tui.sees("live");
    tui.sees("server-9");
    let is_over = AtomicBool::new(false);
    let length = at_length(Duration::from_secs(1), Duration::from_secs(60));
    let (pid, pictures, before, begun) = (tui.pid(), tui.drawn(), cpu(tui.pid()), Instant::now());
    let mut times = Vec::new();
    let calls = thread::scope(|scope| {
        let loading = scope.spawn(|| load(&mut window, &is_over));
        let mut key = ("j", 1);
        while begun.elapsed() < length {
            let typed = Instant::now();
            tui.types(key.0);
            let name = format!("server-{}", key.1);
            let is_selected =
                || tui.screen().lines().any(|line| line.starts_with('›') && line.contains(&name));
            times.push(waits(typed, &name, is_selected));
            key = if key.1 == 1 { ("k", 0) } else { ("j", 1) };
            thread::sleep(Duration::from_millis(97));
        }
        is_over.store(true, Ordering::Relaxed);
        loading.join().expect("the calls are answered")
    });
    let seconds = begun.elapsed().as_secs_f64();
    let (pictures, spent) = (tui.drawn() - pictures, cpu(pid).saturating_sub(before));
    println!("{:.0} events a second for {seconds:.0} s", calls as f64 * 2.0 / seconds);
    figures::ratio("C4: pictures a second at 1,000 events a second", pictures as f64 / seconds, 30.0);
    figures::ratio("C4: share of a core at 1,000 events a second", spent.as_secs_f64() / seconds, 0.15);
    let what = "C4: from a key to its picture at 1,000 events a second, p99";
    figures::took(what, percentile(times, 0.99), Duration::from_millis(50));
    tui.types("q");
    assert_eq!(tui.ends(), Some(0));
    window.leave();
}
