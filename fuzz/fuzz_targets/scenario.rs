//! Arbitrary bytes as a scenario file. The corpus is replayed by `scenario/tests/corpus.rs`, without
//! a fuzzer.

#![no_main]

mod scenario_law;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| scenario_law::holds(bytes));
