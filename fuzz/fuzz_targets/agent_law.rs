//! What holds for any bytes between a launcher and its agent on another host; shared by the fuzzer and the replay of
//! its corpus.

use carrousel_launch::hostile::{commands, events};

/// Panics when either side does not survive `bytes`.
pub(crate) fn holds(bytes: &[u8]) {
    for decode in [commands, events] {
        let frames = decode(bytes);
        let again = decode(&frames.concat());
        assert_eq!(again, frames, "a frame is what its bytes say");
    }
}
