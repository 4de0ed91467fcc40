//! Replays the corpus of the fuzzer: what it once found stays found.
#![cfg(feature = "verbs")]

#[path = "../../fuzz/fuzz_targets/hello_law.rs"]
mod hello_law;
#[path = "../../fuzz/replay.rs"]
mod replay;

#[test]
fn every_file_of_the_corpus_keeps_the_law() {
    replay::corpus("hello", 6, hello_law::holds);
}
