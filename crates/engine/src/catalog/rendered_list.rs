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
    /// Returns the items in their order, with whose they are. The text is not read for that.
    pub(super) fn items(&self) -> impl Iterator<Item = (Raw, &Origin)> {
        let mut start = 1;
        self.items.iter().map(move |item| {
            let place = std::mem::replace(&mut start, item.end + 1)..item.end;
            (self.whole.items.element_at(place), &item.origin)
        })
    }

    /// Renders the list with those items only; they keep their bytes and their order.
    pub(super) fn only(&self, shows: impl Fn(usize, &Origin) -> bool) -> Arc<List> {
        let items = self.items.iter().enumerate();
        let shown: Vec<bool> = items.map(|(at, item)| shows(at, &item.origin)).collect();
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
mod tests;
