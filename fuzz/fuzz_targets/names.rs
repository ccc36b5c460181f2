#![no_main]

#[path = "../checks/names.rs"]
mod names;

libfuzzer_sys::fuzz_target!(|data: &[u8]| names::check(data));
