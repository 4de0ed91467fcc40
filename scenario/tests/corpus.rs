//! Replays the corpus of the fuzzer: what it once found stays found.

#[path = "../../fuzz/replay.rs"]
mod replay;
#[path = "../../fuzz/fuzz_targets/scenario_law.rs"]
mod scenario_law;

#[test]
fn every_file_of_the_corpus_keeps_the_law() {
    replay::corpus("scenario", 20, scenario_law::holds);
}
