//! Replays the corpus of the fuzzer: what it once found stays found.

#[path = "../../../fuzz/fuzz_targets/packet_law.rs"]
mod packet_law;
#[path = "../../../fuzz/replay.rs"]
mod replay;

#[test]
fn every_file_of_the_corpus_keeps_the_law() {
    replay::corpus("packet", 15, packet_law::holds);
}
