//! Arbitrary bytes between a launcher and its agents. The corpus is replayed by `launch/tests/corpus.rs`, without a
//! fuzzer.

#![no_main]

mod agent_law;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| agent_law::holds(bytes));
