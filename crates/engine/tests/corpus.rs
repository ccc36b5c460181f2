//! Every committed input of the fuzz targets, replayed.

#[path = "../../../fuzz/checks/names.rs"]
mod names;
#[path = "../../../fuzz/checks/replay.rs"]
mod replay;

use replay::replay;

#[test]
fn names_seeds_hold() {
    replay("names", names::check);
}
