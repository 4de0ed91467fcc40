//! A packet without the data behind it, as bytes.

use crate::{Direction, Header};
use core::fmt;
use core::hash::{Hash, Hasher};

/// Bytes of the longest head of any protocol: transports keep that much room in front of data.
pub const HEAD_MAX: usize = 56;
/// Bytes of the longest body, which is what of a head is behind its header.
pub const BODY_MAX: usize = HEAD_MAX - Header::LEN;

/// A packet without the data behind it: a header, and a body of as many bytes as its protocol says.
#[derive(Clone, Copy)]
pub struct Head {
    len: u8,
    bytes: [u8; HEAD_MAX],
}

impl Head {
    /// A head of a header and a body, which is made of the bytes of `parts`.
    ///
    /// # Panics
    /// When the body has more than [`BODY_MAX`] bytes.
    #[inline]
    pub const fn new(header: Header, parts: [&[u8]; 2]) -> Self {
        let mut bytes = [0; HEAD_MAX];
        let (front, rest) = bytes.split_at_mut(Header::LEN);
        front.copy_from_slice(&header.to_bytes());
        let (first, rest) = rest.split_at_mut(parts[0].len());
        first.copy_from_slice(parts[0]);
        let (second, _) = rest.split_at_mut(parts[1].len());
        second.copy_from_slice(parts[1]);
        // A head is shorter than 256 bytes.
        Self { len: (Header::LEN + parts[0].len() + parts[1].len()) as u8, bytes }
    }

    /// The same head with a word behind its body, in little-endian order.
    ///
    /// # Panics
    /// When the body would have more than [`BODY_MAX`] bytes.
    #[cold]
    #[must_use]
    pub fn with_word(self, word: u64) -> Self {
        Self::new(self.header(), [self.body(), &word.to_le_bytes()])
    }

    /// The header.
    #[inline]
    pub const fn header(&self) -> Header {
        let [a, b, c, d, ..] = self.bytes;
        Header::from_bytes([a, b, c, d])
    }

    /// The direction in which the packet travels.
    #[inline]
    pub const fn direction(&self) -> Direction {
        self.header().direction()
    }

    /// Header and body.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// What is behind the header.
    #[inline]
    pub fn body(&self) -> &[u8] {
        &self.as_bytes()[Header::LEN..]
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Head {}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl Hash for Head {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl fmt::Debug for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Head").field("header", &self.header()).field("body", &self.body()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Context, Protocol};

    #[test]
    fn a_head_is_its_header_and_its_body() {
        let header = Header::new(Protocol::Messages, Direction::ToSender, 5, Context(1));
        let head = Head::new(header, [&[1, 2], &[3]]);
        assert_eq!(
            (head.header(), head.direction(), head.body()),
            (header, Direction::ToSender, &[1, 2, 3][..])
        );
        assert_eq!(head.as_bytes(), [&header.to_bytes()[..], &[1, 2, 3]].concat());
        assert_eq!(head, Head::new(header, [&[1], &[2, 3]]));
        assert_ne!(head, Head::new(header, [&[1, 2], &[3, 0]]), "a zero more is another head");
        let longest = Head::new(header, [&[7; BODY_MAX - 8], &[8; 8]]);
        assert_eq!(longest.as_bytes().len(), HEAD_MAX);
    }
}
