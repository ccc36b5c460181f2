#![no_main]

#[path = "../checks/http_messages.rs"]
mod http_messages;
#[path = "../checks/http_request.rs"]
mod http_request;
#[path = "../checks/http_rules.rs"]
mod http_rules;

libfuzzer_sys::fuzz_target!(|data: &[u8]| http_request::check(data));
