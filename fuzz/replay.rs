//! Replays what a fuzzer once found; the ordinary tests of the crates that are fuzzed include it.

use std::path::Path;

/// Feeds every file of a target's corpus, at least `least`, to what has to hold for it.
pub(crate) fn corpus(target: &str, least: usize, holds: fn(&[u8])) {
    // Tests run in the directory of their crate: the repository's is one of those above.
    let mut above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let of_target =
        |root: &Path| Some(root.join("fuzz/corpus").join(target)).filter(|corpus| corpus.is_dir());
    let corpus = above.find_map(of_target).expect("the corpus is in the repository");
    let mut files = 0;
    for entry in std::fs::read_dir(&corpus).expect("it can be listed") {
        let path = entry.expect("a directory entry").path();
        println!("{}", path.display());
        holds(&std::fs::read(&path).expect("a readable file"));
        files += 1;
    }
    assert!(files >= least, "the corpus has only {files} files");
}
