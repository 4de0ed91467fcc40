//! Lines of PMI-1: `cmd=NAME key=value key=value`, as both sides read and write them.

use thiserror::Error;

/// A line that was read. It borrows the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PmiLine<'a> {
    /// The name of the request or the answer.
    pub(crate) command: &'a str,
    words: Vec<(&'a str, &'a str)>,
}

/// Why bytes are not a line of PMI-1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum PmiLineError {
    /// The line is not text.
    #[error("the line is not UTF-8")]
    NotUtf8,
    /// The line does not begin with a command.
    #[error("the line does not begin with `cmd=`")]
    NoCommand,
    /// A word has a value without a key.
    #[error("a word has an empty key")]
    EmptyKey,
}

impl<'a> PmiLine<'a> {
    /// Reads a line, which is given without its end.
    ///
    /// A word without `=` belongs to the value before it: launchers put plain sentences into `msg=`.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, PmiLineError> {
        let text = str::from_utf8(bytes).map_err(|_| PmiLineError::NotUtf8)?.trim_ascii();
        let mut words: Vec<(&str, &str)> = Vec::new();
        let mut value_begins = 0;
        let mut position = 0;
        for word in text.split(' ') {
            let (begins, ends) = (position, position + word.len());
            position = ends + 1;
            match word.split_once('=') {
                Some(("", _)) => return Err(PmiLineError::EmptyKey),
                Some((key, value)) => {
                    value_begins = begins + key.len() + 1;
                    words.push((key, value));
                }
                // A second blank in a row.
                None if word.is_empty() => {}
                None => words.last_mut().ok_or(PmiLineError::NoCommand)?.1 = &text[value_begins..ends],
            }
        }
        if words.first().is_none_or(|(key, value)| *key != "cmd" || value.is_empty()) {
            return Err(PmiLineError::NoCommand);
        }
        let (_, command) = words.remove(0);
        Ok(Self { command, words })
    }

    /// The value of a key: that of its first word.
    pub(crate) fn get(&self, key: &str) -> Option<&'a str> {
        self.words.iter().find(|(known, _)| *known == key).map(|(_, value)| *value)
    }

    /// The value of a key that is a number.
    pub(crate) fn number<T: std::str::FromStr>(&self, key: &str) -> Option<T> {
        self.get(key)?.parse().ok()
    }
}

/// A line that is being written.
#[derive(Debug)]
pub(crate) struct PmiLineWriter(String);

impl PmiLineWriter {
    /// Begins a line.
    pub(crate) fn new(command: &str) -> Self {
        Self(String::new()).word("cmd", command)
    }

    /// Appends a word. Characters that would end the line are replaced: a value must not become a second request.
    pub(crate) fn word(mut self, key: &str, value: impl std::fmt::Display) -> Self {
        if !self.0.is_empty() {
            self.0.push(' ');
        }
        self.0 += &format!("{key}={value}").replace(['\n', '\r', '\0'], "_");
        self
    }

    /// The line, with its end.
    pub(crate) fn finish(mut self) -> String {
        self.0.push('\n');
        self.0
    }
}

/// Encodes any bytes in letters and digits, which have no other meaning to a launcher.
pub(crate) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Decodes the text of [`to_hex`]. `None` for any other text.
pub(crate) fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let digit = |byte: u8| (byte as char).to_digit(16).map(|digit| digit as u8);
    digits.chunks_exact(2).map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, command: &str, words: &[(&str, &str)]) {
        assert_eq!(PmiLine::parse(text.as_bytes()), Ok(PmiLine { command, words: words.to_vec() }), "{text}");
    }

    #[test]
    fn words_are_pairs() {
        check("cmd=barrier_in", "barrier_in", &[]);
        check("cmd=put key=a value=b=c\r", "put", &[("key", "a"), ("value", "b=c")]);
        check(" cmd=get   key=a ", "get", &[("key", "a")]);
    }

    #[test]
    fn a_sentence_is_one_value() {
        check(
            "cmd=abort exitcode=2 message=no  more memory",
            "abort",
            &[("exitcode", "2"), ("message", "no  more memory")],
        );
    }

    #[test]
    fn invalid_lines_are_refused() {
        for text in ["", " ", "cmd=", "cmd", "key=a cmd=get", "hello"] {
            assert_eq!(PmiLine::parse(text.as_bytes()), Err(PmiLineError::NoCommand), "{text:?}");
        }
        assert_eq!(PmiLine::parse(b"cmd=get =a"), Err(PmiLineError::EmptyKey));
        assert_eq!(PmiLine::parse(b"cmd=\xff"), Err(PmiLineError::NotUtf8));
    }

    #[test]
    fn a_value_cannot_end_its_line() {
        let line = PmiLineWriter::new("abort").word("message", "a\ncmd=finalize").finish();
        assert_eq!(line, "cmd=abort message=a_cmd=finalize\n");
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_line_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = PmiLine::parse(&bytes);
        }

        #[test]
        fn any_words_are_a_line_or_an_error(text in "(cmd=[a-z]{0,3})?([ =a-z;]{0,3}=?[ \\PC]{0,4}){0,6}") {
            let _ = PmiLine::parse(text.as_bytes());
        }

        #[test]
        fn what_is_written_is_read(command in "[a-z_]{1,12}", key in "[a-z]{1,5}", value in "[!-~]{0,40}") {
            prop_assume!(key != "cmd");
            let text = PmiLineWriter::new(&command).word(&key, &value).finish();
            let line = PmiLine::parse(text.as_bytes()).expect("it was written here");
            prop_assert_eq!(line.command, command);
            prop_assert_eq!(line.get(&key), Some(value.as_str()));
        }

        #[test]
        fn hex_is_read_back(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            prop_assert_eq!(from_hex(&to_hex(&bytes)), Some(bytes));
        }

        #[test]
        fn hex_is_nothing_else(text in "\\PC{0,8}") {
            if let Some(bytes) = from_hex(&text) {
                prop_assert_eq!(to_hex(&bytes), text.to_lowercase());
            }
        }
    }
}
