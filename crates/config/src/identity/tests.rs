use super::*;

// S1-21
#[test]
fn ids_are_four_characters_and_made_again_when_taken() {
    let mut numbers = [0, 1, 2, 3, 35, 34, 33, 36].into_iter();
    let taken = HashSet::from(["abcd".to_owned()]);
    assert_eq!(generate_id(&taken, || numbers.next().unwrap()), "987a");
}

// Decision 9 and S1-22: any key is accepted, no exposed id holds a dot.
#[test]
fn exposed_ids_are_safe() {
    let mut ids = ExposedIds::new("manifold");
    assert_eq!(ids.expose("web-search_2"), "web-search_2");
    assert_eq!(ids.expose("a.b"), "a_b_2e7336dc");
    assert_eq!(ids.expose("a b"), "a_b_c8687a08");
    assert_eq!(ids.expose("搜索"), "___44ce7ae9");
    assert_eq!(ids.expose(""), "_e3b0c442");
}

#[test]
fn exposed_ids_are_unique() {
    let mut ids = ExposedIds::new("manifold");
    let first = ids.expose("a.b");
    let second = ids.expose(&first);
    assert_ne!(first, second);
    assert!(second.starts_with("a_b_"));
}

// S1-54
#[test]
fn the_prefix_of_our_own_tools_is_reserved() {
    let mut ids = ExposedIds::new("mcp-studio");
    assert!(ids.expose("mcp-studio").starts_with("mcp-studio_"));
    assert!(ids.expose("MCP-Studio").starts_with("MCP-Studio_"));
    assert_eq!(ids.expose("mcp-studio2"), "mcp-studio2");
}
