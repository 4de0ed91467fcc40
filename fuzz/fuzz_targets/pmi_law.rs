//! What holds for any lines of ranks to their launcher, and of a launcher to its ranks; shared by the fuzzer and
//! the replay of its corpus.

use carrousel_launch::hostile::{FuzzedPmiServer, ending, mapping};

const RANKS: u32 = 3;

/// Panics when a launcher or a rank does not survive `bytes`: lines, each behind a digit that says which rank it is
/// of.
pub(crate) fn holds(bytes: &[u8]) {
    let mut server = FuzzedPmiServer::new(&[2, 1]);
    for line in bytes.split(|byte| *byte == b'\n') {
        let [of, line @ ..] = line else { continue };
        for (rank, answer) in server.line(u32::from(*of) % RANKS, line) {
            assert!(rank < RANKS, "an answer goes to a rank that there is");
            let ends = answer.bytes().filter(|byte| *byte == b'\n').count();
            assert!(ends == 1 && answer.ends_with('\n'), "an answer is one line: {answer:?}");
            assert!(!answer.contains('\0') && answer.starts_with("cmd="), "it is one of PMI-1: {answer:?}");
        }
        if let Some(written) = ending(line) {
            assert_eq!(ending(written.trim_end().as_bytes()), Some(written), "what is told is what was read");
        }
        let text = String::from_utf8_lossy(line);
        if let Some(nodes) = mapping(&text, RANKS) {
            assert_eq!(nodes.len(), RANKS as usize, "every rank has a node");
        }
    }
}
