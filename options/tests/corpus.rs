//! Replays the corpus of the fuzzer, so that an input that it once found is tried by every test run.

#[path = "../../fuzz/fuzz_targets/options_law.rs"]
mod options_law;
#[path = "../../fuzz/replay.rs"]
mod replay;

#[test]
fn every_file_of_the_corpus_keeps_the_law() {
    replay::corpus("options", 6, options_law::holds);
}
