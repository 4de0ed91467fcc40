//! What holds for any bytes that are read as a parameter file; shared by the fuzzer and the replay of its corpus.

use carrousel_registration::Thresholds;

/// Panics when `bytes` are understood, and not as what they say.
pub(crate) fn holds(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    match text.parse::<Thresholds>() {
        Ok(thresholds) => {
            assert_eq!(thresholds.to_string().parse(), Ok(thresholds), "what is written is read")
        }
        Err(error) => assert!(error.to_string().len() < 500, "a message stays readable: {error}"),
    }
}
