//! Places in a file.

/// A stretch of the file, in bytes from its beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// The number of bytes; 0 for a place between two bytes.
    pub len: u32,
}

impl Span {
    /// The bytes from `start` up to, without, `end`.
    ///
    /// Files are at most [`limits::FILE_BYTES_MAX`](crate::limits::FILE_BYTES_MAX) bytes, so
    /// positions fit; beyond it they saturate.
    pub fn new(start: usize, end: usize) -> Self {
        let clip = |position| u32::try_from(position).unwrap_or(u32::MAX);
        Span { start: clip(start), len: clip(end.saturating_sub(start)) }
    }

    /// The byte behind the last one.
    pub const fn end(self) -> usize {
        self.start as usize + self.len as usize
    }

    /// From the beginning of this one to the end of `other`.
    pub fn to(self, other: Span) -> Span {
        Span::new(self.start as usize, other.end())
    }
}

/// The line and column of the byte `offset` of `text`, both from 1; columns count characters.
pub(crate) fn line_and_column(text: &[u8], offset: usize) -> (u32, u32) {
    let before = &text[..offset.min(text.len())];
    let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
    let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
    let clip = |number| u32::try_from(number).unwrap_or(u32::MAX);
    (clip(line), clip(column))
}
