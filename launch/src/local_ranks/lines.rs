//! Cuts the output of ranks at line ends.

use crate::flow::Inbox;

/// A line of this many bytes or more is passed on in pieces.
const LONG: usize = 64 << 10;

/// Takes the bytes that can be passed on from `inbox`: whole lines, or all bytes, if no more will come or the line is
/// too long to be kept. Puts `prefix` in front of each line.
pub(super) fn take(inbox: &mut Inbox, prefix: Option<&str>, last: bool) -> Vec<u8> {
    let ready = match inbox.bytes().iter().rposition(|byte| *byte == b'\n') {
        _ if last => inbox.len(),
        Some(end) => end + 1,
        None if inbox.len() >= LONG => inbox.len(),
        None => 0,
    };
    if ready == 0 {
        return Vec::new();
    }
    let mut bytes = inbox.take(ready);
    if let Some(prefix) = prefix {
        let mut marked = Vec::with_capacity(bytes.len() + 4 * prefix.len());
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            marked.extend_from_slice(prefix.as_bytes());
            marked.extend_from_slice(line);
        }
        bytes = marked;
    }
    // The next bytes of output may be another rank's. Without prefixes, a long line stays one line.
    if bytes.last() != Some(&b'\n') && (last || prefix.is_some()) {
        bytes.push(b'\n');
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Write;

    fn check(arrived: &[u8], prefix: Option<&str>, last: bool, expected: &[u8], left: usize) {
        let (read, write) = std::io::pipe().expect("there are pipes");
        let (mut inbox, mut write) = (Inbox::default(), File::from(std::os::fd::OwnedFd::from(write)));
        for piece in arrived.chunks(4096) {
            write.write_all(piece).expect("it fits");
            inbox.fill(&read);
        }
        assert_eq!(take(&mut inbox, prefix, last), expected);
        assert_eq!(inbox.len(), left);
    }

    #[test]
    fn lines_are_passed_on_whole() {
        check(b"a\nb", None, false, b"a\n", 1);
        check(b"ab", None, false, b"", 2);
        check(b"a\n\nb\n", Some("[3] "), false, b"[3] a\n[3] \n[3] b\n", 0);
    }

    #[test]
    fn the_last_line_ends_too() {
        check(b"a\nb", None, true, b"a\nb\n", 0);
        check(b"b", Some("[0] "), true, b"[0] b\n", 0);
        check(b"", Some("[0] "), true, b"", 0);
    }

    #[test]
    fn a_long_line_is_not_kept() {
        let long = vec![b'x'; LONG];
        check(&long, None, false, &long, 0);
        check(&long, Some("> "), false, &[b"> ", &long[..], b"\n"].concat(), 0);
    }
}
