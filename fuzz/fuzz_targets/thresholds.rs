//! Arbitrary bytes as the parameter file of small buffers. The corpus is replayed by `protocols/registration/tests/corpus.rs`, without a
//! fuzzer.

#![no_main]

mod thresholds_law;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| thresholds_law::holds(bytes));
