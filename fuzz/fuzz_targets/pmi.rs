//! Arbitrary lines of ranks and launchers. The corpus is replayed by `launch/tests/corpus.rs`, without a
//! fuzzer.

#![no_main]

mod pmi_law;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| pmi_law::holds(bytes));
