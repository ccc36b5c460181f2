#![no_main]

#[path = "../checks/parameters.rs"]
mod parameters;

libfuzzer_sys::fuzz_target!(|data: &[u8]| parameters::check(data));
