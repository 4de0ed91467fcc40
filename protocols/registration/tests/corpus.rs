//! Replays the corpus of the fuzzer: what it once found stays found.

#[path = "../../../fuzz/replay.rs"]
mod replay;
#[path = "../../../fuzz/fuzz_targets/thresholds_law.rs"]
mod thresholds_law;

#[test]
fn every_file_of_the_corpus_keeps_the_law() {
    replay::corpus("thresholds", 6, thresholds_law::holds);
}
