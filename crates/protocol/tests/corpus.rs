//! Every committed input of the fuzz targets, replayed.
#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "tests fail by panicking and say what they try"
)]

#[path = "../../../fuzz/checks/envelope.rs"]
mod envelope;
#[path = "../../../fuzz/checks/framing.rs"]
mod framing;
#[path = "../../../fuzz/checks/headers.rs"]
mod headers;
#[path = "../../../fuzz/checks/parameters.rs"]
mod parameters;
#[path = "../../../fuzz/checks/replay.rs"]
mod replay;
#[path = "../../../fuzz/checks/scan.rs"]
mod scan;
#[path = "../../../fuzz/checks/sse.rs"]
mod sse;
#[path = "../../../fuzz/checks/triple_newline.rs"]
mod triple_newline;

use replay::replay;

#[test]
fn envelope_seeds_hold() {
    replay("envelope", envelope::check);
}

#[test]
fn framing_seeds_hold() {
    replay("framing", framing::check);
}

#[test]
fn headers_seeds_hold() {
    replay("headers", headers::check);
}

#[test]
fn parameters_seeds_hold() {
    replay("parameters", parameters::check);
}

#[test]
fn scan_seeds_hold() {
    replay("scan", scan::check);
}

#[test]
fn sse_seeds_hold() {
    replay("sse", sse::check);
}

#[test]
fn triple_newline_seeds_hold() {
    replay("triple_newline", triple_newline::check);
}
