//! Replays the corpus of the fuzzer: what it once found stays found.

use std::path::Path;

#[path = "../../../fuzz/fuzz_targets/packet_law.rs"]
mod packet_law;

#[test]
fn every_file_of_the_corpus_keeps_the_law() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/packet");
    let mut files = 0;
    for entry in std::fs::read_dir(&corpus).expect("the corpus is in the repository") {
        let path = entry.expect("a directory entry").path();
        println!("{}", path.display());
        packet_law::holds(&std::fs::read(&path).expect("a readable file"));
        files += 1;
    }
    assert!(files >= 15, "the corpus has only {files} files");
}
