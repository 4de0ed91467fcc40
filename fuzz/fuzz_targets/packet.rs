//! Arbitrary bytes as frames of a peer. The corpus is replayed by `protocols/rank/tests/corpus.rs`, without a
//! fuzzer.

#![no_main]

mod packet_law;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| packet_law::holds(bytes));
