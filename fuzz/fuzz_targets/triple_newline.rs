#![no_main]

#[path = "../checks/triple_newline.rs"]
mod triple_newline;

libfuzzer_sys::fuzz_target!(|data: &[u8]| triple_newline::check(data));
