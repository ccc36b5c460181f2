//! The lines of tables.

use std::ops::Range;

use toml_edit::{Item, Table, Value as Toml};

use super::super::Stuck;
use super::super::lines::{is_blank, line_end, line_start, spliced};

/// Returns a table and all those below it that are written as tables.
pub(super) fn tables_of(table: &Table) -> Vec<&Table> {
    let mut all = vec![table];
    for (_, item) in table {
        match item {
            Item::Table(inner) => all.extend(tables_of(inner)),
            Item::ArrayOfTables(tables) => all.extend(tables.iter().flat_map(tables_of)),
            _ => {}
        }
    }
    all
}

/// Returns the last byte of a table's own lines, its head's at least.
pub(super) fn body_end(table: &Table) -> Option<usize> {
    last_value_end(table).into_iter().chain(table.span().map(|head| head.end)).max()
}

/// Returns where a table may follow one whose own lines end here: behind the comments right below them too, unless these
/// belong to what stands below.
pub(super) fn next_table(text: &str, end: usize) -> usize {
    let at = (line_end(text, end) + 1).min(text.len());
    let comments = text[at..].split_inclusive('\n').take_while(|line| line.trim_start().starts_with('#'));
    let behind = at + comments.map(str::len).sum::<usize>();
    let is_own = is_blank(text[behind..].lines().next().unwrap_or_default());
    if is_own { behind } else { at }
}

/// Returns the blank line before a new table; none where those around it have none.
pub(super) fn gap_before(text: &str, at: usize) -> &'static str {
    let is_dense = !is_blank(text[at..].lines().next().unwrap_or_default());
    if at == 0 || is_dense || text[..at].ends_with("\n\n") { "" } else { "\n" }
}

/// Returns where the last value ends that is written in a table's own lines.
pub(super) fn last_value_end(table: &Table) -> Option<usize> {
    table.get_values().into_iter().filter_map(|(_, value)| span(value)).max()
}

fn span(value: &Toml) -> Option<usize> {
    match (value, value.span()) {
        (_, Some(span)) => Some(span.end),
        // One whose keys are written apart is where they are.
        (Toml::InlineTable(table), None) => {
            table.get_values().into_iter().filter_map(|(_, value)| span(value)).max()
        }
        _ => None,
    }
}

/// Takes tables out, each with its lines and the blank one before. Comments above their heads stay.
pub(super) fn cut_tables(text: &str, tables: &[&Table]) -> Result<String, Stuck> {
    let mut parts = Vec::new();
    for table in tables {
        match (table.span(), body_end(table)) {
            (Some(head), Some(end)) => parts.push((head.start, end)),
            (None, Some(_)) => return Err(Stuck("its keys are written with dots")),
            _ => {}
        }
    }
    let mut cuts: Vec<_> = parts.into_iter().map(|(start, end)| with_gap(text, start, end)).collect();
    cuts.sort_by_key(|cut| cut.start);
    let (mut left, mut at) = (String::new(), 0);
    for cut in cuts {
        if at < cut.start {
            left.push_str(&text[at..cut.start]);
        }
        at = at.max(cut.end);
    }
    left.push_str(&text[at..]);
    Ok(left)
}

/// Returns the lines of a table, and the blank one before where another follows.
fn with_gap(text: &str, start: usize, end: usize) -> Range<usize> {
    let (from, to) = (line_start(text, start), (line_end(text, end) + 1).min(text.len()));
    let (before, after) = (&text[..from], &text[to..]);
    let blank_before = before == "\n" || before.ends_with("\n\n");
    if blank_before && (after.is_empty() || after.starts_with('\n')) {
        from - 1..to
    } else if before.is_empty() && after.starts_with('\n') {
        from..to + 1
    } else {
        from..to
    }
}

/// Takes a value out with its lines. A comment behind it stays, on a line of its own.
pub(super) fn cut_lines(text: &str, start: usize, end: usize) -> String {
    let to = line_end(text, end);
    if is_blank(&text[end..to]) {
        return spliced(text, line_start(text, start)..(to + 1).min(text.len()), "");
    }
    let comment = end + text[end..to].len() - text[end..to].trim_start().len();
    spliced(text, start..comment, "")
}
