//! Drawings of counterexamples, in files.

use crate::failure::Failure;
use crate::out::to_stderr;
use carrousel_verify::report::Report;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// What a drawing's file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drawing {
    /// The drawing.
    Svg,
    /// A page around it.
    Html,
}

impl Drawing {
    /// By the name of the file.
    pub(crate) fn of(path: &Path) -> Result<Self, Failure> {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("svg") => Ok(Self::Svg),
            Some("html" | "htm") => Ok(Self::Html),
            _ => Err(Failure::wrong(format_args!("{} is neither an .svg nor an .html file", path.display()))),
        }
    }
}

/// Draws the counterexample of each violated check.
pub(crate) fn write(path: &Path, report: &Report) -> Result<(), Failure> {
    let drawing = Drawing::of(path)?;
    let mut drawn = 0;
    for check in &report.checks {
        let Some(counterexample) = &check.counterexample else { continue };
        let to = if drawn == 0 { path.to_owned() } else { beside(path, check.name) };
        drawn += 1;
        let text = match drawing {
            Drawing::Svg => counterexample.chart.svg(),
            Drawing::Html => {
                counterexample.chart.html(&format!("{}: {}", report.scenario, check.name), counterexample)
            }
        };
        fs::write(&to, text).map_err(|error| Failure::of_file("write", &to, &error))?;
        to_stderr(&format!("{}: drawn in {}", check.name, to.display()));
    }
    if drawn == 0 {
        to_stderr(&format!("nothing is violated: {} is not written", path.display()));
    }
    Ok(())
}

/// `dir/out.svg` and `request-leak`: `dir/out-request-leak.svg`.
fn beside(path: &Path, check: &str) -> PathBuf {
    let mut name = path.file_stem().map_or_else(OsString::new, OsString::from);
    name.push(format!("-{check}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_drawings_stand_beside_the_first() {
        assert_eq!(beside(Path::new("a/b.svg"), "request-leak"), Path::new("a/b-request-leak.svg"));
    }

    #[test]
    fn what_is_no_drawing_is_refused() {
        assert!(Drawing::of(Path::new("a.png")).is_err());
        assert_eq!(Drawing::of(Path::new("a.html")).ok(), Some(Drawing::Html));
    }
}
