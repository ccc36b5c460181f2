//! Rows for a pipe: one record a line, two blanks between its fields, nothing cut, no heading, colours only where they were asked for. No field has
//! two blanks in a row, and an empty one is `-`, so that fields can be told apart and counted.

use super::color::Paint;
use super::table::{Cell, Table};

pub(super) fn rows(table: &Table, paint: Paint) -> String {
    let field = |cell: &Cell| match cell.text() {
        "" => "-".to_owned(),
        text => paint.tone(cell.own_tone(), text),
    };
    let mut text = String::new();
    for row in table.rows() {
        let fields: Vec<String> = row.iter().map(field).collect();
        text.push_str(&fields.join("  "));
        text.push('\n');
    }
    text
}
