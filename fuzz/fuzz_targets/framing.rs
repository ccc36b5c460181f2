#![no_main]

#[path = "../checks/framing.rs"]
mod framing;

libfuzzer_sys::fuzz_target!(|data: &[u8]| framing::check(data));
