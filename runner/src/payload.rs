//! The payloads of a scenario's messages, and how the receiver checks them.
//!
//! The bytes of a message are a function of its sender, its receiver, its communicator, its tag, and its number among
//! the messages with these. The receiver does not know the number, so the first bytes contain it; the other bytes follow.

/// The messages of one sender with one tag to one receiver in one communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Stream {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) communicator: u16,
    pub(crate) tag: u32,
}

/// The bytes that contain the number of the message.
const NUMBER: usize = size_of::<u64>();

impl Stream {
    /// The payload of message `number` in the stream, of `size` bytes.
    pub(crate) fn payload(self, number: u64, size: usize) -> Vec<u8> {
        let mut bytes = vec![0; size];
        self.fill(number, &mut bytes);
        bytes
    }

    /// Fills memory with the payload of message `number` in the stream.
    pub(crate) fn fill(self, number: u64, bytes: &mut [u8]) {
        let told = bytes.len() >= NUMBER;
        let seed = self.seed(if told { number } else { 0 });
        for (at, chunk) in (0..).zip(bytes.chunks_mut(size_of::<u64>())) {
            let word = if at == 0 && told { number } else { mix(seed.wrapping_add(at)) };
            chunk.copy_from_slice(&word.to_le_bytes()[..chunk.len()]);
        }
    }

    /// The position of the first byte that no message of the stream has there.
    pub(crate) fn first_wrong(self, bytes: &[u8]) -> Option<usize> {
        let number = bytes.first_chunk().map_or(0, |number| u64::from_le_bytes(*number));
        let mut expected = [0; 1 << 10];
        let seed = self.seed(number);
        if bytes.len() < NUMBER {
            self.fill(0, &mut expected[..bytes.len()]);
            return bytes.iter().zip(&expected).position(|(got, expected)| got != expected);
        }
        // In pieces, so that a large message takes no second buffer of its size.
        for (piece, chunk) in bytes.chunks(expected.len()).enumerate() {
            let first = (piece * expected.len() / size_of::<u64>()) as u64;
            for (at, word) in (first..).zip(expected.chunks_mut(size_of::<u64>())) {
                let value = if at == 0 { number } else { mix(seed.wrapping_add(at)) };
                word.copy_from_slice(&value.to_le_bytes());
            }
            if chunk != &expected[..chunk.len()] {
                let wrong = chunk.iter().zip(&expected).position(|(got, expected)| got != expected);
                return wrong.map(|at| piece * expected.len() + at);
            }
        }
        None
    }

    fn seed(self, number: u64) -> u64 {
        let Self { from, to, communicator, tag } = self;
        let envelope = u64::from(communicator) << 32 | u64::from(tag);
        mix(mix(u64::from(from) << 32 | u64::from(to)) ^ mix(envelope).wrapping_add(number))
    }
}

/// The contribution of a rank to a collective: the payload of a message to itself with a tag for collectives, so that
/// every rank knows the contributions of the others.
pub(crate) fn contribution(rank: u32, len: u64) -> Vec<u8> {
    Stream { from: rank, to: rank, communicator: 0, tag: 0 }.payload(1, len as usize)
}

/// A bijection that maps neighbours to values far apart (the finalizer of `splitmix64`).
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: Stream = Stream { from: 1, to: 2, communicator: 3, tag: 7 };

    #[test]
    fn a_payload_is_right_whatever_its_size_and_number() {
        for size in [0, 1, 7, 8, 9, 100, 1023, 1024, 1025, 5000] {
            for number in [0, 1, 1000] {
                assert_eq!(STREAM.first_wrong(&STREAM.payload(number, size)), None, "{size}, {number}");
            }
        }
    }

    #[test]
    fn every_byte_counts() {
        for size in [1, 8, 30, 3000] {
            let payload = STREAM.payload(3, size);
            for at in 0..size {
                let mut changed = payload.clone();
                changed[at] ^= 0x10;
                // A changed number is that of another message, which has other bytes.
                let first = STREAM.first_wrong(&changed);
                assert!(if size > 8 || at >= 8 { first.is_some() } else { size == 8 || first == Some(at) });
            }
        }
    }

    #[test]
    fn the_messages_of_others_are_wrong() {
        let payload = STREAM.payload(0, 64);
        for other in [
            Stream { from: 0, ..STREAM },
            Stream { to: 1, ..STREAM },
            Stream { tag: 8, ..STREAM },
            Stream { communicator: 0, ..STREAM },
        ] {
            assert!(other.first_wrong(&payload).is_some());
        }
    }
}
