//! Replays the corpus of the fuzzer: what it once found stays found.

#[path = "../../fuzz/replay.rs"]
mod replay;
#[path = "../../fuzz/fuzz_targets/trace_law.rs"]
mod trace_law;

#[test]
fn every_file_of_the_corpus_keeps_the_law() {
    replay::corpus("trace", 6, trace_law::holds);
}
