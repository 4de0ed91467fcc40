//! Reading scenarios.

use crate::failure::{Failure, shown};
use crate::status::Status;
use crate::style::{Paint, Style};
use carrousel_options::{OptionEntry, OptionError, Settings, read_bounded, vocabulary};
use carrousel_scenario::{Scenario, load_with};
use std::fmt::Display;
use std::fs::File;
use std::io::{self, ErrorKind, Read, stdin};
use std::path::Path;

/// Bytes of the largest report of a suite. A whole one has some hundred KiB.
const REPORT_BYTES_MAX: u64 = 64 << 20;

/// The bytes of a file, or of standard input for `-`, as many as a scenario may have.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    read_by(path, |from| carrousel_scenario::read(from))
}

/// The bytes of a file, or of standard input for `-`, if they are no more than a report may have.
pub(crate) fn read_report(path: &Path) -> Result<Vec<u8>, Failure> {
    read_by(path, |from| read_bounded(from, REPORT_BYTES_MAX))
}

fn read_by(path: &Path, read: impl Fn(&mut dyn Read) -> io::Result<Vec<u8>>) -> Result<Vec<u8>, Failure> {
    let done = if path == Path::new("-") {
        read(&mut stdin().lock())
    } else {
        File::open(path).and_then(|mut file| read(&mut file))
    };
    match done {
        Ok(bytes) => Ok(bytes),
        Err(error) => {
            let failure = Failure::of_file("read", path, &error);
            Err(match error.kind() {
                ErrorKind::IsADirectory => {
                    failure.with_help(format_args!("name files, such as {}", shown(path.join("*.scn"))))
                }
                _ => failure,
            })
        }
    }
}

/// The name of a file in messages.
pub(crate) fn name(path: &Path) -> String {
    if path == Path::new("-") { "<stdin>".to_owned() } else { shown(path) }
}

/// The options that the environment sets, and the file that it names.
pub(crate) fn settings() -> Result<Settings, Failure> {
    let explain = |error: OptionError| {
        let failure = Failure::wrong(&error);
        match error.help {
            Some(help) => failure.with_help(help),
            None => failure,
        }
    };
    Settings::read().map_err(explain)
}

/// A scenario, with the options that the environment sets and the file does not.
pub(crate) fn scenario(path: &Path, settings: &Settings, errors: Style) -> Result<Scenario, Failure> {
    let loaded = load_with(&name(path), &read(path)?, &vocabulary());
    let mut scenario =
        loaded.map_err(|error| Failure::diagnostic(error.render(errors.color), Status::Wrong))?;
    for setting in &scenario.options {
        OptionEntry::check(setting).map_err(|message| at_line(&scenario, setting.line, message, errors))?;
    }
    settings.apply(&mut scenario);
    Ok(scenario)
}

/// `FILE:LINE:COL: message`, the source line and a marker below the whole statement.
pub(crate) fn at_line(scenario: &Scenario, line: u32, message: impl Display, errors: Style) -> Failure {
    let whole = scenario.source.lines().nth((line as usize).saturating_sub(1)).unwrap_or("");
    let statement = whole.split('#').next().unwrap_or("").trim();
    let column = whole.chars().take_while(|c| c.is_whitespace()).count() + 1;
    let place = format!("{}:{line}:{column}: {message}", scenario.file);
    let gutter = " ".repeat(line.to_string().len());
    let shown: String = statement.chars().take(100).collect();
    let marker = "^".repeat(shown.chars().count().max(1));
    let text = format!(
        "{}\n {line} | {shown}\n {gutter} | {}",
        errors.paint(Paint::Strong, &place),
        errors.paint(Paint::Bad, &marker)
    );
    Failure::diagnostic(text, Status::Wrong)
}
