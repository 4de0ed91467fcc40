//! Standard error, for what a person is told.

use std::io::{self, Write};

/// Writes a text and a line feed to standard error in one call of the system, so that the texts of several processes do not
/// mix within a line. A closed standard error is ignored.
pub fn tell(text: impl AsRef<str>) {
    tell_to(&mut io::stderr().lock(), text.as_ref());
}

fn tell_to(to: &mut impl Write, text: &str) {
    let mut line = String::with_capacity(text.len() + 1);
    line.push_str(text);
    line.push('\n');
    let _ = to.write_all(line.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A descriptor that counts the writes.
    #[derive(Default)]
    struct Written(Vec<Vec<u8>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.push(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_text_of_several_lines_is_one_write() {
        let mut written = Written::default();
        tell_to(&mut written, "rank 1 has waited:\n  * receive");
        assert_eq!(written.0, [b"rank 1 has waited:\n  * receive\n".to_vec()]);
    }
}
