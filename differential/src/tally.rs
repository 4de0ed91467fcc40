//! What was compared, and what came out.

use crate::compare::Comparison;
use crate::explore::Mode;
use crate::machine::CHECKS;
use serde::Serialize;
use std::collections::BTreeMap;

/// A program on which the two differ, as small as it gets.
#[derive(Clone, Debug, Serialize)]
pub struct DifferenceReport {
    /// The seed of the program.
    pub seed: u64,
    /// The mode.
    pub mode: &'static str,
    /// The checks that the oracle finds violated.
    pub oracle: Vec<&'static str>,
    /// The checks that the checker finds violated.
    pub checker: Vec<&'static str>,
    /// The smallest program, with the oracle's verdict as `expect` lines.
    pub program: String,
    /// By check that only the oracle finds violated: an execution.
    pub executions: Vec<(&'static str, Vec<String>)>,
    /// The command that compares the program of the seed again.
    pub repeat: String,
}

/// Everything that was compared in a mode.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ModeTally {
    /// Programs on which both verdicts are known.
    pub compared: u64,
    /// Programs that are too large for one of the two.
    pub too_large: u64,
    /// Programs that violate nothing.
    pub clean: u64,
    /// By check: programs that violate it.
    pub violated: BTreeMap<&'static str, u64>,
    /// By known difference: programs.
    pub known: BTreeMap<&'static str, u64>,
    /// Programs on which the two differ.
    pub differing: u64,
    /// States of the oracle.
    pub states: u64,
}

/// Everything so far.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Tally {
    /// Programs that were made.
    pub programs: u64,
    /// By mode.
    pub modes: BTreeMap<&'static str, ModeTally>,
    /// How long it took.
    pub seconds: f64,
    /// The first of those programs on which the two differ, as small as they get.
    pub differences: Vec<DifferenceReport>,
    /// Programs that the checker does not take, with its reason.
    pub refused: Vec<String>,
}

/// Programs of a thousand that have to violate each check, and to violate none: otherwise the generator tries too little.
const PER_THOUSAND_MIN: u64 = 8;
/// From so many programs on.
const ENOUGH: u64 = 900;

impl Tally {
    /// Counts a program.
    pub fn add(&mut self, seed: u64, mode: Mode, comparison: &Comparison) {
        let tally = self.modes.entry(mode.name()).or_default();
        match comparison {
            Comparison::TooLarge => tally.too_large += 1,
            Comparison::Refused(reason) => self.refused.push(format!("seed {seed}: {reason}")),
            Comparison::Same { violated, known, states } => {
                tally.compared += 1;
                tally.states += *states as u64;
                tally.clean += u64::from(violated.names().is_empty());
                violated.names().into_iter().for_each(|check| *tally.violated.entry(check).or_default() += 1);
                known.iter().for_each(|known| *tally.known.entry(known.name).or_default() += 1);
            }
            Comparison::Different { oracle, .. } => {
                tally.compared += 1;
                tally.states += oracle.states as u64;
                tally.differing += 1;
            }
        }
    }

    /// What was tried too rarely for the result to mean much.
    pub fn lacks(&self) -> Vec<String> {
        let mut lacks = Vec::new();
        for (mode, tally) in self.modes.iter().filter(|(_, tally)| tally.compared >= ENOUGH) {
            let least = PER_THOUSAND_MIN * tally.compared / 1000;
            for check in CHECKS {
                let count = tally.violated.get(check).copied().unwrap_or(0);
                if count < least {
                    lacks.push(format!("{mode}: {count} of {} programs violate {check}", tally.compared));
                }
            }
            // A fifth is clean, and few are too large.
            if tally.clean * 5 < tally.compared {
                lacks.push(format!("{mode}: {} of {} programs violate nothing", tally.clean, tally.compared));
            }
            if tally.too_large * 10 > tally.compared {
                lacks.push(format!("{mode}: {} programs are too large", tally.too_large));
            }
        }
        lacks
    }

    /// Whether no program differs, none was refused, and enough was tried.
    pub fn is_good(&self) -> bool {
        self.modes.values().all(|tally| tally.differing == 0)
            && self.refused.is_empty()
            && self.lacks().is_empty()
    }

    /// For a person.
    pub fn table(&self) -> String {
        let modes: Vec<&ModeTally> = self.modes.values().collect();
        let line = |name: &str, cells: &mut dyn Iterator<Item = String>| {
            let cells: String = cells.map(|cell| format!("{cell:>12}")).collect();
            format!("{name:<42}{cells}\n")
        };
        let mut text = line("programs", &mut self.modes.keys().map(|mode| (*mode).to_owned()));
        let mut row = |name: &str, count: &dyn Fn(&ModeTally) -> u64| {
            text += &line(name, &mut modes.iter().map(|tally| count(tally).to_string()));
        };
        row("both verdicts are known", &|tally| tally.compared);
        row("  violate nothing", &|tally| tally.clean);
        for check in CHECKS {
            row(&format!("  violate {check}"), &|tally| tally.violated.get(check).copied().unwrap_or(0));
        }
        for known in crate::known::KNOWN {
            let count = |tally: &ModeTally| tally.known.get(known.name).copied().unwrap_or(0);
            row(&format!("  differ as is known: {}", known.name), &count);
        }
        row("  DIFFER", &|tally| tally.differing);
        row("too large for one of the two", &|tally| tally.too_large);
        row("states of the oracle", &|tally| tally.states);
        text += &format!("{} programs in {:.1} s\n", self.programs, self.seconds);
        for difference in &self.differences {
            text += &difference.words();
        }
        for reason in &self.refused {
            text += &format!("the checker does not take a program: {reason}\n");
        }
        for lack in self.lacks() {
            text += &format!("too little is tried: {lack}\n");
        }
        text
    }
}

impl DifferenceReport {
    fn words(&self) -> String {
        let list = |checks: &[&str]| if checks.is_empty() { "nothing".to_owned() } else { checks.join(", ") };
        let mut text = format!(
            "\nseed {}, {}: violated are {} (oracle), {} (checker)\n{}",
            self.seed,
            self.mode,
            list(&self.oracle),
            list(&self.checker),
            self.program
        );
        for (check, steps) in &self.executions {
            text += &format!("an execution that violates {check}:\n");
            steps.iter().for_each(|step| text += &format!("  {step}\n"));
        }
        text + &format!("repeat: {}\n", self.repeat)
    }
}
