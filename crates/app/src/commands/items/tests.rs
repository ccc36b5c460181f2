use expect_test::expect;
use manifold_admin::ItemRow;

use super::list::{Kind, table};
use crate::output::rendered;

#[test]
fn items_on_a_terminal_are_a_table_cut_to_its_width() {
    let row = ItemRow {
        name: "git__log".to_owned(),
        server: "git".to_owned(),
        description: Some("Shows the log of a repository, newest first".to_owned()),
        bytes: 321,
        ..ItemRow::default()
    };
    expect![[r#"
        NAME      SERVER  BYTES  DESCRIPTION
        git__log  git       321  Shows the log…
    "#]]
    .assert_eq(&rendered(&table(Kind::Tools, &[row]), 40));
    let page = rendered(&table(Kind::Templates, &[ItemRow::default()]), 80);
    assert!(page.starts_with("TEMPLATE"), "{page}");
}
