//! Replays the corpus of the fuzzer: an input that once failed is tested for ever.
#![cfg(not(loom))]

#[path = "../../fuzz/replay.rs"]
mod replay;
#[path = "../../fuzz/fuzz_targets/ring_law.rs"]
mod ring_law;

#[test]
fn every_file_of_the_corpus_keeps_the_law() {
    replay::corpus("ring", 6, ring_law::holds);
}
