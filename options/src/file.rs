//! Reading files that a user has named. Nothing about them is trusted, not even that they end.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Bytes of the largest file of options, and of other files that options name. People write such files: even with
/// comments they have a few KiB.
pub const FILE_BYTES_MAX: u64 = 1 << 20;

/// Reads all bytes, if there are no more than `bytes_max`.
///
/// # Errors
/// When there are more bytes (one more than `bytes_max` is read, even from a source without an end), or reading fails.
pub fn read_bounded(from: impl Read, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        let what = format!("it is too large, or has no end: expected at most {bytes_max} bytes");
        return Err(io::Error::new(ErrorKind::FileTooLarge, what));
    }
    Ok(bytes)
}

/// The text of a file of up to [`FILE_BYTES_MAX`].
///
/// # Errors
/// When it is larger, or not text, or the path does not name a file. A pipe is an error: every rank reads the file for
/// itself, and only one would get the text. A device is read; `/dev/null` is an empty file.
pub fn read_text(path: &Path) -> io::Result<String> {
    // Checked before it is opened: opening a pipe waits for a writer.
    let kind = fs::metadata(path)?.file_type();
    if !kind.is_file() && !kind.is_char_device() {
        let found = match () {
            () if kind.is_dir() => "a directory",
            () if kind.is_fifo() => "a pipe",
            () => "something else",
        };
        return Err(io::Error::new(ErrorKind::InvalidInput, format!("expected a file, found {found}")));
    }
    let bytes = read_bounded(File::open(path)?, FILE_BYTES_MAX)?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        io::Error::new(
            ErrorKind::InvalidData,
            format!("expected text in UTF-8, which it is not from byte {at} on"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_end_is_refused() {
        assert_eq!(read_bounded(&b"abc"[..], 3).expect("it fits"), b"abc");
        let error = read_bounded(io::repeat(0), 3).expect_err("it has no end").to_string();
        assert_eq!(error, "it is too large, or has no end: expected at most 3 bytes");
        let error = read_text(Path::new("/dev/zero")).expect_err("it has no end").to_string();
        assert_eq!(error, "it is too large, or has no end: expected at most 1048576 bytes");
    }

    #[test]
    fn the_kind_of_a_file_other_than_text_is_named() {
        assert_eq!(read_text(Path::new("/dev/null")).expect("it is empty"), "");
        let told = |path: &Path| read_text(path).expect_err("it is no file of text").to_string();
        assert_eq!(told(Path::new("/")), "expected a file, found a directory");
        let place = std::env::temp_dir().join(format!("carrousel-file-{}", std::process::id()));
        fs::write(&place, b"ab\xff").expect("it can be written");
        assert_eq!(told(&place), "expected text in UTF-8, which it is not from byte 2 on");
        fs::remove_file(&place).expect("it is there");
        let made = std::process::Command::new("mkfifo").arg(&place).status().expect("there is a mkfifo");
        assert!(made.success());
        // The pipe never has a writer.
        assert_eq!(told(&place), "expected a file, found a pipe");
        fs::remove_file(&place).expect("it is there");
    }
}
