//! Replays the corpora of the fuzzer, so that an input that it once found is tried by every test run.

#[path = "../../fuzz/fuzz_targets/agent_law.rs"]
mod agent_law;
#[path = "../../fuzz/fuzz_targets/pmi_law.rs"]
mod pmi_law;
#[path = "../../fuzz/replay.rs"]
mod replay;

#[test]
fn every_line_of_the_corpus_keeps_the_law() {
    replay::corpus("pmi", 6, pmi_law::holds);
}

#[test]
fn every_frame_of_the_corpus_keeps_the_law() {
    replay::corpus("agent", 6, agent_law::holds);
}
