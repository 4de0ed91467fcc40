//! What holds for any datagram, and any address, of a peer on another node; shared by the fuzzer and the replay of
//! its corpus.

use carrousel_transport_verbs::{Address, hello};

/// Panics when `bytes` are understood, and not as what they say.
pub(crate) fn holds(bytes: &[u8]) {
    if let Some(written) = hello(bytes) {
        assert_eq!(written.len(), bytes.len());
        assert_eq!(hello(&written), Some(written), "a datagram is what its bytes say");
    }
    let text = String::from_utf8_lossy(bytes);
    if let Ok(address) = text.parse::<Address>() {
        assert_eq!(address.to_string().parse(), Ok(address), "an address is what its text says");
    }
}
