//! The names of the files of a trace.

use std::fs;
use std::path::{Path, PathBuf};

const PREFIX: &str = "rank-";
const ENDPOINT: &str = "endpoint-";
/// The end of the name of a part that a recorder writes.
const SUFFIX: &str = ".trace";
/// The end of the name of a part that another program has written, as text. Which form a part has, it says itself.
const TEXT: &str = ".jsonl";

/// The path of a rank's part, as a recorder writes it.
pub fn part_of(directory: &Path, rank: u32) -> PathBuf {
    directory.join(format!("{PREFIX}{rank}{SUFFIX}"))
}

/// The path of a rank's part that is there, or that of the one that would be.
pub fn found_part_of(directory: &Path, rank: u32) -> PathBuf {
    let text = directory.join(format!("{PREFIX}{rank}{TEXT}"));
    if text.exists() { text } else { part_of(directory, rank) }
}

/// The path of the part of an endpoint: one of several that a process may have.
pub(crate) fn endpoint_part(directory: &Path, process: u32, number: u32) -> PathBuf {
    directory.join(format!("{ENDPOINT}{process}-{number}{SUFFIX}"))
}

/// Whether a directory has a part of a trace.
pub fn has_part(directory: &Path) -> bool {
    let mut names = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.file_name());
    names.any(|name| is_part(&name.to_string_lossy()))
}

/// Whether a part has this name.
pub(crate) fn is_part(name: &str) -> bool {
    rank_of(name).is_some() || is_endpoint(name)
}

/// The rank whose part has this name; `None` if no part has it.
pub(crate) fn rank_of(name: &str) -> Option<u32> {
    number(stem(name)?.strip_prefix(PREFIX)?)
}

/// Whether the part of an endpoint has this name.
pub(crate) fn is_endpoint(name: &str) -> bool {
    let numbers = stem(name).and_then(|stem| stem.strip_prefix(ENDPOINT));
    let numbers = numbers.and_then(|numbers| numbers.split_once('-'));
    numbers.is_some_and(|(process, of_process)| number(process).and(number(of_process)).is_some())
}

/// The name of a part without its end.
fn stem(name: &str) -> Option<&str> {
    name.strip_suffix(SUFFIX).or_else(|| name.strip_suffix(TEXT))
}

/// The number with these digits. Each has one name: no sign, no leading zero.
fn number(digits: &str) -> Option<u32> {
    let number = digits.parse().ok()?;
    (format!("{number}") == digits).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_one_name() {
        let parts = [part_of(Path::new(""), 7), endpoint_part(Path::new(""), 7, 0)];
        assert!(parts.iter().all(|part| is_part(&part.to_string_lossy())));
        assert!(["rank-7.jsonl", "endpoint-7-0.jsonl"].into_iter().all(is_part), "text is read, too");
        for wrong in
            ["rank-07.trace", "rank-+7.jsonl", "rank-.jsonl", "rank-7", "endpoint-7.trace", "x-1-1.jsonl"]
        {
            assert!(!is_part(wrong) && !is_part(&format!("endpoint-1-{wrong}")), "{wrong}");
        }
    }
}
