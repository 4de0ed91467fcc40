//! Runs the measurements of the command `carrousel` for `bench peers`.

use super::baselines::measurement;
use super::process;
use crate::tools::{self, cargo, run};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Long enough for a question that is answered at once.
const QUESTION: Duration = Duration::from_secs(30);

/// The command and what it can do.
#[derive(Debug)]
pub(super) struct CarrouselRunner {
    program: PathBuf,
    /// `bench pt2pt` is there.
    pub(super) measures: bool,
    /// `run -n N -- PROGRAM` is there.
    pub(super) starts: bool,
}

impl CarrouselRunner {
    /// Builds it, unless a built one is given, and finds out what it can do. What it cannot is noted.
    pub(super) fn prepare(given: Option<&Path>, notes: &mut Vec<String>) -> Result<Self, String> {
        let program = match given {
            Some(program) => program.to_owned(),
            None => build()?,
        };
        let mut carrousel = Self { program, measures: true, starts: true };
        let mut can = |question: Command, what: &str| {
            let answer = process::output(question, QUESTION);
            if let Err(message) = &answer {
                notes.push(format!("ours is left out of {what}: {message}"));
            }
            answer.is_ok()
        };
        let mut help = Command::new(&carrousel.program);
        help.args(["bench", "pt2pt", "--help"]);
        carrousel.measures = can(help, "the measurements");
        carrousel.starts = can(carrousel.start(1), "the start-up");
        Ok(carrousel)
    }

    /// A run of the measurements: two ranks, each pinned to its core, one JSON object a line. All that is
    /// assumed about our command line is here and in [`Self::start`].
    pub(super) fn measure(&self, bench: &str, size: u64, seconds: f64) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["bench", "pt2pt", "--format", "jsonl"]).args(measurement(bench, size, seconds));
        command
    }

    /// A job that does nothing.
    pub(super) fn start(&self, ranks: u64) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["run", "-n", &ranks.to_string(), "--", "true"]);
        command
    }
}

fn build() -> Result<PathBuf, String> {
    run(cargo(&["build", "--release", "--locked", "--package", "carrousel-cli"]))?;
    Ok(tools::target().join("release/carrousel"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_without_the_measurements_is_noted_and_left_out() {
        let mut notes = Vec::new();
        let carrousel = CarrouselRunner::prepare(Some(Path::new("false")), &mut notes).unwrap();
        assert!(!carrousel.measures && !carrousel.starts);
        assert!(notes[0].contains("false bench pt2pt --help"), "{notes:?}");
        assert_eq!(notes.len(), 2);
    }

    #[test]
    fn it_is_asked_for_lines() {
        let carrousel = CarrouselRunner { program: "carrousel".into(), measures: true, starts: true };
        let command = process::shown(&carrousel.measure("latency", 8, 0.2));
        assert_eq!(command, "carrousel bench pt2pt --format jsonl --bench latency --size 8 --seconds 0.2");
    }
}
