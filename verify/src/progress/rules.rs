//! The obligation with one rule off, by name. Only the checker has them.

use super::bounds::Bounds;
use super::pair::{MUST_REACH, Pairs};
use crate::machine;
use crate::outcome::Outcome;
use carrousel_rank::{Mirror, MirrorRules};

/// The name of the set of rules, in the register.
pub const SET: &str = "progress";

/// A rule of the driver: initial progress takes in all that has arrived, not the first of it.
const PROGRESS_TAKES_ALL: &str = "PROGRESS_TAKES_ALL";
const SEND_PROGRESSES_FIRST: &str = "SEND_PROGRESSES_FIRST";
const RECEIVE_PROGRESSES_FIRST: &str = "RECEIVE_PROGRESSES_FIRST";

/// The rules that can be switched off.
pub const RULES: &[&str] = &[SEND_PROGRESSES_FIRST, RECEIVE_PROGRESSES_FIRST, PROGRESS_TAKES_ALL];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum WithoutSend {}
impl MirrorRules for WithoutSend {
    const SEND_PROGRESSES_FIRST: bool = false;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum WithoutReceive {}
impl MirrorRules for WithoutReceive {
    const RECEIVE_PROGRESSES_FIRST: bool = false;
}

impl Bounds {
    /// What every exploration has to meet.
    pub(crate) fn must_reach(&self) -> Vec<&'static str> {
        MUST_REACH.to_vec()
    }
}

/// Explores all programs within `bounds` with a rule off. None if there is no such rule.
pub fn explore_without(rule: &str, bounds: Bounds, threads: usize) -> Option<Outcome> {
    Some(match rule {
        SEND_PROGRESSES_FIRST => machine::explore(Pairs::<Mirror<WithoutSend>>::new(bounds, false), threads),
        RECEIVE_PROGRESSES_FIRST => {
            machine::explore(Pairs::<Mirror<WithoutReceive>>::new(bounds, false), threads)
        }
        PROGRESS_TAKES_ALL => machine::explore(Pairs::<Mirror>::new(bounds, true), threads),
        _ => return None,
    })
}

/// Explores all programs within `bounds`, with the rules as they are in production.
pub fn explore(bounds: Bounds, threads: usize) -> Outcome {
    machine::explore(Pairs::<Mirror>::new(bounds, false), threads)
}
