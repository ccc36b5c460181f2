//! Every committed input of the fuzz targets, replayed.

#[path = "../../../fuzz/checks/config.rs"]
mod config;
#[path = "../../../fuzz/checks/replay.rs"]
mod replay;

use replay::replay;

#[test]
fn config_seeds_hold() {
    replay("config", config::check);
}
