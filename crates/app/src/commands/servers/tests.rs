use expect_test::expect;
use manifold_admin::{Kind, ServerRow, State};

use super::list::table;
use crate::output::rendered;

#[test]
fn list_on_a_terminal_is_a_table_cut_to_its_width() {
    let row = |id: &str, state, error: Option<&str>| ServerRow {
        id: id.to_owned(),
        state,
        kind: Kind::Stdio,
        tools: 7,
        listed: state == State::Ready,
        error: error.map(str::to_owned),
        ..ServerRow::default()
    };
    let rows = [
        row("git", State::Ready, None),
        row("files", State::Failed, Some("no such program `npx`, neither in PATH nor beside the config")),
    ];
    expect![[r#"
        ID     STATE   KIND   TOOLS  CLIENTS  WHAT IS WRONG
        git    ready   stdio      7        0
        files  failed  stdio      -        0  no such program `npx`, neither…
    "#]]
    .assert_eq(&rendered(&table(&rows), 70));
}
