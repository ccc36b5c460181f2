use super::*;

fn raw(text: &'static str) -> Raw {
    Raw::from_static(text)
}

fn origin(index: usize) -> Origin {
    Origin { member: 0, index, decisions: Decisions::ALLOW }
}

fn rendered(kind: Kind, items: &[&'static str]) -> ItemList {
    let mut shown = RenderedList::new(kind);
    let items: Vec<Raw> = items.iter().map(|item| raw(item)).collect();
    shown.expect(items.iter());
    items.iter().enumerate().for_each(|(index, item)| shown.push(item, origin(index)));
    shown.finish(Freshness::default())
}

fn names(list: &Raw) -> String {
    let items = list.elements().unwrap();
    items.iter().map(|item| item.get("name").unwrap().as_str().to_owned()).collect::<String>()
}

const FORMS: [&str; 4] = [
    r#"{"name":"a"}"#,
    r#"{"name":"b","execution":{}}"#,
    r#"{"name":"c","outputSchema":{"type":"array"}}"#,
    r#"{"name":"d"}"#,
];

#[test]
fn a_variant_begins_where_an_item_differs() {
    let list = rendered(Kind::Tools, &FORMS).whole;
    assert_eq!(
        (names(&list.items), names(&list.strict_items)),
        (r#""a""b""c""d""#.into(), r#""a""b""c""d""#.into())
    );
    assert!(!list.items.as_str().contains("execution") && list.strict_items.as_str().contains("execution"));
    assert!(list.items.as_str().contains(r#""type":"array"}}"#), "{}", list.items.as_str());
    assert!(!list.strict_items.as_str().contains(r#""outputSchema":{"type":"array"}"#));
}

#[test]
fn what_reads_the_same_for_all_is_there_once() {
    for kind in Kind::ALL {
        assert_eq!(rendered(kind, &[]).whole.items.as_str(), "[]");
        let list = rendered(kind, &[r#"{"name":"a"}"#, r#"{"name":"b"}"#]).whole;
        assert_eq!(list.items.as_str(), r#"[{"name":"a"},{"name":"b"}]"#);
        assert_eq!(list.items.as_bytes().as_ptr(), list.strict_items.as_bytes().as_ptr());
    }
}

#[test]
fn items_are_found_by_their_places() {
    for items in [&FORMS[..], &FORMS[..1], &[]] {
        let list = rendered(Kind::Tools, items);
        let read = list.whole.items.elements().unwrap();
        let found: Vec<(Raw, usize)> = list.items().map(|(raw, origin)| (raw, origin.index)).collect();
        assert_eq!(found, read.into_iter().zip(0..).collect::<Vec<_>>());
    }
}

#[test]
fn every_choice_of_items_is_rendered_from_the_same_text() {
    let list = rendered(Kind::Tools, &FORMS);
    let (full, strict) = (list.whole.items.elements().unwrap(), list.whole.strict_items.elements().unwrap());
    for choice in 0..16_usize {
        let chosen = list.only(|_, origin| choice >> origin.index & 1 == 1);
        let expected = |forms: &[Raw]| -> Vec<Raw> {
            let forms = forms.iter().enumerate();
            forms.filter(|(at, _)| choice >> at & 1 == 1).map(|(_, form)| form.clone()).collect()
        };
        assert_eq!(chosen.items, Raw::array(&expected(&full)));
        assert_eq!(chosen.strict_items, Raw::array(&expected(&strict)));
        assert_eq!(Arc::ptr_eq(&chosen, &list.whole), choice == 15);
    }
    let plain =
        rendered(Kind::Prompts, &[r#"{"name":"a"}"#, r#"{"name":"b"}"#]).only(|_, one| one.index == 1);
    assert_eq!(plain.items.as_str(), r#"[{"name":"b"}]"#);
    assert_eq!(plain.items.as_bytes().as_ptr(), plain.strict_items.as_bytes().as_ptr());
}
