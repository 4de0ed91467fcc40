//! A part as text, whichever form it has.

use crate::seal::Seal;
use crate::{TraceError, TracePart};
use std::path::Path;

/// The lines of a part as text: JSON objects, each with its check value and its line feed. All of them together are a part,
/// too.
#[derive(Debug)]
pub struct TraceText {
    part: TracePart,
    seal: Seal,
    text: Vec<u8>,
}

impl TraceText {
    /// Opens the part at `path`. What its lines say is not looked at.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        Ok(Self { part: TracePart::of(path)?, seal: Seal::default(), text: Vec::new() })
    }

    /// The next line; `None` behind the last one.
    ///
    /// # Errors
    /// When a line cannot be read, is not the one that was recorded there, or is no object.
    pub fn next_line(&mut self) -> Result<Option<&[u8]>, TraceError> {
        let Some(line) = self.part.next_line()? else { return Ok(None) };
        self.text.clear();
        self.text.extend_from_slice(line.strip_suffix(b"\n").unwrap_or(line));
        if self.text.last() != Some(&b'}') {
            return Err(self.part.invalid_line("no object: it does not end in a brace"));
        }
        self.seal.close(&mut self.text);
        Ok(Some(&self.text))
    }

    /// All lines from here on, as one text.
    ///
    /// # Errors
    /// Those of [`TraceText::next_line`].
    pub fn rest(mut self) -> Result<String, TraceError> {
        let mut all = String::new();
        while let Some(line) = self.next_line()? {
            all.push_str(&String::from_utf8_lossy(line));
        }
        Ok(all)
    }
}
