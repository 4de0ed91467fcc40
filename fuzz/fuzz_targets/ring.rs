//! What a peer of the node writes into shared memory. The corpus is replayed by `transport-shm/tests/corpus.rs`, without a
//! fuzzer.

#![no_main]

mod ring_law;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ring_law::holds(bytes));
