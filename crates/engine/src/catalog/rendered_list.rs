//! A list as clients see it, written item by item: beside the text there is no second copy of it in pieces, which
//! would leave as much memory behind, in holes too small to give back. Items are kept as places in that text.

use std::sync::Arc;

use manifold_protocol::tools::{self, Variants};
use manifold_protocol::{Freshness, Kind, List, Raw, RawArray, Scope};

use crate::policy::{Decisions, HiddenFrom};

/// What a name and a description grow by when they are made ours, about.
const GROWTH_BYTES: usize = 64;

/// A list being written.
pub(super) struct RenderedList {
    kind: Kind,
    plain: RawArray,
    /// Other forms of the same, each from the first item on that differs in it.
    full: Option<RawArray>,
    strict: Option<RawArray>,
    items: Vec<Placed>,
    hidden_from: HiddenFrom,
}

/// A list of a catalog: the text that everybody sees, and the items that views are rendered from.
pub(super) struct ItemList {
    pub(super) whole: Arc<List>,
    items: Vec<Placed>,
    /// Who is not shown all of it.
    pub(super) hidden_from: HiddenFrom,
}

/// Whose an item is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origin {
    pub(super) member: usize,
    /// Its place in the listing of that member.
    pub(super) index: usize,
    pub(super) decisions: Decisions,
}

struct Placed {
    origin: Origin,
    /// Where it ends in either form of the list; it begins behind the comma after the one before it.
    end: usize,
    strict_end: usize,
}

impl RenderedList {
    pub(super) fn new(kind: Kind) -> Self {
        Self {
            kind,
            plain: RawArray::new(),
            full: None,
            strict: None,
            items: Vec::new(),
            hidden_from: HiddenFrom::default(),
        }
    }

    /// Makes room for items like these.
    pub(super) fn expect<'a>(&mut self, items: impl Iterator<Item = &'a Raw>) {
        let mut count = 0;
        self.plain
            .reserve(items.inspect(|_| count += 1).map(|item| item.as_bytes().len() + GROWTH_BYTES).sum());
        self.items.reserve_exact(count);
    }

    pub(super) fn push(&mut self, item: &Raw, origin: Origin) {
        if self.kind == Kind::Tools {
            let Variants { full, strict } = tools::variants(item);
            push_variant(&mut self.full, &self.plain, item, full);
            push_variant(&mut self.strict, &self.plain, item, strict);
        }
        self.plain.push(item);
        let end = |form: &Option<RawArray>| form.as_ref().unwrap_or(&self.plain).end();
        self.items.push(Placed { origin, end: end(&self.full), strict_end: end(&self.strict) });
        self.hidden_from = self.hidden_from.and(origin.decisions.hidden_from());
    }

    pub(super) fn finish(mut self, freshness: Freshness) -> ItemList {
        let (full, strict) = (self.full.map(RawArray::into_raw), self.strict.map(RawArray::into_raw));
        let plain = if full.is_some() && strict.is_some() { Raw::null() } else { self.plain.into_raw() };
        let whole = Arc::new(List {
            kind: self.kind,
            items: full.unwrap_or_else(|| plain.clone()),
            strict_items: strict.unwrap_or(plain),
            freshness,
        });
        self.items.shrink_to_fit();
        ItemList { whole, items: self.items, hidden_from: self.hidden_from }
    }
}

impl ItemList {
    /// Renders the list with those items only; they keep their bytes and their order.
    pub(super) fn only(&self, shows: impl Fn(&Origin) -> bool) -> Arc<List> {
        let shown: Vec<bool> = self.items.iter().map(|item| shows(&item.origin)).collect();
        if shown.iter().all(|shown| *shown) {
            return Arc::clone(&self.whole);
        }
        let List { items, strict_items, freshness, kind } = &*self.whole;
        let left = |text: &Raw, end: fn(&Placed) -> usize| {
            let mut left = RawArray::new();
            let mut start = 1;
            for (item, shown) in self.items.iter().zip(&shown) {
                if *shown {
                    left.push_from(text, start..end(item));
                }
                start = end(item) + 1;
            }
            left.into_raw()
        };
        let is_one = items.as_bytes().as_ptr() == strict_items.as_bytes().as_ptr();
        let full = left(items, |item| item.end);
        Arc::new(List {
            kind: *kind,
            strict_items: if is_one { full.clone() } else { left(strict_items, |item| item.strict_end) },
            items: full,
            // Nobody may keep it for somebody else, who may see more.
            freshness: Freshness { scope: Scope::Private, ..*freshness },
        })
    }
}

#[cfg(test)]
impl ItemList {
    /// Decides about one item as no config can yet.
    pub(super) fn rule(&mut self, index: usize, decisions: Decisions) {
        self.items[index].origin.decisions = decisions;
        self.hidden_from = self.hidden_from.and(decisions.hidden_from());
    }
}

fn push_variant(list: &mut Option<RawArray>, plain: &RawArray, item: &Raw, other: Option<Raw>) {
    if list.is_some() || other.is_some() {
        list.get_or_insert_with(|| plain.clone()).push(other.as_ref().unwrap_or(item));
    }
}

#[cfg(test)]
mod tests {
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
        assert!(
            !list.items.as_str().contains("execution") && list.strict_items.as_str().contains("execution")
        );
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
    fn every_choice_of_items_is_rendered_from_the_same_text() {
        let list = rendered(Kind::Tools, &FORMS);
        let (full, strict) =
            (list.whole.items.elements().unwrap(), list.whole.strict_items.elements().unwrap());
        for choice in 0..16_usize {
            let chosen = list.only(|origin| choice >> origin.index & 1 == 1);
            let expected = |forms: &[Raw]| -> Vec<Raw> {
                let forms = forms.iter().enumerate();
                forms.filter(|(at, _)| choice >> at & 1 == 1).map(|(_, form)| form.clone()).collect()
            };
            assert_eq!(chosen.items, Raw::array(&expected(&full)));
            assert_eq!(chosen.strict_items, Raw::array(&expected(&strict)));
            assert_eq!(Arc::ptr_eq(&chosen, &list.whole), choice == 15);
        }
        let plain =
            rendered(Kind::Prompts, &[r#"{"name":"a"}"#, r#"{"name":"b"}"#]).only(|one| one.index == 1);
        assert_eq!(plain.items.as_str(), r#"[{"name":"b"}]"#);
        assert_eq!(plain.items.as_bytes().as_ptr(), plain.strict_items.as_bytes().as_ptr());
    }
}
