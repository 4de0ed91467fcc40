//! Check values, which tell a part that is as it was recorded from one that has been changed.
//!
//! In text, the last member of every line, the head's too, is `"crc32"`: the CRC-32 (that of Ethernet and zlib) of all
//! lines from the head up to this one, each without this member and with its line feed, as eight hexadecimal
//! digits. So a line that was changed does not have its value, and one that was deleted, added or moved takes
//! the next line's away. Of changes within 32 bits, such as of one to four bytes side by side, none goes
//! unnoticed; of others, one in four billion. This guards against mistakes of disks, tools and people: a person who
//! *wants* to forge a trace can compute the values, too.

use crc32fast::Hasher;
use thiserror::Error;

/// The text before the digits, and after them.
const MEMBER: (&[u8], &[u8]) = (b",\"crc32\":\"", b"\"}\n");
const DIGITS: usize = 8;
/// Bytes that a check value adds to a line, and the end of the line.
const TAIL: usize = MEMBER.0.len() + DIGITS + MEMBER.1.len();

/// Why a line is not the one that was recorded after the lines before it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum SealError {
    /// The line has no check value.
    #[error("the line does not end in its check value, as in `\"crc32\":\"0123abcd\"}}`")]
    MissingValue,
    /// The line has another check value than the lines so far give.
    #[error(
        "the check value is {found}, expected {expected}: the line was changed, or lines before it were removed, \
         added or moved"
    )]
    WrongValue {
        /// The check value of the line.
        found: String,
        /// The check value of all lines up to this one.
        expected: String,
    },
}

/// The running checksum of the lines so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seal(Hasher);

impl Seal {
    /// Appends its check value and a line feed to the next line, a JSON object with members.
    pub(crate) fn close(&mut self, line: &mut Vec<u8>) {
        line.push(b'\n');
        let digits = digits(self.next(line));
        line.truncate(line.len() - 2);
        line.extend_from_slice(MEMBER.0);
        line.extend_from_slice(&digits);
        line.extend_from_slice(MEMBER.1);
    }

    /// Checks the next line, as it was read, and removes its check value from the object.
    pub(crate) fn open(&mut self, line: &mut Vec<u8>) -> Result<(), SealError> {
        let found = value(line).ok_or(SealError::MissingValue)?;
        line.truncate(line.len() - TAIL);
        line.extend_from_slice(b"}\n");
        is_next(found, digits(self.next(line)))
    }

    /// Checks the next line, with its line feed and without a check value, which is `found`.
    pub(crate) fn check(&mut self, line: &[u8], found: u32) -> Result<(), SealError> {
        is_next(digits(found), digits(self.next(line)))
    }

    /// The check value of the next line, with its line feed and without a check value.
    pub(crate) fn next(&mut self, line: &[u8]) -> u32 {
        self.0.update(line);
        self.0.clone().finalize()
    }
}

fn is_next(found: [u8; DIGITS], expected: [u8; DIGITS]) -> Result<(), SealError> {
    if found == expected {
        return Ok(());
    }
    let text = |digits: [u8; DIGITS]| digits.escape_ascii().to_string();
    Err(SealError::WrongValue { found: text(found), expected: text(expected) })
}

fn digits(value: u32) -> [u8; DIGITS] {
    std::array::from_fn(|at| b"0123456789abcdef"[(value >> (4 * (DIGITS - 1 - at))) as usize & 15])
}

/// The digits of the check value at the end of a line, which includes its line feed.
fn value(line: &[u8]) -> Option<[u8; DIGITS]> {
    let (front, digits) = line.strip_suffix(MEMBER.1)?.split_last_chunk()?;
    front.ends_with(MEMBER.0).then_some(*digits)
}

/// The text of a part with these lines, JSON objects with members: each gets its check value, in place of one that
/// it may have. For programs that write a trace by other means than a
/// [`Recorder`](crate::Recorder), such as tests that alter one.
pub fn sealed<'a>(lines: impl IntoIterator<Item = &'a str>) -> String {
    let mut seal = Seal::default();
    let mut text = Vec::new();
    for line in lines {
        let mut line = [line.as_bytes(), b"\n"].concat();
        let bare = if value(&line).is_some() { line.len() - TAIL } else { line.len().saturating_sub(2) };
        line.truncate(bare);
        line.push(b'}');
        seal.close(&mut line);
        text.append(&mut line);
    }
    String::from_utf8_lossy(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_are_those_of_the_definition() {
        let text = sealed(["{\"a\":1}", "{\"b\":[2,\"}\"]}"]);
        let first = crc32fast::hash(b"{\"a\":1}\n");
        let both = crc32fast::hash(b"{\"a\":1}\n{\"b\":[2,\"}\"]}\n");
        assert_eq!(
            text,
            format!("{{\"a\":1,\"crc32\":\"{first:08x}\"}}\n{{\"b\":[2,\"}}\"],\"crc32\":\"{both:08x}\"}}\n")
        );
        assert_eq!(crc32fast::hash(b"123456789"), 0xcbf4_3926, "CRC-32, and not another of its name");
        assert_eq!(sealed(text.lines()), text, "a value is replaced by itself");
    }

    #[test]
    fn what_is_opened_is_what_was_closed() {
        let text = sealed(["{\"a\":1}", "{\"b\":2}"]);
        let mut seal = Seal::default();
        for (line, bare) in text.split_inclusive('\n').zip(["{\"a\":1}\n", "{\"b\":2}\n"]) {
            let mut line = line.as_bytes().to_vec();
            assert_eq!(seal.open(&mut line), Ok(()));
            assert_eq!(line, bare.as_bytes());
        }
        let second = text.split_inclusive('\n').nth(1).expect("there are two").as_bytes();
        let refused = Seal::default().open(&mut second.to_vec());
        assert!(matches!(refused, Err(SealError::WrongValue { .. })), "{refused:?}");
        for short in
            [&b"{\"b\":2}\n"[..], b"\n", b"", &second[1..second.len() - 1], b",\"crc32\":\"0000000\"}\n"]
        {
            assert_eq!(Seal::default().open(&mut short.to_vec()), Err(SealError::MissingValue));
        }
    }
}
