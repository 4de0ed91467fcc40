//! The compact form of a part: its lines, with what they repeat left out.
//!
//! Lines of a part differ in numbers, most often. So a line is its *form*, the text with a zero byte in place of each
//! number, and its numbers. A form is written when it is first seen, and has a number of its own from then on; a number is
//! written as its distance from the one at the same place of the last line of the same form. All that is written are bytes
//! of seven bits and more to come ([LEB128]), and forms, which end in a line feed. A file begins with [`MAGIC`]; then each
//! line is
//!
//! - 0, a form that is kept from now on, its numbers; or 1, the line as it is; or 2 and more, the form with this number,
//!   from 2, and its numbers;
//! - the check value of the line (`seal`), in four bytes, the lowest first.
//!
//! Nothing in it knows what a record is: a new kind of record is a new form. What is kept is bounded, so that neither side
//! needs more memory for a longer part: beyond [`FORMS_MAX`] and [`FORM_BYTES_MAX`], lines of new forms are written as they
//! are. A file that ends within a line ends behind the line before.
//!
//! [LEB128]: https://en.wikipedia.org/wiki/LEB128

use std::collections::HashMap;
use std::io::{self, BufRead};
use thiserror::Error;

/// What a compact part begins with. A part of text begins with a brace.
pub(crate) const MAGIC: &[u8] = b"carrousel trace, compact 1\n";
/// The forms that are kept, at most.
const FORMS_MAX: usize = 1 << 12;
/// The bytes of all forms that are kept, at most.
const FORM_BYTES_MAX: usize = 1 << 20;
/// Bytes of a check value.
const VALUE_BYTES: usize = 4;

/// The number of a form that is new.
const NEW: u64 = 0;
/// The number of a line that is written as it is.
const AS_IT_IS: u64 = 1;
/// The number of the first form.
const FIRST: u64 = 2;

/// The forms so far, which both sides keep alike.
#[derive(Debug, Default)]
struct Kept {
    forms: usize,
    bytes: usize,
}

impl Kept {
    /// Whether one more form is kept, which then is.
    fn takes(&mut self, form: &[u8]) -> bool {
        let takes = self.forms < FORMS_MAX && self.bytes + form.len() <= FORM_BYTES_MAX;
        if takes {
            self.forms += 1;
            self.bytes += form.len();
        }
        takes
    }
}

/// Writes lines in the compact form.
#[derive(Debug, Default)]
pub(crate) struct Encoder {
    kept: Kept,
    /// The number of each form.
    known: HashMap<Box<[u8]>, usize>,
    /// Of each form, the numbers of its last line.
    last: Vec<Vec<u64>>,
    form: Vec<u8>,
    numbers: Vec<u64>,
}

impl Encoder {
    /// Appends a line, without its line feed, with its check value.
    pub(crate) fn encode(&mut self, line: &[u8], value: u32, out: &mut Vec<u8>) {
        split(line, &mut self.form, &mut self.numbers);
        match self.known.get(&self.form[..]) {
            Some(&at) => {
                put(out, FIRST + at as u64);
                distances(out, &mut self.last[at], &self.numbers);
            }
            None if self.kept.takes(&self.form) => {
                put(out, NEW);
                out.extend_from_slice(&self.form);
                out.push(b'\n');
                let mut last = vec![0; self.numbers.len()];
                distances(out, &mut last, &self.numbers);
                self.known.insert(self.form.as_slice().into(), self.last.len());
                self.last.push(last);
            }
            None => {
                put(out, AS_IT_IS);
                out.extend_from_slice(line);
                out.push(b'\n');
            }
        }
        out.extend_from_slice(&value.to_le_bytes());
    }
}

/// Takes a line apart. A number that is not written as this crate writes numbers stays in the form.
fn split(line: &[u8], form: &mut Vec<u8>, numbers: &mut Vec<u64>) {
    form.clear();
    numbers.clear();
    let (mut at, mut in_string) = (0, false);
    while let Some(&byte) = line.get(at) {
        if !in_string && byte.is_ascii_digit() {
            let len = line[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            let digits = &line[at..at + len];
            match number(digits) {
                Some(number) => {
                    form.push(0);
                    numbers.push(number);
                }
                None => form.extend_from_slice(digits),
            }
            at += len;
            continue;
        }
        form.push(byte);
        at += 1;
        match byte {
            b'"' => in_string = !in_string,
            b'\\' if in_string => {
                form.extend(line.get(at));
                at += 1;
            }
            _ => {}
        }
    }
}

/// The number with these digits, if they are how it is written.
fn number(digits: &[u8]) -> Option<u64> {
    if digits.len() > 1 && digits[0] == b'0' {
        return None;
    }
    digits
        .iter()
        .try_fold(0_u64, |number, digit| number.checked_mul(10)?.checked_add(u64::from(digit - b'0')))
}

fn distances(out: &mut Vec<u8>, last: &mut [u64], numbers: &[u64]) {
    for (last, number) in last.iter_mut().zip(numbers) {
        let distance = number.wrapping_sub(*last).cast_signed();
        *last = *number;
        // Small distances, of either sign, are small numbers.
        put(out, (distance << 1 ^ distance >> 63).cast_unsigned());
    }
}

fn put(out: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Why bytes are no line.
#[derive(Debug, Error)]
pub(crate) enum CompactError {
    /// The system has refused to read.
    #[error(transparent)]
    System(#[from] io::Error),
    /// The file ends within the line.
    #[error("the file ends within it")]
    Cut,
    /// A form that nobody has kept.
    #[error("it has the form {form}, and {forms} have been kept")]
    NoForm {
        /// Its number, from 0.
        form: u64,
        /// How many there are.
        forms: usize,
    },
    /// More forms than a recorder keeps.
    #[error("more than {FORMS_MAX} forms, or {FORM_BYTES_MAX} bytes of them")]
    Forms,
    /// A number that is none.
    #[error("a number of more than 64 bits")]
    Number,
    /// The line is too long.
    #[error("a line of more than {0} bytes")]
    Long(usize),
}

/// Reads lines in the compact form.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    kept: Kept,
    /// Each form, and the numbers of its last line.
    forms: Vec<(Box<[u8]>, Vec<u64>)>,
    /// Bytes that were read.
    read: u64,
}

impl Decoder {
    /// Reads the next line into `line`, without a line feed, and its check value. `None` at the end.
    pub(crate) fn decode(
        &mut self,
        from: &mut impl BufRead,
        line: &mut Vec<u8>,
        most: usize,
    ) -> Result<Option<u32>, CompactError> {
        line.clear();
        if from.fill_buf()?.is_empty() {
            return Ok(None);
        }
        match self.number(from)? {
            NEW => {
                let mut form = Vec::new();
                self.text(from, &mut form, most)?;
                if !self.kept.takes(&form) {
                    return Err(CompactError::Forms);
                }
                let numbers = vec![0; form.iter().filter(|byte| **byte == 0).count()];
                self.forms.push((form.into(), numbers));
                self.fill(self.forms.len() - 1, from, line, most)?;
            }
            AS_IT_IS => self.text(from, line, most)?,
            form => {
                let (form, forms) = (form - FIRST, self.forms.len());
                let at = usize::try_from(form).ok().filter(|at| *at < forms);
                let at = at.ok_or(CompactError::NoForm { form, forms })?;
                self.fill(at, from, line, most)?;
            }
        }
        let mut value = [0; VALUE_BYTES];
        for byte in &mut value {
            *byte = self.byte(from)?;
        }
        Ok(Some(u32::from_le_bytes(value)))
    }

    /// Bytes that were read.
    pub(crate) fn read(&self) -> u64 {
        self.read
    }

    fn fill(
        &mut self,
        at: usize,
        from: &mut impl BufRead,
        line: &mut Vec<u8>,
        most: usize,
    ) -> Result<(), CompactError> {
        // Its place is empty only while it is filled.
        let (form, mut last) = std::mem::take(&mut self.forms[at]);
        let mut numbers = last.iter_mut();
        let mut filled = Ok(());
        for byte in &form {
            // A form has as many numbers as zero bytes.
            let number = if *byte == 0 { numbers.next() } else { None };
            match number {
                Some(last) => match self.number(from) {
                    Ok(distance) => {
                        let distance = (distance >> 1).cast_signed() ^ -((distance & 1).cast_signed());
                        *last = last.wrapping_add_signed(distance);
                        line.extend_from_slice(last.to_string().as_bytes());
                    }
                    Err(error) => {
                        filled = Err(error);
                        break;
                    }
                },
                None => line.push(*byte),
            }
            if line.len() > most {
                filled = Err(CompactError::Long(most));
                break;
            }
        }
        self.forms[at] = (form, last);
        filled
    }

    /// Reads up to a line feed.
    fn text(&mut self, from: &mut impl BufRead, text: &mut Vec<u8>, most: usize) -> Result<(), CompactError> {
        loop {
            match self.byte(from)? {
                b'\n' => return Ok(()),
                _ if text.len() == most => return Err(CompactError::Long(most)),
                byte => text.push(byte),
            }
        }
    }

    fn number(&mut self, from: &mut impl BufRead) -> Result<u64, CompactError> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte(from)?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(CompactError::Number)
    }

    fn byte(&mut self, from: &mut impl BufRead) -> Result<u8, CompactError> {
        let byte = *from.fill_buf()?.first().ok_or(CompactError::Cut)?;
        from.consume(1);
        self.read += 1;
        Ok(byte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(lines: &[&str]) -> Vec<u8> {
        let (mut encoder, mut out) = (Encoder::default(), Vec::new());
        lines.iter().zip(7..).for_each(|(line, value)| encoder.encode(line.as_bytes(), value, &mut out));
        out
    }

    fn decoded(mut bytes: &[u8], most: usize) -> Result<Vec<(String, u32)>, CompactError> {
        let (mut decoder, mut line, mut lines) = (Decoder::default(), Vec::new(), Vec::new());
        while let Some(value) = decoder.decode(&mut bytes, &mut line, most)? {
            lines.push((String::from_utf8_lossy(&line).into_owned(), value));
        }
        Ok(lines)
    }

    #[test]
    fn a_line_comes_back_to_the_last_byte() {
        let lines = [
            r#"{"a":1,"b":[0,18446744073709551615]}"#,
            r#"{"a":2,"b":[18446744073709551615,0]}"#,
            r#"{"a":01,"b":[1.05,-7,1e3,18446744073709551616]}"#,
            r#"{"name 7 \"8\\":9}"#,
            r#"{"name 7 \"8\\":10}"#,
            r#"{"cut":"\"#,
            "",
        ];
        let read = decoded(&encoded(&lines), 100).expect("they are lines");
        assert_eq!(read, lines.map(str::to_owned).into_iter().zip(7..).collect::<Vec<_>>());
    }

    #[test]
    fn a_line_like_the_one_before_takes_a_byte_for_each_number() {
        let line =
            |at: u32| format!(r#"{{"event":{{"written":{{"index":{at},"generation":{}}}}}}}"#, at + 70000);
        let (one, two) = (line(3000), line(3001));
        assert_eq!(encoded(&[&one, &two]).len(), encoded(&[&one]).len() + 1 + 2 + VALUE_BYTES);
    }

    #[test]
    fn of_new_forms_without_end_only_so_many_are_kept() {
        let lines: Vec<String> = (0..FORMS_MAX + 3).map(|at| format!("{{\"{at}\":{at}}}")).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let bytes = encoded(&lines);
        let read = decoded(&bytes, 100).expect("they are lines");
        assert!(read.iter().map(|(line, _)| line).eq(lines.iter()));
        // A file with one more is not a recorder's.
        let (mut decoder, mut line) = (Decoder::default(), Vec::new());
        let more: Vec<u8> = (0..=FORMS_MAX).flat_map(|_| *b"\0x\n\0\0\0\0").collect();
        let mut from = &more[..];
        let refused = loop {
            match decoder.decode(&mut from, &mut line, 100) {
                Ok(Some(_)) => {}
                other => break other,
            }
        };
        assert!(matches!(refused, Err(CompactError::Forms)), "{refused:?}");
        let long = ["x".repeat(FORM_BYTES_MAX), "y".to_owned(), "y".to_owned()];
        let long: Vec<&str> = long.iter().map(String::as_str).collect();
        assert_eq!(decoded(&encoded(&long), FORM_BYTES_MAX).expect("they are lines").len(), 3);
    }

    #[test]
    fn bytes_that_are_no_line_are_refused() {
        let refused = |bytes: &[u8]| decoded(bytes, 10).expect_err("it is none").to_string();
        assert_eq!(refused(&[2]), "it has the form 0, and 0 have been kept");
        assert_eq!(refused(&[0xff; 10]), "a number of more than 64 bits");
        assert_eq!(refused(b"\x01abcdefghijk\n1234"), "a line of more than 10 bytes");
        assert_eq!(refused(b"\x00\0\0\0\0\0\0\0\0\0\0\0\n"), "a line of more than 10 bytes");
        let wide = [&b"\0\0\n"[..], &[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], &[0; 4]];
        assert_eq!(decoded(&wide.concat(), 20).expect("it is one")[0].0, "9223372036854775807");
        assert_eq!(refused(&wide.concat()), "a line of more than 10 bytes");
        let whole = encoded(&[r#"{"a":1}"#]);
        for cut in 1..whole.len() {
            assert_eq!(refused(&whole[..cut]), "the file ends within it", "{cut} bytes");
        }
    }
}
