//! Differences between the two verdicts that are known, each with the sentence that says why.

use crate::explore::Mode;
use crate::machine::Violated;
use crate::plan::{Plan, Transfer};
use crate::program::Program;

/// A difference that is known.
#[derive(Clone, Copy, Debug)]
pub struct KnownDifference {
    /// In reports.
    pub name: &'static str,
    /// Why the two differ, and why that is right.
    pub why: &'static str,
    /// Whether it is this one: the program, the mode, the oracle's verdict and the checker's.
    is_it: fn(&Program, Mode, Violated, Violated) -> bool,
}

/// All of them.
pub const KNOWN: &[KnownDifference] = &[KnownDifference {
    name: "a get beside atomics",
    why: "The contract of transports does not order what is read and what an atomic fetches. The checker has both in one \
          channel, in order; so to it a get is over when a later atomic of the same origin has its answer, and the other way.",
    is_it: |program, mode, oracle, checker| {
        let plan = Plan::new(program);
        let fetched = || plan.accesses.iter().filter(|transfer| transfer.access.kind.fetches());
        let (atomic, plain) =
            (fetched().any(Transfer::is_atomic), fetched().any(|transfer| !transfer.is_atomic()));
        mode == Mode::Default
            && atomic
            && plain
            && oracle.without(checker).names() == ["rma-race"]
            && checker.within(oracle)
    },
}];

/// The known difference between two verdicts, if it is one.
pub(crate) fn difference(
    program: &Program,
    mode: Mode,
    oracle: Violated,
    checker: Violated,
) -> Option<&'static KnownDifference> {
    KNOWN.iter().find(|known| (known.is_it)(program, mode, oracle, checker))
}
