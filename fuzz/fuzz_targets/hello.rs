//! Arbitrary datagrams by which nodes make connections. The corpus is replayed by `transport-verbs/tests/corpus.rs`, without a
//! fuzzer.

#![no_main]

mod hello_law;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hello_law::holds(bytes));
