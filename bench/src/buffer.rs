//! Memory for messages.

/// The alignment of messages, that of a page: no library is given a better one.
const ALIGNMENT: usize = 4096;

/// Memory that begins with a page and has been touched, so that no measurement meets it first.
#[derive(Debug)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    start: usize,
}

impl Buffer {
    /// So many bytes, or none if there are not so many.
    pub(crate) fn new(len: usize) -> Option<Self> {
        let whole = len.checked_add(ALIGNMENT)?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(whole).ok()?;
        // Any value but 0, for which the kernel's untouched pages would do.
        bytes.resize(whole, u8::MAX);
        let address = bytes.as_ptr().addr();
        let start = address.next_multiple_of(ALIGNMENT) - address;
        bytes.truncate(start + len);
        Some(Self { bytes, start })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_begin_with_a_page() {
        for len in [0, 1, 8, 5000, 1 << 20] {
            let mut buffer = Buffer::new(len).expect("there is memory");
            assert_eq!(buffer.bytes().len(), len);
            assert_eq!(buffer.bytes_mut().len(), len);
            assert!(buffer.bytes().as_ptr().addr().is_multiple_of(ALIGNMENT));
        }
    }

    #[test]
    fn too_much_memory_is_none() {
        assert!(Buffer::new(usize::MAX).is_none());
        assert!(Buffer::new(usize::MAX / 2 - 8192).is_none());
    }
}
