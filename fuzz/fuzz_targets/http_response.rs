#![no_main]

#[path = "../checks/http_messages.rs"]
mod http_messages;
#[path = "../checks/http_response.rs"]
mod http_response;
#[path = "../checks/http_rules.rs"]
mod http_rules;

libfuzzer_sys::fuzz_target!(|data: &[u8]| http_response::check(data));
