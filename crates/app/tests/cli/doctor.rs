//! `doctor`: each problem that can be planted is found by its own id and by no other, and what is safe is mended.

mod plants;

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use manifold_testkit::Sandbox;
use serde_json::{Value, json};

use crate::fake::{Ran, ran};
use plants::{Planted, plants};

/// Returns a home in which nothing is wrong, whatever the machine has installed.
fn healthy() -> Sandbox {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("bin")).expect("a folder");
    sandbox.write_config(&json!({"mcpServers": {"time": {"builtin": "time"}}}));
    sandbox
}

fn doctor(sandbox: &Sandbox, planted: &Planted, flags: &str) -> Ran {
    let mut command = sandbox.daemon();
    command.env("PATH", sandbox.path("bin")).envs(planted.variables.iter().cloned());
    command.arg("doctor").args(flags.split_whitespace()).args(&planted.arguments).stdin(Stdio::null());
    ran(command)
}

/// Returns the checks, which have these members and no others.
fn checks(ran: &Ran) -> Vec<Value> {
    let report: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    assert_eq!(
        report.as_object().map(|report| report.keys().map(String::as_str).collect::<Vec<_>>()),
        Some(vec!["checks"])
    );
    let checks = report["checks"].as_array().expect("a list").clone();
    for check in &checks {
        let keys: BTreeSet<&str> = check.as_object().expect("an object").keys().map(String::as_str).collect();
        assert!(keys.is_superset(&BTreeSet::from(["id", "message", "status"])), "{check}");
        assert!(keys.is_subset(&BTreeSet::from(["fix", "id", "message", "status"])), "{check}");
        assert!(["ok", "warn", "fail"].contains(&check["status"].as_str().expect("a word")), "{check}");
    }
    let fails = checks.iter().any(|check| check["status"] == "fail");
    assert_eq!(ran.code, Some(i32::from(fails)), "{ran:?}");
    checks
}

fn wrong(checks: &[Value]) -> Vec<&Value> {
    checks.iter().filter(|check| check["status"] != "ok").collect()
}

#[test]
fn a_home_in_order_is_found_in_order() {
    let sandbox = healthy();
    let planted = Planted::default();
    let before = listing(&sandbox);
    let found = checks(&doctor(&sandbox, &planted, "--json"));
    assert!(wrong(&found).is_empty(), "{:?}", wrong(&found));
    let ids: BTreeSet<&str> = found.iter().filter_map(|check| check["id"].as_str()).collect();
    assert_eq!(ids.len(), found.len(), "each is told once");
    let told = found.iter().find(|check| check["id"] == "server-handshake").expect("the handshake");
    assert!(told["message"].as_str().is_some_and(|message| message.contains("time (")), "{told}");
    let shown = doctor(&sandbox, &planted, "");
    assert!(shown.stderr.contains("0 warnings, 0 failures"), "{shown:?}");
    // Whoever only looks changes nothing.
    let after: Vec<_> = listing(&sandbox).into_iter().filter(|path| !path.contains("/.cache/")).collect();
    let before: Vec<_> = before.into_iter().filter(|path| !path.contains("/.cache/")).collect();
    assert_eq!(after, before);
}

/// Returns every file below a home.
fn listing(sandbox: &Sandbox) -> Vec<String> {
    let mut folders = vec![sandbox.home().to_owned()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()) {
            found.push(path.display().to_string());
            if path.is_dir() {
                folders.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn every_planted_problem_is_found_by_its_own_id_and_by_no_other() {
    let plants = plants();
    let ids: BTreeSet<&str> = plants.iter().map(|plant| plant.id).collect();
    assert!(ids.len() >= 25, "{} ids", ids.len());
    for plant in &plants {
        let sandbox = (plant.home)();
        let planted = (plant.plant)(&sandbox);
        let found = checks(&doctor(&sandbox, &planted, "--json"));
        let wrong = wrong(&found);
        let found: BTreeSet<&str> = wrong.iter().filter_map(|check| check["id"].as_str()).collect();
        assert_eq!(found, BTreeSet::from([plant.id]), "{}: {wrong:#?}", plant.id);
        for check in wrong {
            let fix = check["fix"].as_str().unwrap_or_default();
            assert!(
                !fix.is_empty() && !fix.contains('…') && !fix.starts_with("see "),
                "to be pasted: {check}"
            );
            let parsed = Command::new("sh").args(["-n", "-c", fix]).status().expect("a shell");
            assert!(parsed.success(), "a shell can read it: {check}");
        }
    }
}

#[test]
fn what_is_safe_is_mended_and_told_and_nothing_else_is_touched() {
    for plant in plants() {
        let sandbox = (plant.home)();
        let planted = (plant.plant)(&sandbox);
        let mended = checks(&doctor(&sandbox, &planted, "--json --fix"));
        let of_it = mended.iter().find(|check| check["id"] == plant.id).expect("it is told");
        let is_mended = of_it["message"].as_str().is_some_and(|message| message.starts_with("mended: "));
        assert_eq!(is_mended, plant.is_mended, "{of_it}");
        let again = checks(&doctor(&sandbox, &planted, "--json"));
        assert_eq!(wrong(&again).is_empty(), plant.is_mended, "{}: {:?}", plant.id, wrong(&again));
    }
}
