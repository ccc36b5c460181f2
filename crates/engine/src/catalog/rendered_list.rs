//! A list as clients see it, written item by item: beside the text there is no second copy of it in pieces, which
//! would leave as much memory behind, in holes too small to give back.

use std::sync::Arc;

use manifold_protocol::tools::{self, Variants};
use manifold_protocol::{Freshness, Kind, List, Raw, RawArray};

/// What a name and a description grow by when they are made ours, about.
const GROWTH_BYTES: usize = 64;

/// A list being written.
pub(super) struct RenderedList {
    kind: Kind,
    plain: RawArray,
    /// Other forms of the same, each from the first item on that differs in it.
    full: Option<RawArray>,
    strict: Option<RawArray>,
}

impl RenderedList {
    pub(super) fn new(kind: Kind) -> Self {
        Self { kind, plain: RawArray::new(), full: None, strict: None }
    }

    /// Makes room for items like these.
    pub(super) fn expect<'a>(&mut self, items: impl Iterator<Item = &'a Raw>) {
        self.plain.reserve(items.map(|item| item.as_bytes().len() + GROWTH_BYTES).sum());
    }

    pub(super) fn push(&mut self, item: &Raw) {
        if self.kind == Kind::Tools {
            let Variants { full, strict } = tools::variants(item);
            push_variant(&mut self.full, &self.plain, item, full);
            push_variant(&mut self.strict, &self.plain, item, strict);
        }
        self.plain.push(item);
    }

    pub(super) fn finish(self, freshness: Freshness) -> Arc<List> {
        let (full, strict) = (self.full.map(RawArray::into_raw), self.strict.map(RawArray::into_raw));
        let plain = if full.is_some() && strict.is_some() { Raw::null() } else { self.plain.into_raw() };
        Arc::new(List {
            kind: self.kind,
            items: full.unwrap_or_else(|| plain.clone()),
            strict_items: strict.unwrap_or(plain),
            freshness,
        })
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

    #[test]
    fn a_variant_begins_where_an_item_differs() {
        let mut shown = RenderedList::new(Kind::Tools);
        let items = [
            raw(r#"{"name":"a"}"#),
            raw(r#"{"name":"b","execution":{}}"#),
            raw(r#"{"name":"c","outputSchema":{"type":"array"}}"#),
            raw(r#"{"name":"d"}"#),
        ];
        shown.expect(items.iter());
        items.iter().for_each(|item| shown.push(item));
        let list = shown.finish(Freshness::default());
        let names = |list: &Raw| {
            let items = list.elements().unwrap();
            items.iter().map(|item| item.get("name").unwrap().as_str().to_owned()).collect::<String>()
        };
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
            let mut shown = RenderedList::new(kind);
            assert_eq!(RenderedList::new(kind).finish(Freshness::default()).items.as_str(), "[]");
            shown.push(&raw(r#"{"name":"a"}"#));
            shown.push(&raw(r#"{"name":"b"}"#));
            let list = shown.finish(Freshness::default());
            assert_eq!(list.items.as_str(), r#"[{"name":"a"},{"name":"b"}]"#);
            assert_eq!(list.items.as_bytes().as_ptr(), list.strict_items.as_bytes().as_ptr());
        }
    }
}
