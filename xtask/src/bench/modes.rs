//! How far apart the two processors were while something was measured.
//!
//! The processors of a virtual machine are moved about: two that share a cache now may be far from each other a minute
//! later, and what two ranks do takes several times as long. So a bare cache line is passed to and fro right before
//! each measurement and right after it. Only measurements are compared during which it took the same.

use super::statistics::Summary;
use serde::Serialize;

/// Values of one mode lie within this factor. Modes are further apart: by 4 on the machine for which this was written.
const SAME_MODE: f64 = 1.5;

/// The bare cache line's half round trip before a measurement and after it, in ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bracket {
    pub(crate) before_ns: f64,
    pub(crate) after_ns: f64,
}

impl Bracket {
    /// What it took meanwhile; none if both disagree.
    pub(crate) fn line_ns(self) -> Option<f64> {
        let Self { before_ns, after_ns } = self;
        let agree = before_ns.max(after_ns) <= SAME_MODE * before_ns.min(after_ns);
        agree.then_some(f64::midpoint(before_ns, after_ns))
    }
}

/// The bare cache line over all measurements, and which of them are compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Modes {
    /// What it took while the measurements were made that are compared: the mode of most of them.
    pub(crate) compared_ns: Summary,
    /// The same of all other modes.
    pub(crate) other_ns: Vec<Summary>,
    /// Measurements that were thrown away because the mode changed meanwhile.
    pub(crate) thrown_away_changed: usize,
    /// Measurements that were thrown away because they are of another mode.
    pub(crate) thrown_away_other: usize,
}

impl Modes {
    /// Of all measurements that were bracketed. None if the mode changed during each of them.
    pub(crate) fn of(brackets: &[Bracket]) -> Option<Self> {
        let mut lines: Vec<f64> = brackets.iter().filter_map(|bracket| bracket.line_ns()).collect();
        lines.sort_by(f64::total_cmp);
        let mut modes: Vec<Summary> = Vec::new();
        let mut left = &lines[..];
        while let Some(least) = left.first() {
            let (mode, rest) = left.split_at(left.partition_point(|line| *line <= SAME_MODE * least));
            modes.extend(Summary::of(mode.iter().copied()));
            left = rest;
        }
        // Of several the nearest one: `max_by_key` would return the last.
        let most = (0..modes.len()).rev().max_by_key(|at| modes[*at].rounds)?;
        let compared_ns = modes.remove(most);
        Some(Self {
            compared_ns,
            other_ns: modes,
            thrown_away_changed: brackets.len() - lines.len(),
            thrown_away_other: lines.len() - compared_ns.rounds,
        })
    }

    /// Whether a measurement within this bracket is compared with others.
    pub(crate) fn compares(&self, bracket: Bracket) -> bool {
        bracket.line_ns().is_some_and(|line| (self.compared_ns.min..=self.compared_ns.max).contains(&line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn brackets<const N: usize>(pairs: [(f64, f64); N]) -> [Bracket; N] {
        pairs.map(|(before_ns, after_ns)| Bracket { before_ns, after_ns })
    }

    #[test]
    fn the_mode_of_most_measurements_is_compared() {
        let all = brackets([(46.0, 47.0), (210.0, 208.0), (46.0, 210.0), (50.0, 52.0), (45.0, 47.0)]);
        let modes = Modes::of(&all).expect("there are some");
        let compared: Vec<bool> = all.iter().map(|bracket| modes.compares(*bracket)).collect();
        assert_eq!(compared, [true, false, false, true, true]);
        assert_eq!((modes.compared_ns.median, modes.compared_ns.rounds), (46.5, 3));
        assert_eq!(modes.other_ns.iter().map(|mode| mode.median).collect::<Vec<_>>(), [209.0]);
        assert_eq!((modes.thrown_away_changed, modes.thrown_away_other), (1, 1));
    }

    #[test]
    fn of_as_many_measurements_the_nearer_ones_are_compared() {
        let all = brackets([(210.0, 210.0), (46.0, 46.0)]);
        assert_eq!(Modes::of(&all).map(|modes| modes.compared_ns.median), Some(46.0));
    }

    #[test]
    fn a_mode_that_changes_all_the_time_compares_nothing() {
        assert_eq!(Modes::of(&brackets([(46.0, 210.0), (210.0, 46.0)])), None);
        assert_eq!(Modes::of(&[]), None);
    }
}
