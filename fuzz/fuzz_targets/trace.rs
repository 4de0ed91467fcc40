//! Arbitrary bytes as the parts of a trace. The corpus is replayed by `verify/tests/corpus.rs`, without a
//! fuzzer.

#![no_main]

mod trace_law;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| trace_law::holds(bytes));
