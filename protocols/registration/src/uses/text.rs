//! Thresholds as text: the parameter file, which a measurement writes and people edit.
//!
//! The file has a line for each path, in any order: its name, then for each size class, smallest messages first, a
//! number of uses or `never`. Text behind a `#` and empty lines are ignored.

use super::{CLASSES, Path, Thresholds};
use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt::{self, Display, Formatter};
use core::str::FromStr;
use thiserror::Error;

/// The word for [`Thresholds::NEVER`].
const NEVER: &str = "never";
const COMMENT: char = '#';
/// The number of characters of a wrong word that an error repeats: the file may contain anything.
const SHOWN: usize = 24;

/// An error in a parameter file. Lines are counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ThresholdsError {
    /// A line does not begin with a path.
    #[error("line {line}: `{found}` is no path: expected {}", Paths)]
    Path {
        /// The number of the line.
        line: usize,
        /// The word with which it begins.
        found: String,
    },
    /// A path has a second line.
    #[error("line {line}: {} has a line already, line {first}: expected one for each path", path.name())]
    Twice {
        /// The number of the line.
        line: usize,
        /// The number of the earlier line.
        first: usize,
        /// The path that has both.
        path: Path,
    },
    /// A word is neither a number of uses nor `never`.
    #[error(
        "line {line}: `{found}` is no number of uses: expected 0 to {}, or `{NEVER}` where it never pays",
        Thresholds::NEVER - 1
    )]
    Number {
        /// The number of the line.
        line: usize,
        /// The word that was found.
        found: String,
    },
    /// A line has too few numbers, or too many.
    #[error(
        "line {line}: {} has {found} numbers: expected {CLASSES}, for messages from 0 KiB, 1 KiB, up to {} KiB and more",
        path.name(),
        CLASSES - 1
    )]
    Count {
        /// The number of the line.
        line: usize,
        /// The path of the line.
        path: Path,
        /// The number of numbers.
        found: usize,
    },
    /// A path has no line.
    #[error("line {line}, the end: there is no line for {}: expected one for each path", path.name())]
    Missing {
        /// The number behind the last line.
        line: usize,
        /// The path without a line.
        path: Path,
    },
}

/// The names of all paths, in a sentence.
struct Paths;

impl Display for Paths {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (at, path) in Path::ALL.into_iter().enumerate() {
            let before = match at {
                0 => "",
                at if at + 1 == Path::ALL.len() => " or ",
                _ => ", ",
            };
            write!(f, "{before}{}", path.name())?;
        }
        Ok(())
    }
}

/// A number of uses as the file has it.
struct Uses(u32);

impl Display for Uses {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.0 == Thresholds::NEVER { f.pad(NEVER) } else { self.0.fmt(f) }
    }
}

/// The whole parameter file, with a heading.
impl Display for Thresholds {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "# Uses of a buffer from which on registering it pays, by path and size of message.")?;
        write!(f, "{:<16}", "# KiB from")?;
        for class in 0..CLASSES {
            write!(f, " {class:>6}")?;
        }
        writeln!(f)?;
        for path in Path::ALL {
            write!(f, "{:<16}", path.name())?;
            for uses in self.of(path) {
                write!(f, " {:>6}", Uses(*uses))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

impl FromStr for Thresholds {
    type Err = ThresholdsError;

    fn from_str(text: &str) -> Result<Self, ThresholdsError> {
        let mut thresholds = Self::uniform(Self::NEVER);
        // The line in which each path was found.
        let mut found = Path::ALL.map(|path| (path, None));
        let mut end = 1;
        for (line, text) in (1..).zip(text.lines()) {
            end = line + 1;
            let mut words = text.split(COMMENT).next().unwrap_or_default().split_whitespace();
            let Some(name) = words.next() else { continue };
            let Some((path, before)) = found.iter_mut().find(|(path, _)| path.name() == name) else {
                return Err(ThresholdsError::Path { line, found: shown(name) });
            };
            if let Some(first) = before.replace(line) {
                return Err(ThresholdsError::Twice { line, first, path: *path });
            }
            let row = thresholds.of_mut(*path);
            let mut count = 0;
            for word in words {
                let uses = uses(word).ok_or_else(|| ThresholdsError::Number { line, found: shown(word) })?;
                if let Some(place) = row.get_mut(count) {
                    *place = uses;
                }
                count += 1;
            }
            if count != CLASSES {
                return Err(ThresholdsError::Count { line, path: *path, found: count });
            }
        }
        match found.into_iter().find(|(_, line)| line.is_none()) {
            Some((path, _)) => Err(ThresholdsError::Missing { line: end, path }),
            None => Ok(thresholds),
        }
    }
}

fn uses(word: &str) -> Option<u32> {
    if word == NEVER { Some(Thresholds::NEVER) } else { word.parse().ok() }
}

/// The beginning of a word.
fn shown(word: &str) -> String {
    match word.char_indices().nth(SHOWN) {
        Some((at, _)) => word[..at].to_owned() + "...",
        None => word.to_owned(),
    }
}
