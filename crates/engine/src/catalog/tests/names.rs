//! The map of names, whatever servers call themselves and their tools.

use std::collections::{BTreeMap, HashSet};

use proptest::prelude::*;

use super::*;
use crate::principal::Principal;
use crate::router::{Found, find_tool};

fn a_server() -> impl Strategy<Value = (String, Vec<String>)> {
    let id = "[ab_.-]{1,4}|[ab]__?[ab]|manifold|.{1,40}";
    let tool = "[ab_.-]{1,4}|[ab]__?[ab]|servers_list|.{0,90}";
    (id, prop::collection::vec(tool, 0..6))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    // Decisions 6 to 9 together: whatever servers call themselves and their tools, each tool is there under one
    // name that fits, and that name leads back to it.
    #[test]
    fn every_exposed_name_leads_back(
        offers in prop::collection::btree_map(any::<u8>(), a_server(), 1..6),
        separator in prop::sample::select(vec!["__", "-", ".", ""]),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let _entered = runtime.enter();
        // The same key twice in a file is one server.
        let offers: BTreeMap<String, Vec<String>> = offers.into_values().collect();
        let ids: Vec<&str> = offers.keys().map(String::as_str).filter(|id| !id.contains("${")).collect();
        let world = World::new(&servers(&ids, &format!(r#""separator":"{separator}""#)));
        let mut expected = HashSet::new();
        for id in &ids {
            let names: Vec<&str> = offers[*id].iter().map(String::as_str).collect();
            expected.extend(names.iter().map(|name| ((*id).to_owned(), (*name).to_owned())));
            world.fake(id).publish(&tools(&names));
        }
        expected.insert(("manifold".to_owned(), "servers_list".to_owned()));

        let catalog = world.gateway.catalog();
        let list = catalog.shown(Kind::Tools).get("tools").unwrap().elements().unwrap();
        let mut names = HashSet::new();
        let mut found = HashSet::new();
        for tool in list {
            let name = tool.get("name").unwrap().to_text().unwrap().into_owned();
            prop_assert!(!name.is_empty() && name.len() <= 64, "{name}");
            let fits = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c) || (c == '.' && separator == ".");
            prop_assert!(name.chars().all(fits), "{name}");
            let Ok(Found::Tool(route)) = find_tool(&catalog, &Principal::Local, &name, true) else { panic!("{name} leads nowhere") };
            let owner = catalog.member(route.member);
            found.insert((owner.key.id.clone(), route.original.to_text().unwrap().into_owned()));
            prop_assert!(names.insert(name.clone()), "{name} twice");
        }
        prop_assert_eq!(found, expected);
    }

    // Decision 8: only those who claim one name are told apart by their order, so a name nobody else claims stays.
    #[test]
    fn the_order_of_others_changes_no_name(
        offers in prop::collection::btree_map(any::<u8>(), a_server(), 1..6),
        separator in prop::sample::select(vec!["__", "-", ".", ""]),
        turn in 0..6usize,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let _entered = runtime.enter();
        let offers: BTreeMap<String, Vec<String>> = offers.into_values().collect();
        let mut ids: Vec<&str> = offers.keys().map(String::as_str).filter(|id| !id.contains("${")).collect();
        let first = offered(&ids, &offers, separator).gateway.catalog();
        ids.reverse();
        let turn = turn.min(ids.len());
        ids.rotate_left(turn);
        let second = offered(&ids, &offers, separator).gateway.catalog();
        let (before, after) = (names_by_owner(&first), names_by_owner(&second));
        prop_assert_eq!(before.len(), after.len());
        let mut claims: HashMap<String, usize> = HashMap::default();
        for (id, tool) in before.keys() {
            for name in HashSet::from(claimed(&first, id, tool)) {
                *claims.entry(name).or_default() += 1;
            }
        }
        for owner in before.keys() {
            let [plain, _] = claimed(&first, &owner.0, &owner.1);
            if claims.get(&plain) == Some(&1) {
                prop_assert_eq!((&before[owner], &after[owner]), (&plain, &plain));
            }
        }
    }

    // Decision 8: the first in the config wins, so whoever comes last takes nothing from anyone.
    #[test]
    fn a_server_added_at_the_end_changes_no_name(
        offers in prop::collection::btree_map(any::<u8>(), a_server(), 1..6),
        separator in prop::sample::select(vec!["__", "-", ".", ""]),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let _entered = runtime.enter();
        let offers: BTreeMap<String, Vec<String>> = offers.into_values().collect();
        let ids: Vec<&str> = offers.keys().map(String::as_str).filter(|id| !id.contains("${")).collect();
        let all = names_by_owner(&offered(&ids, &offers, separator).gateway.catalog());
        let fewer = &ids[..ids.len().saturating_sub(1)];
        for (owner, name) in names_by_owner(&offered(fewer, &offers, separator).gateway.catalog()) {
            prop_assert_eq!(&all[&owner], &name);
        }
    }
}

/// Servers in this order with what they offer.
fn offered(ids: &[&str], offers: &BTreeMap<String, Vec<String>>, separator: &str) -> World {
    let world = World::new(&servers(ids, &format!(r#""managerTools":false,"separator":"{separator}""#)));
    for id in ids {
        let names: Vec<&str> = offers[*id].iter().map(String::as_str).collect();
        world.fake(id).publish(&tools(&names));
    }
    world
}

/// Returns the exposed name of each tool by its server's key and its own name.
fn names_by_owner(catalog: &Catalog) -> BTreeMap<(String, String), String> {
    let owner = |route: &ToolRoute| {
        (catalog.member(route.member).key.id.clone(), route.original.to_text().unwrap().into_owned())
    };
    catalog.tools.iter().map(|(name, route)| (owner(route), name.clone())).collect()
}

/// Returns the names a tool may come to bear: the one it gets where nobody else claims it, and the other.
fn claimed(catalog: &Catalog, id: &str, tool: &str) -> [String; 2] {
    let naming = &catalog.view.naming;
    let member = catalog.view.members.iter().find(|member| member.key.id == id).unwrap();
    let plain = naming.expose(&member.exposed_id, id, tool);
    let hashed = naming.hashed(&plain, id, tool);
    [plain, hashed]
}
