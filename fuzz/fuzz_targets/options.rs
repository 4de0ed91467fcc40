//! Arbitrary variables and an arbitrary file of options. The corpus is replayed by `options/tests/corpus.rs`, without a
//! fuzzer.

#![no_main]

mod options_law;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| options_law::holds(bytes));
