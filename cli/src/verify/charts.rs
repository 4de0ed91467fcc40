//! Drawings of counterexamples, in files.

use crate::failure::{Failure, shown};
use carrousel_system::stderr;
use carrousel_verify::report::Report;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// The file format of a drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drawing {
    /// The drawing.
    Svg,
    /// A page around it.
    Html,
}

impl Drawing {
    /// By the name of the file, whose directory has to be there: it is written when all work is done.
    pub(crate) fn of(path: &Path) -> Result<Self, Failure> {
        if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty())
            && !directory.is_dir()
        {
            let missing =
                format_args!("cannot write {}: there is no directory {}", shown(path), shown(directory));
            return Err(Failure::wrong(missing));
        }
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("svg") => Ok(Self::Svg),
            Some("html" | "htm") => Ok(Self::Html),
            _ => Err(Failure::wrong(format_args!("{} is neither an .svg nor an .html file", shown(path)))),
        }
    }
}

/// Draws the counterexample of each violated check.
pub(crate) fn write(path: &Path, drawing: Drawing, report: &Report) -> Result<(), Failure> {
    let mut drawn = 0;
    for check in &report.checks {
        let Some(counterexample) = &check.counterexample else { continue };
        let to = if drawn == 0 { path.to_owned() } else { beside(path, check.name) };
        drawn += 1;
        let title = format!("{}: {} is violated", report.scenario, check.name);
        let text = match drawing {
            Drawing::Svg => counterexample.chart.titled_svg(&title),
            Drawing::Html => counterexample.chart.html(&title, counterexample),
        };
        fs::write(&to, text).map_err(|error| Failure::of_file("write", &to, &error))?;
        stderr::tell(format!("{}: drawn in {}", check.name, shown(&to)));
    }
    if drawn == 0 {
        stderr::tell(format!("nothing is violated: {} is not written", shown(path)));
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
        assert!(Drawing::of(Path::new("no/such/directory/a.svg")).is_err());
        assert_eq!(Drawing::of(Path::new("a.html")).ok(), Some(Drawing::Html));
    }
}
