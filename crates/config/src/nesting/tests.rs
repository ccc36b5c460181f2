use super::*;

fn below(mark: &str) -> Environment {
    let vars = [(ABOVE.to_owned(), mark.to_owned())].into();
    Environment { vars, ..Environment::default() }
}

// D1: a gateway below one that serves the same config refuses; another config goes down to depth 3.
#[test]
fn the_same_config_is_not_served_twice_in_a_row() {
    let top = Nesting::of(Some(Path::new("/a.json")), &Environment::default());
    assert_eq!(top.refusal(), None);
    let again = Nesting::of(Some(Path::new("/a.json")), &below(&top.mark()));
    assert!(again.refusal().is_some_and(|why| why.starts_with("this is Manifold itself")));
    let mut mark = top.mark();
    for depth in 1..=4 {
        let path = format!("/other-{depth}.json");
        let nesting = Nesting::of(Some(Path::new(&path)), &below(&mark));
        assert_eq!(nesting.refusal().is_none(), depth <= 3, "{depth}");
        mark = nesting.mark();
    }
    // Two steps apart it is still a circle.
    let circle = Nesting::of(Some(Path::new("/a.json")), &below(&mark));
    assert!(circle.refusal().is_some_and(|why| why.starts_with("this is Manifold itself")));
}
