//! Rows for a pipe: one record a line, two blanks between its fields, nothing cut, no colour, no heading. No field has
//! two blanks in a row, and an empty one is `-`, so that fields can be told apart and counted.

use super::table::Table;

pub(super) fn rows(table: &Table) -> String {
    let mut text = String::new();
    for row in table.rows() {
        let fields: Vec<&str> =
            row.iter().map(|cell| if cell.text().is_empty() { "-" } else { cell.text() }).collect();
        text.push_str(&fields.join("  "));
        text.push('\n');
    }
    text
}
