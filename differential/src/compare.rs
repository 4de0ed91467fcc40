//! The two verdicts on a program, side by side.

use crate::explore::{Judgement, Mode, judge};
use crate::known::{self, KnownDifference};
use crate::machine::{CHECKS, Violated};
use crate::program::Program;
use carrousel_options::vocabulary;
use carrousel_verify::explore::Limits;
use carrousel_verify::report::Verdict;
use carrousel_verify::run::{Request, check};

/// How far both may explore.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// States of the oracle.
    pub oracle: usize,
    /// States of the checker.
    pub checker: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { oracle: 60_000, checker: 400_000 }
    }
}

/// The comparison of two verdicts.
#[derive(Clone, Debug)]
pub enum Comparison {
    /// One of the two has ended at its bound.
    TooLarge,
    /// They agree, or differ as is known.
    Same {
        /// What both say; if they differ, what the oracle says.
        violated: Violated,
        /// The difference that is known.
        known: Option<&'static KnownDifference>,
        /// States of the oracle.
        states: usize,
    },
    /// They differ.
    Different {
        /// The oracle's.
        oracle: Judgement,
        /// The checker's.
        checker: Violated,
    },
    /// The checker does not take the program.
    Refused(String),
}

/// Judges a program twice.
pub fn compare(program: &Program, mode: Mode, bounds: Bounds) -> Comparison {
    let Some(oracle) = judge(program, mode, bounds.oracle) else { return Comparison::TooLarge };
    match checked(program, mode, bounds) {
        Err(error) => Comparison::Refused(error),
        Ok(None) => Comparison::TooLarge,
        Ok(Some(checker)) if checker == oracle.violated => {
            Comparison::Same { violated: checker, known: None, states: oracle.states }
        }
        Ok(Some(checker)) => match known::difference(program, mode, oracle.violated, checker) {
            None => Comparison::Different { oracle, checker },
            known => Comparison::Same { violated: oracle.violated, known, states: oracle.states },
        },
    }
}

/// The checker's verdict; `None` if it has not explored everything.
///
/// # Errors
/// When it does not take the program.
fn checked(program: &Program, mode: Mode, bounds: Bounds) -> Result<Option<Violated>, String> {
    let text = program.text("a random program", &[]);
    let scenario = carrousel_scenario::load_with("random.scn", text.as_bytes(), &vocabulary())
        .map_err(|error| error.to_string())?;
    let limits = Limits { threads: 1, max_states: Some(bounds.checker), ..Limits::default() };
    let request = Request { portable: mode == Mode::Portable, limits, ..Request::default() };
    let report = check(&scenario, &request).map_err(|error| error.to_string())?;
    if !report.exhaustive {
        return Ok(None);
    }
    let mut violated = Violated::default();
    for (bit, name) in CHECKS.iter().enumerate() {
        let found = report.checks.iter().find(|check| check.name == *name);
        if found.is_some_and(|check| check.verdict == Verdict::Violated) {
            violated |= Violated(1 << bit);
        }
    }
    Ok(Some(violated))
}
