//! `docs/api.md` lists the routes there are.

use std::fmt::Write as _;

use super::schemas::docs;
use crate::{Effect, ROUTES};

fn table() -> String {
    let mut table = "| request | command line | |\n|---|---|---|\n".to_owned();
    for route in ROUTES {
        let verbs: Vec<String> = route.verbs.iter().map(|verb| format!("`{verb}`")).collect();
        let effect = match route.effect {
            Effect::Reads => "reads",
            Effect::Asks => "asks",
            Effect::Changes => "changes, audited",
        };
        let _ = writeln!(
            table,
            "| `{} {}` | {} | {effect} |",
            route.method.as_str(),
            route.path,
            verbs.join(", ")
        );
    }
    table
}

#[test]
fn the_manual_lists_every_route() {
    let text = std::fs::read_to_string(docs().join("api.md")).expect("the manual is there");
    assert!(text.contains(&table()), "docs/api.md should have this table:\n{}", table());
}
