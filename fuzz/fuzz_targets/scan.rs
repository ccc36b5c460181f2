#![no_main]

#[path = "../checks/scan.rs"]
mod scan;

libfuzzer_sys::fuzz_target!(|data: &[u8]| scan::check(data));
