//! Every committed input of the fuzz targets, replayed.
#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "tests fail by panicking and say what they try"
)]

#[path = "../../../fuzz/checks/http_messages.rs"]
mod http_messages;
#[path = "../../../fuzz/checks/http_request.rs"]
mod http_request;
#[path = "../../../fuzz/checks/http_response.rs"]
mod http_response;
#[path = "../../../fuzz/checks/http_rules.rs"]
mod http_rules;
#[path = "../../../fuzz/checks/replay.rs"]
mod replay;

use replay::replay;

#[test]
fn request_seeds_hold() {
    replay("http_request", http_request::check);
}

#[test]
fn response_seeds_hold() {
    replay("http_response", http_response::check);
}
