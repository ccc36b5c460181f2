#![no_main]

#[path = "../checks/challenge.rs"]
mod challenge;

libfuzzer_sys::fuzz_target!(|data: &[u8]| challenge::check(data));
