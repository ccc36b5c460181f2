//! A list with a selection that stays with its row, wherever that moves.

use std::collections::BTreeSet;

/// A row: where it is in what is known, and what it is known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) index: usize,
    pub(crate) key: u64,
}

#[derive(Debug, Default)]
pub(crate) struct List {
    pub(crate) filter: String,
    pub(crate) rows: Vec<Row>,
    /// Which of the rows is selected, and which is the first that is seen.
    pub(crate) at: usize,
    pub(crate) top: usize,
    selected: Option<u64>,
    pub(crate) marks: BTreeSet<u64>,
    /// The newest is selected, whatever comes.
    pub(crate) follows: bool,
    height: usize,
}

impl List {
    /// Takes over new rows; what is selected stays so if it is still there.
    pub(crate) fn take(&mut self, rows: Vec<Row>, height: usize) {
        self.rows = rows;
        self.height = height.max(1);
        let last = self.rows.len().saturating_sub(1);
        if self.follows {
            self.at = last;
        } else {
            let is_selected = |row: &Row| Some(row.key) == self.selected;
            // Rows leave at the top as others come at the bottom: it is near where it was.
            let found = self.rows.get(self.at).filter(|row| is_selected(row)).map(|_| self.at);
            let found = found.or_else(|| self.rows.iter().position(is_selected));
            self.at = found.unwrap_or(self.at).min(last);
        }
        self.look();
    }

    fn look(&mut self) {
        // An empty list has nothing to forget: a gateway that is back has the same rows in a moment.
        if let Some(row) = self.rows.get(self.at) {
            self.selected = Some(row.key);
        }
        let lowest = (self.at + 1).saturating_sub(self.height);
        let most = self.rows.len().saturating_sub(self.height);
        self.top = self.top.clamp(lowest, self.at.max(lowest)).min(most.max(lowest));
    }

    pub(crate) fn select(&mut self, at: usize) {
        self.at = at.min(self.rows.len().saturating_sub(1));
        self.follows &= self.at + 1 == self.rows.len();
        self.look();
    }

    pub(crate) fn row(&self) -> Option<Row> {
        self.rows.get(self.at).copied()
    }

    pub(crate) fn page(&self) -> usize {
        (self.height / 2).max(1)
    }

    pub(crate) fn mark(&mut self) {
        let Some(row) = self.row() else { return };
        if !self.marks.remove(&row.key) {
            self.marks.insert(row.key);
        }
    }

    /// Goes to the next row, or the one before, that is marked; where none is, to any.
    pub(crate) fn next_match(&mut self, is_forwards: bool) {
        let count = self.rows.len();
        if count == 0 {
            return;
        }
        let any = self.rows.iter().any(|row| self.marks.contains(&row.key));
        let step = if is_forwards { 1 } else { count - 1 };
        let mut at = self.at;
        for _ in 0..count {
            at = (at + step) % count;
            if !any || self.marks.contains(&self.rows[at].key) {
                break;
            }
        }
        self.select(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(keys: &[u64]) -> Vec<Row> {
        keys.iter().enumerate().map(|(index, key)| Row { index, key: *key }).collect()
    }

    #[test]
    fn the_selection_stays_with_its_row() {
        let mut list = List::default();
        list.take(rows(&[1, 2, 3]), 2);
        list.select(2);
        assert_eq!((list.at, list.top), (2, 1));
        list.take(rows(&[9, 3, 1]), 2);
        assert_eq!(list.row().map(|row| row.key), Some(3));
        list.take(rows(&[]), 2);
        list.take(rows(&[1, 2, 3]), 2);
        assert_eq!(list.row().map(|row| row.key), Some(3), "what was gone for a moment is found again");
    }

    #[test]
    fn what_follows_stays_at_the_end_until_somebody_moves() {
        let mut list = List { follows: true, ..List::default() };
        list.take(rows(&[1, 2, 3]), 2);
        assert_eq!((list.at, list.top), (2, 1));
        list.select(0);
        list.take(rows(&[1, 2, 3, 4]), 2);
        assert_eq!((list.at, list.top), (0, 0));
    }

    #[test]
    fn marks_are_gone_through_in_both_directions() {
        let mut list = List::default();
        list.take(rows(&[1, 2, 3, 4]), 4);
        for at in [1, 3] {
            list.select(at);
            list.mark();
        }
        list.select(0);
        list.next_match(true);
        assert_eq!(list.at, 1);
        list.next_match(true);
        list.next_match(true);
        assert_eq!(list.at, 1);
        list.next_match(false);
        assert_eq!(list.at, 3);
    }
}
