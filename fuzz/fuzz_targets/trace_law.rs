//! What holds for any bytes that are read as the parts of a trace, and replayed; shared by the fuzzer and the
//! replay of its corpus.

use carrousel_trace::{Trace, TraceError, TraceText, part_of, sealed};
use carrousel_verify::replay;
use std::fs;
use std::path::{Path, PathBuf};

/// What a part in the compact form begins with.
const COMPACT: &[u8] = b"carrousel trace, compact 1\n";

/// Panics when `bytes` break a promise: the parts of ranks 0, 1 and so on, with a zero between two of them; or one in the
/// compact form, which has zeros.
pub(crate) fn holds(bytes: &[u8]) {
    if bytes.starts_with(COMPACT) {
        return compact_holds(bytes);
    }
    let parts: Vec<&[u8]> = bytes.split(|byte| *byte == 0).take(4).collect();
    let raw = Place::with(&parts);
    match read(&raw.0) {
        Ok(whole) => {
            for (part, text) in whole.iter().zip(&parts) {
                let text = String::from_utf8_lossy(text);
                assert!(!part || sealed(text.lines()) == text, "only what was recorded is read to its end");
            }
        }
        Err(error) => told(&error, &raw.0),
    }
    // With the check values that they need, so that the records themselves are read.
    let sealed: Vec<String> =
        parts.iter().map(|part| sealed(String::from_utf8_lossy(part).lines())).collect();
    let place = Place::with(&sealed);
    match Trace::open(&place.0).and_then(|trace| replay::check(trace, &|_| ())) {
        Ok(report) => {
            assert_eq!(report.departure.is_some(), report.verdict == replay::ReplayVerdict::Departed)
        }
        Err(error) => told(&error, &place.0),
    }
}

/// Panics when the bytes of a compact part break a promise: what is read of it is the same as what is read of its text.
fn compact_holds(bytes: &[u8]) {
    let place = Place::with(&[bytes]);
    let path = part_of(&place.0, 0);
    let text = TraceText::open(&path).and_then(TraceText::rest);
    let of_form = Trace::open(&place.0).and_then(|trace| replay::check(trace, &|_| ()));
    match text {
        // Parts of endpoints have other names.
        Ok(text) if text.lines().next().is_some_and(|head| head.contains("\"endpoint\":")) => {}
        Ok(text) => {
            let of_its_text = Place::with(&[text]);
            let of_text = Trace::open(&of_its_text.0).and_then(|trace| replay::check(trace, &|_| ()));
            assert_eq!(of_form.ok(), of_text.ok(), "its text says something else");
        }
        Err(error) => {
            told(&error, &place.0);
            assert!(
                of_form.map_or_else(|_| true, |report| report.departure.is_some()),
                "it is read nonetheless"
            );
        }
    }
}

/// Reads all parts. Whether each was read to its last line.
fn read(directory: &Path) -> Result<Vec<bool>, TraceError> {
    let mut trace = Trace::open(directory)?;
    let mut whole = Vec::new();
    for part in trace.parts.iter_mut().flatten() {
        while part.next_record()?.is_some() {}
        whole.push(part.end().is_some());
    }
    Ok(whole)
}

fn told(error: &TraceError, directory: &Path) {
    let text = error.to_string();
    assert!(text.contains(&*directory.to_string_lossy()), "it is not said where: {text}");
}

/// A directory that is gone when this is.
struct Place(PathBuf);

impl Place {
    fn with<T: AsRef<[u8]>>(parts: &[T]) -> Self {
        let place = Self(std::env::temp_dir().join(format!("carrousel-fuzz-trace-{}", std::process::id())));
        let _ = fs::remove_dir_all(&place.0);
        fs::create_dir(&place.0).expect("it can be made");
        for (part, rank) in parts.iter().zip(0..) {
            // The parts of endpoints have names of their own.
            let head = part.as_ref().split(|byte| *byte == b'\n').next().unwrap_or_default();
            let path = if String::from_utf8_lossy(head).contains("\"endpoint\":") {
                place.0.join(format!("endpoint-0-{rank}.jsonl"))
            } else {
                part_of(&place.0, rank)
            };
            fs::write(path, part).expect("it can be written");
        }
        place
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
